// What the budgets of tasks hold back in the page: the rows of the contract, with the ledger and the mirror.
import { expect, test } from 'vitest';
import { Failure } from '../api/failure';
import { Ledger } from '../api/ledger';
import { Limiter } from '../api/limiter';
import { budget } from '../testing/fakeserver';

const ok = new Response();

function violated(call: () => unknown): readonly string[] {
  try {
    call();
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown.violated;
    throw thrown;
  }
  return [];
}

test.each([
  ['tasks.list', 'user', 100, 0],
  ['tasks.create', 'tasks.write', 30, 0],
  ['tasks.update', 'tasks.write', 30, 0],
  ['tasks.delete', 'tasks.write', 30, 0],
  ['tasks.parse', 'tasks.parse.burst', 3, 0],
  ['tasks.parse', 'tasks.parse', 10, 1000],
  ['tasks.export', 'tasks.export', 5, 0],
  ['reports.create', 'reports.create', 10, 0],
] as const)('%s is held back at the end of %s, and not before', (route, name, limit, apartMs) => {
  let now = 0;
  const limiter = new Limiter(() => now);
  for (let i = 0; i < limit; i++, now += apartMs) limiter.acquire(route).answered(ok);
  expect(violated(() => limiter.acquire(route))).toEqual([name]);
});

test('all writes spend one budget together, and reading goes on', () => {
  const limiter = new Limiter(() => 0);
  for (const route of ['tasks.create', 'tasks.update', 'tasks.delete'] as const) {
    for (let i = 0; i < 10; i++) limiter.acquire(route).answered(ok);
  }
  expect(violated(() => limiter.acquire('tasks.create'))).toEqual(['tasks.write']);
  limiter.acquire('tasks.list');
});

test('readings without an answer hold the second’s slots, and a while longer once they failed', () => {
  let now = 0;
  const limiter = new Limiter(() => now);
  const tickets = [1, 2, 3].map(() => limiter.acquire('tasks.parse'));
  now = 600_000;
  expect(violated(() => limiter.acquire('tasks.parse'))).toEqual(['tasks.parse.burst']);
  for (const ticket of tickets) ticket.failed();
  now = 600_000 + 10_000 + 1009;
  expect(violated(() => limiter.acquire('tasks.parse'))).toEqual(['tasks.parse.burst']);
  now = 600_000 + 10_000 + 1010;
  limiter.acquire('tasks.parse');
});

test('what is metered is the server’s to count: that few tokens are left refuses nothing here', () => {
  const limiter = new Limiter(() => 0);
  limiter.learn({ caller: { kind: 'user' }, budgets: [budget('ai.tokens', { limit: 1 })] }, limiter.snapshot());
  for (let i = 0; i < 3; i++) limiter.acquire('tasks.parse').answered(ok);
});

test('a refusal for the model’s tokens holds reading free text and nothing else', () => {
  const ledger = new Ledger();
  ledger.refused(
    new Failure('no', { code: 'RATE_LIMIT_EXCEEDED', status: 429, violated: ['ai.tokens'], retryAt: 50_000 }),
  );
  expect(ledger.refusing('tasks.parse', 0)).toEqual({ budget: 'ai.tokens', until: 50_000 });
  for (const route of ['tasks.list', 'tasks.create', 'tasks.export', 'me.get'] as const) {
    expect(ledger.refusing(route, 0)).toBeNull();
  }
});
