import { expect, test } from 'vitest';
import { pollEvery } from './limits';

const attended = { closely: true, failing: false, scarce: false, unattendedMs: 0 };

test.each([
  ['somebody looks at budgets', attended, 1_000],
  ['nobody has touched the page for long', { ...attended, unattendedMs: 120_000 }, 15_000],
  ['the page is about something else', { ...attended, closely: false }, 30_000],
  ['the server does not answer', { ...attended, failing: true }, 30_000],
  ['asking itself is nearly refused', { ...attended, scarce: true }, 30_000],
])('where %s, it is asked so often', (_, circumstances, want) => {
  expect(pollEvery(circumstances)).toBe(want);
});
