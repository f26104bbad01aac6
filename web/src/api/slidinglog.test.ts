import { describe, expect, test } from 'vitest';
import { SlidingLog } from './slidinglog';

function taken(log: SlidingLog, ...times: number[]): void {
  for (const at of times) log.start(log.hold(), at);
}

test('a unit leaves at exactly a window after it began', () => {
  const log = new SlidingLog(1000);
  taken(log, 0);
  expect(log.look(999.9, 1)).toMatchObject({ ok: false, remaining: 0 });
  expect(log.look(1000, 1)).toEqual({ ok: true, remaining: 1, retry: 0 });
});

test('no span of a window holds more than the limit, unlike two fixed windows side by side', () => {
  const log = new SlidingLog(1000);
  taken(log, 900, 950, 990);
  expect(log.look(1001, 3).ok).toBe(false);
  expect(log.look(1900, 3).ok).toBe(true);
});

describe('the wait', () => {
  test.each([
    [1, 100],
    [2, 200],
    [3, 300],
    [4, null],
  ])('of a cost of %d is until enough has left', (cost, want) => {
    const log = new SlidingLog(1000);
    taken(log, 100, 200, 300);
    expect(log.look(1000, 3, cost).retry).toBe(want);
  });

  test('reckons with held units as if they began now', () => {
    const log = new SlidingLog(1000);
    log.hold();
    expect(log.look(5000, 1).retry).toBe(1000);
  });
});

test('a changed limit keeps the history: 60 of 100 lowered to 50 leaves none, raised to 200 leaves 140', () => {
  const log = new SlidingLog(1000);
  for (let i = 0; i < 60; i++) taken(log, i);
  expect(log.look(60, 50).remaining).toBe(0);
  expect(log.look(60, 200).remaining).toBe(140);
});

test('a held unit counts until it begins, and one that is given back does not', () => {
  const log = new SlidingLog(1000);
  const [first, second] = [log.hold(), log.hold()];
  expect(log.look(99_999, 2).remaining).toBe(0);
  log.giveBack(second);
  expect(log.look(99_999, 2).remaining).toBe(1);
  log.start(first, 100_000);
  log.start(first, 200_000); // Once begun, it stays so.
  expect(log.look(101_000, 2).remaining).toBe(2);
});

test('a cost of nothing always fits', () => {
  const log = new SlidingLog(1000);
  taken(log, 0, 0);
  expect(log.look(0, 1, 0)).toEqual({ ok: true, remaining: 0, retry: 0 });
});
