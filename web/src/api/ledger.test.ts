import { describe, expect, test } from 'vitest';
import { aliceLimits, anonymous } from '../testing/fakeserver';
import { Failure } from './failure';
import { parseQuotas } from './headers';
import { blockOf, Ledger } from './ledger';

function heard(ledger: Ledger, policy: string, limit: string, at: number): void {
  ledger.hear(parseQuotas(new Headers({ 'RateLimit-Policy': policy, RateLimit: limit })), at);
}

function refusedUntil(until: number | null, ...violated: string[]): Failure {
  return new Failure('no', { code: 'RATE_LIMIT_EXCEEDED', status: 429, violated, retryAt: until });
}

describe('standings', () => {
  test('come from limits.get, with times on the page’s clock', () => {
    const ledger = new Ledger();
    ledger.learn(anonymous, 500);
    expect(ledger.snapshot()).toMatchObject([{ name: 'edge', remaining: 97, moreAt: 4500 }]);
  });

  test('follow the headers of every answer, budgets that they do not name staying as they are', () => {
    const ledger = new Ledger();
    ledger.learn(aliceLimits, 0);
    heard(ledger, '"user";q=50;w=30', '"user";r=7;t=12', 1000);
    const [user, refresh] = ledger.snapshot();
    expect(user).toMatchObject({ limit: 50, windowSeconds: 30, remaining: 7, moreAt: 13_000 });
    expect(refresh).toMatchObject({ limit: 30, remaining: 30, moreAt: null });
  });

  test('are replaced and never changed, so that React sees each change', () => {
    const ledger = new Ledger();
    ledger.learn(aliceLimits, 0);
    const before = ledger.snapshot();
    let told = 0;
    const stop = ledger.subscribe(() => told++);
    heard(ledger, '', '"user";r=7', 0);
    stop();
    heard(ledger, '', '"user";r=6', 0);
    expect(told).toBe(1);
    expect(before[0]).toMatchObject({ remaining: 88 });
    expect(ledger.snapshot()).not.toBe(before);
  });

  test('stay the same object while nothing was heard', () => {
    const ledger = new Ledger();
    ledger.learn(aliceLimits, 0);
    const before = ledger.snapshot();
    ledger.hear(parseQuotas(new Headers()), 0);
    expect(ledger.snapshot()).toBe(before);
  });
});

test('a budget with nothing left refuses the routes that are charged to it, until more comes', () => {
  const ledger = new Ledger();
  ledger.learn(aliceLimits, 0);
  heard(ledger, '', '"auth.refresh";r=0;t=9', 1000);
  expect(ledger.refusing('auth.refresh', 9999)).toEqual({ budget: 'auth.refresh', until: 10_000 });
  expect(ledger.refusing('auth.refresh', 10_000)).toBeNull();
  expect(ledger.refusing('me.get', 1000)).toBeNull();
  heard(ledger, '', '"auth.refresh";r=0', 1000);
  expect(ledger.refusing('auth.refresh', 1000)).toBeNull();
});

describe('blocks', () => {
  test('hold the routes that the refusing budget is charged by, until its time', () => {
    const ledger = new Ledger();
    ledger.refused(refusedUntil(5000, 'auth.refresh'));
    expect(blockOf(ledger.snapshotBlocks(), 'auth.refresh', 4999)).toEqual({ budget: 'auth.refresh', until: 5000 });
    expect(blockOf(ledger.snapshotBlocks(), 'auth.refresh', 5000)).toBeNull();
    expect(blockOf(ledger.snapshotBlocks(), 'me.get', 0)).toBeNull();
  });

  test('of a class hold every route of it, and the longest counts', () => {
    const ledger = new Ledger();
    ledger.refused(refusedUntil(5000, 'org', 'user'));
    ledger.refused(refusedUntil(9000, 'user'));
    expect(blockOf(ledger.snapshotBlocks(), 'me.get', 0)).toMatchObject({ budget: 'user', until: 9000 });
    expect(blockOf(ledger.snapshotBlocks(), 'org.get', 0)).toMatchObject({ budget: 'user', until: 9000 });
  });

  test('end early when limits.get says that there is room', () => {
    const ledger = new Ledger();
    ledger.refused(refusedUntil(5000, 'auth.refresh'));
    ledger.learn(aliceLimits, 0);
    expect(ledger.snapshotBlocks()).toEqual([]);
  });

  test('are not made by a refusal that no wait helps', () => {
    const ledger = new Ledger();
    ledger.refused(refusedUntil(null, 'auth.refresh'));
    expect(ledger.snapshotBlocks()).toEqual([]);
  });
});
