import { describe, expect, test } from 'vitest';
import { budget } from '../testing/fakeserver';
import { Failure } from './failure';
import { Limiter, type Ticket } from './limiter';
import { SlidingLog } from './slidinglog';

const ok = new Response();

class Clock {
  at = 0;
  now = () => this.at;
}

function refused(call: () => Ticket): Failure {
  try {
    call();
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
  throw new Error('it was let pass');
}

function spend(limiter: Limiter, clock: Clock, count: number, apartMs: number): void {
  for (let i = 0; i < count; i++, clock.at += apartMs) limiter.acquire('admin.threaddump').answered(ok);
}

test('the twenty-first look at the stacks in a minute is refused here, as the server would', () => {
  const clock = new Clock();
  const limiter = new Limiter(clock.now);
  spend(limiter, clock, 20, 1000);
  const failure = refused(() => limiter.acquire('admin.threaddump'));
  expect(failure).toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    status: 429,
    local: true,
    violated: ['admin.threaddump'],
  });
  expect(failure.retryAt).toBe(60_600); // A window and its hundredth after the first.
  expect(failure.message).toBe('Rate limit exceeded. Please try again in 41 seconds.');
  clock.at = 60_600;
  limiter.acquire('admin.threaddump');
});

test.each([
  ['limits.get', 'edge.caller', 1000],
  ['me.get', 'user', 100],
  ['admin.audit.list', 'admin', 100],
  ['admin.threaddump', 'admin.threaddump', 20],
] as const)('%s is refused here at the end of %s, and not before', (route, name, limit) => {
  const limiter = new Limiter(new Clock().now);
  for (let i = 0; i < limit; i++) limiter.acquire(route).answered(ok);
  expect(refused(() => limiter.acquire(route))).toMatchObject({ local: true, violated: [name], retryAt: 60_600 });
});

test('routes that are charged to one budget spend it together', () => {
  const limiter = new Limiter(new Clock().now);
  for (const route of ['me.get', 'org.get'] as const) {
    for (let i = 0; i < 50; i++) limiter.acquire(route).answered(ok);
  }
  expect(refused(() => limiter.acquire('me.get')).violated).toEqual(['user']);
  limiter.acquire('admin.audit.list');
});

test('what everybody shares is not counted here, and held back once an answer says that nothing is left', () => {
  const clock = new Clock();
  const limiter = new Limiter(clock.now);
  for (let i = 0; i < 9; i++) limiter.acquire('admin.heapdump').answered(ok);
  const headers = { 'RateLimit-Policy': '"admin.heapdump";q=3;w=300', RateLimit: '"admin.heapdump";r=0;t=40' };
  limiter.acquire('admin.heapdump').answered(new Response('', { headers }));
  expect(refused(() => limiter.acquire('admin.heapdump'))).toMatchObject({ violated: ['admin.heapdump'] });
  clock.at = 40_000;
  limiter.acquire('admin.heapdump');
});

test.each([
  ['an answer that says that nothing is left', 200],
  ['a refusal', 429],
])('people are told the time of the server, where a probe may leave before it: %s', (_, status) => {
  const clock = new Clock();
  const limiter = new Limiter(clock.now);
  const headers = { 'RateLimit-Policy': '"admin.heapdump";q=3;w=300', RateLimit: '"admin.heapdump";r=0;t=280' };
  limiter.acquire('admin.heapdump').answered(new Response('', { status, headers }), status === 429 ? 280_000 : null);
  clock.at = 10_000;
  expect(limiter.look('admin.heapdump')).toMatchObject({ ok: false, retry: 50_000 });
  expect(refused(() => limiter.acquire('admin.heapdump')).retryAt).toBe(280_000);
  expect(limiter.wait('admin.heapdump')).toBe(270_000);
  clock.at = 60_000;
  expect(limiter.wait('admin.heapdump')).toBe(0);
  limiter.acquire('admin.heapdump');
});

test('a refusal takes no slot of any budget', () => {
  const clock = new Clock();
  const limiter = new Limiter(clock.now);
  spend(limiter, clock, 20, 100);
  for (let i = 0; i < 1200; i++) refused(() => limiter.acquire('admin.threaddump'));
  for (let i = 0; i < 980; i++) limiter.acquire('limits.get');
  expect(refused(() => limiter.acquire('limits.get')).violated).toEqual(['edge.caller']);
});

test('calls without an answer hold their slots, however long, and a while longer once they failed', () => {
  const clock = new Clock();
  const limiter = new Limiter(clock.now);
  const tickets = Array.from({ length: 20 }, () => limiter.acquire('admin.threaddump'));
  clock.at = 600_000;
  expect(refused(() => limiter.acquire('admin.threaddump')).violated).toEqual(['admin.threaddump']);
  for (const ticket of tickets) ticket.failed();
  clock.at = 600_000 + 10_000 + 60_599;
  expect(refused(() => limiter.acquire('admin.threaddump')).violated).toEqual(['admin.threaddump']);
  clock.at = 600_000 + 10_000 + 60_600;
  limiter.acquire('admin.threaddump');
});

