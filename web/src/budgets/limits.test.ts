import { expect, test } from 'vitest';
import { pollEvery } from './limits';

const attended = { closely: true, failing: null, scarce: false, unattendedMs: 0, at: 1_000 };

test.each([
  ['somebody looks at budgets', attended, 1_000],
  ['nobody has touched the page for long', { ...attended, unattendedMs: 120_000 }, 15_000],
  ['the page is about something else', { ...attended, closely: false }, 30_000],
  ['the server does not answer', { ...attended, failing: { retryAt: null } }, 5_000],
  ['the server has named a time', { ...attended, failing: { retryAt: 8_500 } }, 7_500],
  [
    'the server does not answer, and nobody looks',
    { ...attended, failing: { retryAt: null }, unattendedMs: 120_000 },
    15_000,
  ],
  ['asking itself is nearly refused', { ...attended, scarce: true }, 30_000],
  ['a refusal ends sooner than it is asked', { ...attended, failing: { retryAt: 2_000 } }, 5_000],
  [
    'a refusal is longer, and nobody looks',
    { ...attended, failing: { retryAt: 41_000 }, unattendedMs: 120_000 },
    40_000,
  ],
  ['a refusal is longer, on another page', { ...attended, failing: { retryAt: 41_000 }, closely: false }, 40_000],
  ['a refusal is longer, at the door', { ...attended, failing: { retryAt: 41_000 }, scarce: true }, 40_000],
  ['a refusal is shorter, on another page', { ...attended, failing: { retryAt: 9_000 }, closely: false }, 30_000],
])('where %s, it is asked so often', (_, circumstances, want) => {
  expect(pollEvery(circumstances)).toBe(want);
});
