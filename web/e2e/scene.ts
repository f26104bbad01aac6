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

/** Has a route refused for a budget, after so many calls, while something is done. It is what the server would answer. */
export async function refusing(
  page: Page,
  { path, budget, after = 0 }: { path: string; budget: string; after?: number },
  during: () => Promise<void>,
): Promise<void> {
  const seconds = 50;
  const body = {
    ...{ status: 429, code: 'RATE_LIMIT_EXCEEDED', detail: 'Rate limit exceeded.', requestId: '4ZRQ7N2KXW' },
    ...{ 'violated-policies': [budget], retryAfter: seconds * 1000, retryAfterSeconds: seconds },
  };
  const answer = {
    status: 429,
    contentType: 'application/problem+json',
    headers: { 'Retry-After': String(seconds), RateLimit: `"${budget}";r=0;t=${seconds}` },
    body: JSON.stringify(body),
  };
  let calls = 0;
  const address = `**/api/v1/${path}`;
  await page.route(address, (route) => (++calls > after ? route.fulfill(answer) : route.continue()));
  await during();
  await page.unroute(address);
}
