// What the tests of tasks add to a FakeServer.
import { alice, type FakeServer, json, signedIn } from '../testing/fakeserver';
import type { Task } from './contract';

export function task(title: string, more: Partial<Task> = {}): Task {
  return {
    id: `0199bbbb-0000-7000-8000-${title.length.toString().padStart(12, '0')}`,
    title,
    notes: '',
    dueAt: null,
    priority: 'none',
    tags: [],
    done: false,
    createdBy: alice.id,
    createdAt: '2026-11-29T09:00:00.000Z',
    updatedAt: '2026-11-29T09:00:00.000Z',
    ...more,
  };
}

/** A server at which alice is signed in, and her organisation has those tasks. */
export function signedInWith(...tasks: Task[]): FakeServer {
  return signedIn().on('GET /api/v1/tasks', () => json({ items: tasks }));
}

/** What the server is asked where the page reads a text on purpose, and its answer. */
export const readingCall = { asks: 'POST /api/v1/tasks/parse', answer: { parser: 'local', drafts: [] } };
