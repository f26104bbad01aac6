import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, useLayoutEffect, useRef, useState } from 'react';
import { asFailure, type Failure } from '../api/failure';
import { useBlock } from '../app/context';
import { LaterPart } from '../app/later';
import { FailureNotice, Notice } from '../app/notice';
import { wait } from '../app/time';
import { useTasksApi } from './api';
import { changeTask, expectChange, replaceTask } from './cache';
import type { Task } from './contract';
import { dueLabel, type Entry, entryOf, updateBody } from './entry';
import { TaskFields, taskField } from './fields';
import { Icon } from './icon';

const ReportDialog = lazy(() => import('./reportdialog'));

interface Props {
  task: Task;
  /** Why the last delete failed, if it did. */
  failure: Failure | null;
  /** Whether the task has just been taken back, with the button that did it gone. */
  restored: boolean;
  onDelete: () => void;
}

/** One task of the list: done or not, to be edited, reported or deleted. */
export function TaskRow({ task, failure, restored, onDelete }: Props) {
  const [editing, setEditing] = useState(false);
  const [report, setReport] = useState<'none' | 'asked' | 'sent'>('none');
  const editButton = useFocusAfter(editing);
  const toggle = useToggle(task);
  const block = useBlock('tasks.update');
  if (editing) return <Editor task={task} onClose={() => setEditing(false)} />;
  const fault = toggle.error && !block ? asFailure(toggle.error) : failure; // While all boxes wait, the list says why.
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
          <ActionButton name="edit" of={task} button={editButton} onClick={() => setEditing(true)} />
          <ActionButton name="report" of={task} onClick={() => setReport('asked')} />
          <ActionButton name="delete" of={task} focused={restored} onClick={onDelete} />
        </div>
      </div>
      <Facts task={task} />
      {task.notes && <p className="task-notes">{task.notes}</p>}
      {fault && <FailureNotice failure={fault} />}
      {report === 'sent' && <Notice>The report is with the administrators.</Notice>}
      {report === 'asked' && (
        <LaterPart>
          <ReportDialog task={task} onSent={() => setReport('sent')} onClose={() => setReport('none')} />
        </LaterPart>
      )}
    </li>
  );
}

const actions = { edit: 'Edit', report: 'Report', delete: 'Delete' } as const;

interface ActionProps {
  name: keyof typeof actions;
  of: Task;
  button?: React.RefObject<HTMLButtonElement | null>;
  focused?: boolean;
  onClick: () => void;
}

// On a narrow window it is a drawing for eyes; its words are there for ears in either case.
function ActionButton({ name, of, button, focused = false, onClick }: ActionProps) {
  return (
    <button
      ref={button}
      type="button"
      className="button quiet small action"
      title={actions[name]}
      // biome-ignore lint/a11y/noAutofocus: it takes the place of a button that had the focus
      autoFocus={focused}
      onClick={onClick}
    >
      <Icon name={name} />
      <span className="action-label">{actions[name]}</span>
      <span className="hidden"> {of.title}</span>
    </button>
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

// The tick shows at once, and goes back if the server says no: to what the server is known to have, since the task itself
// shows the tick by then. Ticks of one task are sent one after the other, so that the last one counts.
function useToggle(task: Task) {
  const api = useTasksApi();
  const client = useQueryClient();
  const known = useRef(task.done);
  const mutationKey = ['done', task.id];
  return useMutation({
    mutationKey,
    scope: { id: `done ${task.id}` },
    mutationFn: (done: boolean) => api.update(task.id, { done }),
    onMutate: (done) => {
      if (client.isMutating({ mutationKey }) === 1) known.current = task.done; // No other tick is on its way.
      changeTask(client, task.id, { done });
    },
    onSuccess: (saved) => {
      known.current = saved.done;
      replaceTask(client, saved);
      expectChange(client);
    },
    onError: () => changeTask(client, task.id, { done: known.current }),
  });
}

function Editor({ task, onClose }: { task: Task; onClose: () => void }) {
  const api = useTasksApi();
  const client = useQueryClient();
  const block = useBlock('tasks.update');
  const [before] = useState(() => entryOf(task));
  const [entry, setEntry] = useState<Entry>(before);
  const save = useMutation({
    mutationFn: () => api.update(task.id, updateBody(before, entry)),
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
        {failure && <FailureNotice failure={failure} beside={(field) => taskField(field) !== undefined} />}
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
