import { expect, test } from 'vitest';
import { localInput, secondsUntil, wait } from './time';

test.each([
  [null, 0, 0],
  [1000, 1000, 0],
  [1000, 2000, 0],
  [1001, 1000, 1],
  [2000, 1000, 1],
  [2001, 1000, 2],
])('from %d until %d', (until, at, want) => {
  expect(secondsUntil(until, at)).toBe(want);
});

test.each([
  [8, '8 s'],
  [60, '1 min'],
  [80, '1 min 20 s'],
  [3600, '1 h'],
  [11_100, '3 h 5 min'],
])('%d seconds are "%s"', (seconds, want) => {
  expect(wait(seconds)).toBe(want);
});

test('a time is shown in the reader’s zone and read back from it', () => {
  const shown = localInput('2026-12-04T08:30:00.000Z');
  expect(shown).toMatch(/^2026-12-0\dT\d\d:\d\d$/);
  expect(new Date(shown).toISOString()).toBe('2026-12-04T08:30:00.000Z');
  expect(localInput(null)).toBe('');
});
