import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LimitStatus, RouteId } from './contract';
import { Failure } from './failure';
import { Limiter, type Snapshot, type Ticket } from './limiter';
import { longer } from './window';

// The file that mobileclient's own test writes from its mirror; see mobileclient/vectors_test.go.
interface Case {
  name: string;
  budgets: { name: string; limit: number; windowMs: number; learned?: boolean; metered?: boolean }[];
  steps: Step[];
}

interface Step {
  at: number;
  do: 'acquire' | 'answer' | 'fail' | 'return' | 'ask' | 'limits';
  call?: number;
  budgets?: string[];
  status?: number;
  policy?: string;
  rateLimit?: string;
  retryAfter?: string;
  replayed?: boolean;
  limits?: Pick<LimitStatus, 'name' | 'limit' | 'windowSeconds' | 'remaining' | 'resetMs' | 'enforced'>[];
  want?: { ok: boolean; retryMs: number | null; refusing?: string[] };
  left: [remaining: number | null, retryMs: number | null][];
}

const cases: Case[] = JSON.parse(readFileSync('../api/testdata/limiter.json', 'utf8'));

class Player {
  at = 0;
  readonly limiter: Limiter;
  private readonly tickets = new Map<number, Ticket>();
  private asked: Snapshot | undefined;
  // Every time that the server has named.
  private readonly named: number[] = [];

  constructor(private readonly budgets: Case['budgets']) {
    const allowances = budgets.map((budget) => ({ learned: false, metered: false, ...budget }));
    this.limiter = new Limiter(
      () => this.at,
      allowances,
      (route) => route.split(' '),
    );
  }

  /** Does a step, and gives its decision if it has one. */
  do(step: Step): Step['want'] {
    this.at = step.at;
    this.named.push(...waitsOf(step).map((wait) => step.at + wait));
    switch (step.do) {
      case 'acquire':
        return this.acquire(step);
      case 'answer':
        this.ticket(step).answered({ status: step.status ?? 0, headers: headersOf(step) });
        break;
      case 'fail':
        this.ticket(step).failed();
        break;
      case 'return':
        this.ticket(step).unsent();
        break;
      case 'ask':
        this.asked = this.limiter.snapshot();
        break;
      case 'limits':
        this.limiter.learn(
          { caller: { kind: 'user' }, budgets: (step.limits ?? []) as LimitStatus[] },
          this.asked as Snapshot,
        );
    }
    return undefined;
  }

  left(): Step['left'] {
    return this.budgets.map(({ name }) => {
      const view = this.limiter.look(name);
      return [view && Number.isFinite(view.remaining) ? view.remaining : null, view?.retry ?? null];
    });
  }

  private acquire({ call = 0, budgets = [] }: Step): Step['want'] {
    const route = budgets.join(' ') as RouteId; // A route of the case's own, by what it charges.
    try {
      this.tickets.set(call, this.limiter.acquire(route));
      return { ok: true, retryMs: 0 };
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      return { ok: false, retryMs: this.retryMs(route, thrown), refusing: thrown.violated };
    }
  }

  // The wait until a call would be let pass, by which what people are told is judged: it is that, or a later time that the
  // server has named.
  private retryMs(route: RouteId, { violated, retryAt }: Failure): number | null {
    const retryMs = violated.map((name) => this.limiter.look(name)?.retry ?? null).reduce(longer, 0);
    if (retryMs === null || retryAt === null) {
      expect(retryAt).toBe(retryMs);
      return null;
    }
    expect(this.limiter.wait(route)).toBe(retryAt - this.at);
    expect([this.at + retryMs, ...this.named.filter((time) => time > this.at + retryMs)]).toContain(retryAt);
    return retryMs;
  }

  private ticket({ call = 0 }: Step): Ticket {
    const ticket = this.tickets.get(call);
    if (!ticket) throw new Error(`there is no call ${call}`);
    return ticket;
  }
}

function waitsOf({ retryAfter = '', rateLimit = '', limits = [] }: Step): number[] {
  const resets = [...rateLimit.matchAll(/;t=(\d+)/g)].map(([, seconds]) => Number(seconds) * 1000);
  return [Number(retryAfter) * 1000, ...resets, ...limits.map(({ resetMs }) => resetMs)];
}

function headersOf({ policy, rateLimit, retryAfter, replayed }: Step): Headers {
  const headers = new Headers();
  if (policy) headers.set('RateLimit-Policy', policy);
  if (rateLimit) headers.set('RateLimit', rateLimit);
  if (retryAfter) headers.set('Retry-After', retryAfter);
  if (replayed) headers.set('Idempotency-Replayed', 'true');
  return headers;
}

test('there are several hundred steps', () => {
  expect(cases.flatMap(({ steps }) => steps).length).toBeGreaterThan(400);
});

test.each(cases)('$name', ({ budgets, steps }) => {
  const player = new Player(budgets);
  steps.forEach((step, i) => {
    const label = `step ${i + 1}: ${JSON.stringify(step)}`;
    expect(player.do(step), label).toEqual(step.want);
    expect(player.left(), label).toEqual(step.left);
  });
});
