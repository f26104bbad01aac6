// One thing that there is to see.
import type { Page } from 'playwright-core';
import type { Person } from './stage';

export interface Scene {
  name: string;
  path: string;
  /** Who looks; empty for a visitor. */
  person: Person | '';
  open: (page: Page) => Promise<void>;
}

/** Calls a route as the page does, with the session of whoever looks; gives the answer's body, if it has one. */
export function call<T>(page: Page, method: string, path: string, body?: object): Promise<T> {
  return page.evaluate(
    async ([verb, where, sent]) => {
      const headers = { 'Content-Type': 'application/json' };
      const answer = await fetch(`/api/v1/${where}`, { method: verb, headers, ...(sent ? { body: sent } : {}) });
      const text = await answer.text();
      return text ? JSON.parse(text) : null;
    },
    [method, path, body ? JSON.stringify(body) : ''] as const,
  );
}