describe('limits.get', () => {
  const limits = (...budgets: ReturnType<typeof budget>[]) => ({ caller: { kind: 'user' }, budgets });

  test.each([
    ['lowers', { limit: 1 }, 1],
    ['raises', { limit: 3 }, 3],
  ])('%s a limit, and what was spent stays spent', (_, change, allowed) => {
    const clock = new Clock();
    const limiter = new Limiter(clock.now);
    limiter.acquire('admin.threaddump').answered(ok);
    limiter.learn(limits(budget('admin.threaddump', change)), limiter.snapshot());
    for (let i = 1; i < allowed; i++) limiter.acquire('admin.threaddump').answered(ok);
    expect(refused(() => limiter.acquire('admin.threaddump')).violated).toEqual(['admin.threaddump']);
  });

  test.each([
    ['unlimited', { limit: null }],
    ['in shadow', { limit: 1, enforced: false }],
  ])('says that a budget is %s, and it refuses nothing', (_, change) => {
    const limiter = new Limiter(new Clock().now);
    limiter.learn(limits(budget('admin.threaddump', change)), limiter.snapshot());
    for (let i = 0; i < 50; i++) limiter.acquire('admin.threaddump');
  });

  test('of 0 lets one call ask, each window', () => {
    const clock = new Clock();
    const limiter = new Limiter(clock.now);
    limiter.learn(limits(budget('admin.threaddump', { limit: 0, remaining: 0 })), limiter.snapshot());
    limiter.acquire('admin.threaddump').answered(ok);
    expect(refused(() => limiter.acquire('admin.threaddump')).retryAt).toBe(60_600);
  });
});

test('a refusal of the server holds calls back, and those of other budgets go on', () => {
  const clock = new Clock();
  const limiter = new Limiter(clock.now);
  const headers = { RateLimit: '"admin.threaddump";r=0;t=20', 'Retry-After': '20' };
  limiter.acquire('admin.threaddump').answered(new Response('', { status: 429, headers }), 19_321);
  clock.at = 19_320;
  expect(refused(() => limiter.acquire('admin.threaddump')).violated).toEqual(['admin.threaddump']);
  limiter.acquire('admin.audit.list');
  clock.at = 19_321;
  const probe = limiter.acquire('admin.threaddump');
  expect(refused(() => limiter.acquire('admin.threaddump')).violated).toEqual(['admin.threaddump']);
  probe.answered(ok);
  limiter.acquire('admin.threaddump');
});

test('what the organisation has left is learned', () => {
  const clock = new Clock();
  const limiter = new Limiter(clock.now);
  limiter.acquire('me.get').answered(new Response('', { headers: { RateLimit: '"org";r=0;t=3' } }));
  expect(refused(() => limiter.acquire('me.get'))).toMatchObject({ violated: ['org'], retryAt: 3000 });
});

test('a call that never left gives its slots back, once', () => {
  const limiter = new Limiter(new Clock().now);
  const ticket = limiter.acquire('admin.threaddump');
  ticket.unsent();
  ticket.answered(ok);
  for (let i = 0; i < 20; i++) limiter.acquire('admin.threaddump');
  expect(refused(() => limiter.acquire('admin.threaddump')).violated).toEqual(['admin.threaddump']);
});

// A page that sends as fast as its mirror lets it, over a network with a heavy tail, to a server that counts arrivals.
// hold says when a slot begins to run out.
function simulate(seed: number, hold: 'until the answer' | 'from the send'): { sent: number; refused: number } {
  const random = mulberry(seed);
  const leg = () => 20 / (random() + 0.005);
  const mirror = new SlidingLog(1000);
  const sent: number[] = [];
  let flying: { slot: symbol; answered: number }[] = [];
  for (let now = 0; now < 30_000; now += 1 + random() * 4) {
    for (const call of flying) if (call.answered <= now) mirror.start(call.slot, call.answered);
    flying = flying.filter((call) => call.answered > now);
    if (!mirror.look(now, 20).ok) continue;
    const slot = mirror.hold();
    const arrived = now + leg();
    sent.push(arrived);
    if (hold === 'from the send') mirror.start(slot, now);
    flying.push({ slot, answered: arrived + leg() });
  }
  return { sent: sent.length, refused: refusedBy(sent) };
}

function refusedBy(arrivals: number[]): number {
  const server = new SlidingLog(1000);
  let count = 0;
  for (const at of [...arrivals].sort((a, b) => a - b)) {
    if (server.look(at, 20).ok) server.start(server.hold(), at);
    else count++;
  }
  return count;
}

// A small generator of reproducible numbers in [0, 1).
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('what passes the mirror is never refused, whatever the network does; slots held from the send alone would be', () => {
  let caught = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const run = simulate(seed, 'until the answer');
    expect(run.refused, `seed ${seed}`).toBe(0);
    expect(run.sent, `seed ${seed}`).toBeGreaterThan(300);
    if (simulate(seed, 'from the send').refused > 0) caught++;
  }
  expect(caught).toBeGreaterThan(14);
});
