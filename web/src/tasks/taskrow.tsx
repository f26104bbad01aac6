import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useLayoutEffect, useRef, useState } from 'react';
import type { Task } from '../api/contract';
import { asFailure, type Failure } from '../api/failure';
import { useApi, useBlock } from '../app/context';
import { FailureNotice } from '../app/notice';
import { wait } from '../app/time';
import { replaceTask } from './cache';
import { dueLabel, type Entry, entryOf, updateBody } from './entry';
import { TaskFields } from './fields';

interface Props {
  task: Task;
  /** Why the last delete failed, if it did. */
  failure: Failure | null;
  onDelete: () => void;
}

/** One task of the list: done or not, to be edited or deleted. */
export function TaskRow({ task, failure, onDelete }: Props) {
  const [editing, setEditing] = useState(false);
  const editButton = useFocusAfter(editing);
  const toggle = useToggle(task);
  const block = useBlock('tasks.update');
  if (editing) return <Editor task={task} onClose={() => setEditing(false)} />;
  const fault = toggle.error ? asFailure(toggle.error) : failure;
  return (
    <li className="task" data-done={task.done}>
      <div className="task-line">
        <input
          type="checkbox"
          id={`done-${task.id}`}
          checked={task.done}
          disabled={block !== null}
          onChange={(event) => toggle.mutate(event.target.checked)}
        />
        <label className="task-title" htmlFor={`done-${task.id}`}>
          {task.title}
        </label>
        <div className="task-actions">
          <button ref={editButton} type="button" className="button quiet small" onClick={() => setEditing(true)}>
            Edit<span className="hidden"> {task.title}</span>
          </button>
          <button type="button" className="button quiet small" onClick={onDelete}>
            Delete<span className="hidden"> {task.title}</span>
          </button>
        </div>
      </div>
      <Facts task={task} />
      {task.notes && <p className="task-notes">{task.notes}</p>}
      {fault && <FailureNotice failure={fault} />}
    </li>
  );
}

// The button that opened a form gets the focus back when it closes.
function useFocusAfter(editing: boolean) {
  const button = useRef<HTMLButtonElement>(null);
  const edited = useRef(false);
  useLayoutEffect(() => {
    if (edited.current && !editing) button.current?.focus();
    edited.current = editing;
  }, [editing]);
  return button;
}

function Facts({ task }: { task: Task }) {
  if (!task.dueAt && task.priority === 'none' && task.tags.length === 0) return null;
  const today = new Date();
  return (
    <ul className="facts">
      {task.dueAt && (
        <li data-late={!task.done && new Date(task.dueAt) < today}>
          <time dateTime={task.dueAt}>{dueLabel(task.dueAt, today)}</time>
        </li>
      )}
      {task.priority !== 'none' && <li data-priority={task.priority}>{task.priority}</li>}
      {task.tags.map((tag) => (
        <li key={tag}>#{tag}</li>
      ))}
    </ul>
  );
}

// The tick shows at once, and goes back if the server says no.
function useToggle(task: Task) {
  const api = useApi();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (done: boolean) => api.updateTask(task.id, { done }),
    onMutate: (done) => replaceTask(client, { ...task, done }),
    onSuccess: (saved) => replaceTask(client, saved),
    onError: () => replaceTask(client, task),
  });
}

function Editor({ task, onClose }: { task: Task; onClose: () => void }) {
  const api = useApi();
  const client = useQueryClient();
  const block = useBlock('tasks.update');
  const [before] = useState(() => entryOf(task));
  const [entry, setEntry] = useState<Entry>(before);
  const save = useMutation({
    mutationFn: () => api.updateTask(task.id, updateBody(before, entry)),
    onSuccess: (saved) => {
      replaceTask(client, saved);
      onClose();
    },
  });
  const failure = save.error ? asFailure(save.error) : null;
  return (
    <li className="task card">
      <form
        aria-label={`Edit ${task.title}`}
        onKeyDown={(event) => event.key === 'Escape' && onClose()}
        onSubmit={(event) => {
          event.preventDefault();
          if (!save.isPending && !block) save.mutate();
        }}
      >
        <TaskFields entry={entry} onChange={setEntry} faults={failure?.fields ?? []} autoFocus />
        {failure && <FailureNotice failure={failure} />}
        <div className="row end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={save.isPending || block !== null}>
            {block ? `Save in ${wait(block.seconds)}` : 'Save'}
          </button>
        </div>
      </form>
    </li>
  );
}
