import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { Task, TaskList } from './contract';

type Pages = InfiniteData<TaskList, string | null>;

const all = { queryKey: ['tasks'] };

/** Changes one task in every list that shows it. */
export function replaceTask(client: QueryClient, task: Task): void {
  mapItems(client, (items) => items.map((item) => (item.id === task.id ? task : item)));
}

/** Changes a part of one task in every list that shows it, and leaves the rest as it is. */
export function changeTask(client: QueryClient, id: string, change: Partial<Task>): void {
  mapItems(client, (items) => items.map((item) => (item.id === id ? { ...item, ...change } : item)));
}

/** Takes one task out of every list. */
export function dropTask(client: QueryClient, id: string): void {
  mapItems(client, (items) => items.filter((item) => item.id !== id));
}

/** Puts a new task on top of the lists that it belongs in. */
export function addTask(client: QueryClient, task: Task): void {
  for (const filter of ['all', task.done ? 'done' : 'open']) {
    client.setQueryData<Pages>(['tasks', filter], (pages) => pages && onTop(pages, task));
  }
}

/** Lets every list that is not shown be asked for anew when it is: what a change puts into it is not known here. */
export function expectChange(client: QueryClient): void {
  void client.invalidateQueries({ ...all, refetchType: 'none' });
}

function onTop(pages: Pages, task: Task): Pages {
  const [first, ...rest] = pages.pages;
  if (!first || pages.pages.some((page) => page.items.some((item) => item.id === task.id))) return pages;
  return { ...pages, pages: [{ ...first, items: [task, ...first.items] }, ...rest] };
}

function mapItems(client: QueryClient, change: (items: Task[]) => Task[]): void {
  client.setQueriesData<Pages>(all, (pages) => {
    return pages && { ...pages, pages: pages.pages.map((page) => ({ ...page, items: change(page.items) })) };
  });
}
