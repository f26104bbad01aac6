import { useMemo } from 'react';
import type { Action } from '../api/action';
import type { Api } from '../api/api';
import { useApi } from '../app/context';
import type { ParseResult, Report, Task, TaskCreate, TaskList, TaskUpdate } from './contract';

/** How a list of tasks is narrowed. */
export type TaskFilter = 'open' | 'done' | 'all';

// A page small enough to come at once on a phone, and large enough that few people need a second.
const perPage = 25;

/** The calls about tasks. They throw as those of Api do. */
export class TasksApi {
  constructor(private readonly api: Api) {}

  list(filter: TaskFilter, cursor: string | null, signal?: AbortSignal): Promise<TaskList> {
    const query = {
      limit: perPage,
      ...(filter === 'all' ? {} : { done: filter === 'done' }),
      ...(cursor ? { cursor } : {}),
    };
    return this.api.send('tasks.list', (client) =>
      client.GET('/api/v1/tasks', { params: { query }, ...(signal ? { signal } : {}) }),
    );
  }

  parse(action: Action, text: string, timezone: string): Promise<ParseResult> {
    const body = { text, timezone };
    return this.api.act('tasks.parse', action, body, (client, params) =>
      client.POST('/api/v1/tasks/parse', { params, body }),
    );
  }

  create(action: Action, body: TaskCreate): Promise<Task> {
    return this.api.act('tasks.create', action, body, (client, params) =>
      client.POST('/api/v1/tasks', { params, body }),
    );
  }

  /** Tells the administrators of a task. */
  report(action: Action, taskId: string, reason: string): Promise<Report> {
    const body = { taskId, reason };
    return this.api.act('reports.create', action, body, (client, params) =>
      client.POST('/api/v1/reports', { params, body }),
    );
  }

  update(id: string, body: TaskUpdate): Promise<Task> {
    return this.api.send('tasks.update', (client) =>
      client.PATCH('/api/v1/tasks/{id}', { params: { path: { id } }, body }),
    );
  }

  /** Deletes a task, even while the page is being left. */
  async delete(id: string): Promise<void> {
    await this.api.send('tasks.delete', (client) =>
      client.DELETE('/api/v1/tasks/{id}', { params: { path: { id } }, keepalive: true }),
    );
  }

  /** All tasks as CSV, as a stream. */
  async export(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const body = await this.api.send('tasks.export', (client) =>
      client.GET('/api/v1/tasks/export', { parseAs: 'stream', signal }),
    );
    return body as unknown as ReadableStream<Uint8Array>;
  }
}

export function useTasksApi(): TasksApi {
  const api = useApi();
  return useMemo(() => new TasksApi(api), [api]);
}
