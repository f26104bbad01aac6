import { useInfiniteQuery } from '@tanstack/react-query';
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { useBlock } from '../app/context';
import { Countdown, Notice, QueryNotice } from '../app/notice';
import { useSecondsUntil, wait } from '../app/time';
import { budgetLabel } from '../budgets/words';
import { type TaskFilter, useTasksApi } from './api';
import type { Task } from './contract';
import { Export } from './export';
import { QuickAdd } from './quickadd';
import { TaskRow } from './taskrow';
import { type Deletion, useDeletions } from './undo';

const filters: { filter: TaskFilter; label: string; empty: string }[] = [
  { filter: 'open', label: 'Open', empty: 'Nothing is open. Write the first thing above.' },
  { filter: 'done', label: 'Done', empty: 'Nothing is done yet.' },
  { filter: 'all', label: 'All', empty: 'No tasks yet. Write the first thing above.' },
];

/** The organisation's tasks: quick add, the list, the export. */
export function Tasks() {
  const [filter, setFilter] = useState<TaskFilter>('open');
  return (
    <section className="panel tasks" aria-label="Tasks">
      <QuickAdd />
      <div className="row between">
        <fieldset className="filters">
          <legend className="hidden">Which tasks to show</legend>
          {filters.map((f) => (
            <label key={f.filter}>
              <input type="radio" name="filter" checked={f.filter === filter} onChange={() => setFilter(f.filter)} />
              {f.label}
            </label>
          ))}
        </fieldset>
        <Export />
      </div>
      <List filter={filter} />
    </section>
  );
}

function useTasks(filter: TaskFilter) {
  const api = useTasksApi();
  return useInfiniteQuery({
    queryKey: ['tasks', filter],
    queryFn: ({ pageParam, signal }) => api.list(filter, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor ?? null,
  });
}

function List({ filter }: { filter: TaskFilter }) {
  const query = useTasks(filter);
  const { deletions, remove, undo } = useDeletions();
  const tasks = query.data?.pages.flatMap((page) => page.items) ?? [];
  const list = useRef<HTMLUListElement>(null);
  return (
    <>
      <QueryNotice
        query={query}
        onRetry={() => (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch())}
      />
      {query.isPending && <p className="quiet">Loading…</p>}
      {query.isSuccess && tasks.length === 0 && (
        <p className="empty">{filters.find((f) => f.filter === filter)?.empty}</p>
      )}
      {tasks.length > 0 && <HeldBack />}
      {tasks.length > 0 && (
        <ul ref={list} className="task-list" tabIndex={-1} aria-label="Tasks">
          {tasks.map((task) => (
            <Row
              key={task.id}
              task={task}
              list={list}
              deletion={deletions.get(task.id)}
              onDelete={remove}
              onUndo={undo}
            />
          ))}
        </ul>
      )}
      {query.hasNextPage && <MoreButton busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()} />}
    </>
  );
}

// Why the boxes cannot be ticked, once for all of them.
function HeldBack() {
  const block = useBlock('tasks.update');
  if (!block) return null;
  return (
    <Notice tone="wait">
      <p>
        The budget <b>{budgetLabel(block.budget)}</b> is spent for now, so nothing can be ticked or saved.{' '}
        <Countdown seconds={block.seconds} />
      </p>
    </Notice>
  );
}

interface RowProps {
  task: Task;
  list: RefObject<HTMLElement | null>;
  deletion: Deletion | undefined;
  onDelete: (id: string) => void;
  onUndo: (id: string) => void;
}

function Row({ task, list, deletion, onDelete, onUndo }: RowProps) {
  const [undone, setUndone] = useState(false);
  if (deletion?.state === 'sent') return null;
  if (deletion?.state === 'waiting') {
    const undo = () => {
      setUndone(true);
      onUndo(task.id);
    };
    return <Deleted task={task} list={list} until={deletion.until} onUndo={undo} />;
  }
  const remove = () => {
    setUndone(false);
    onDelete(task.id);
  };
  return <TaskRow task={task} failure={deletion?.failure ?? null} restored={undone} onDelete={remove} />;
}

interface DeletedProps {
  task: Task;
  list: RefObject<HTMLElement | null>;
  until: number;
  onUndo: () => void;
}

function Deleted({ task, list, until, onUndo }: DeletedProps) {
  const seconds = useSecondsUntil(until);
  const row = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    const [gone, next] = [row.current, list.current];
    return () => {
      if (gone?.contains(document.activeElement)) next?.focus({ preventScroll: true }); // Else the focus would be nowhere.
    };
  }, [list]);
  return (
    <li ref={row} className="task deleted">
      <span className="task-title" role="status">
        Deleted “{task.title}”
      </span>
      {/* biome-ignore lint/a11y/noAutofocus: the button that had the focus is gone, and this takes its place */}
      <button type="button" className="button small" autoFocus onClick={onUndo}>
        Undo <span aria-hidden="true">({seconds})</span>
      </button>
    </li>
  );
}

function MoreButton({ busy, onClick }: { busy: boolean; onClick: () => void }) {
  const block = useBlock('tasks.list');
  return (
    <button type="button" className="button more" disabled={busy || block !== null} onClick={onClick}>
      {block ? `More in ${wait(block.seconds)}` : busy ? 'Loading…' : 'Show more'}
    </button>
  );
}
