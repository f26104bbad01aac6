import { budgets, charges } from '../contract/budgets';
import { now as pageNow } from './clock';
import type { Limits, RouteId } from './contract';
import { Failure } from './failure';
import { SlidingLog, type Slot } from './slidinglog';

/** The slots of one call, to be settled once, by whichever end it comes to. */
export interface Ticket {
  /** The answer is in: the server counted the call no later than now. */
  answered(): void;
  /** No answer came, and the call may still arrive. */
  failed(): void;
}

// How far the rates of two clocks may differ: 1 % of a window. How late a call without an answer may still arrive.
const guard = 0.01;
const graceMs = 10_000;

interface Window {
  limit: number;
  log: SlidingLog;
}

/**
 * The limiter mirrors, in this page, the budgets that a person's calls are charged to at the server, so that a call that
 * would be refused is not sent. A slot is held from before the call leaves until its answer is in and a window more has
 * passed; so whatever the network does, a slot outlives what the server counts, and while this page is the only user
 * of its budgets the server never refuses a call that passed here. It starts with the contract's numbers, and limits.get
 * replaces them by the caller's own.
 */
export class Limiter {
  private readonly windows = new Map<string, Window>();

  constructor(private readonly now: () => number = pageNow) {
    for (const { name, per, algorithm, metered, limit, windowSeconds } of budgets) {
      if (per !== 'user' || algorithm !== 'sliding-window' || metered) continue; // Others share it, or its cost varies.
      this.windows.set(name, { limit, log: new SlidingLog(windowSeconds * 1000 * (1 + guard)) });
    }
  }

  /** Takes the caller's own numbers. History is kept, so a lowered limit counts what was spent before. */
  learn(limits: Limits): void {
    for (const { name, limit, enforced } of limits.budgets) {
      const window = this.windows.get(name);
      if (window) window.limit = limit === null || !enforced ? Number.POSITIVE_INFINITY : limit;
    }
  }

  /** Takes a slot of every budget that the route charges, or of none, and throws the refusal that the server would send. */
  acquire(route: RouteId): Ticket {
    const now = this.now();
    const mine = this.chargedBy(route);
    const refusing = mine.filter(([, { log, limit }]) => !log.look(now, limit).ok);
    if (refusing.length > 0) throw this.refusal(refusing, now);
    return this.ticket(mine.map(([, { log }]) => ({ log, slot: log.hold() })));
  }

  private chargedBy(route: RouteId): [string, Window][] {
    const names: readonly string[] = charges[route];
    return names.flatMap((name) => {
      const window = this.windows.get(name);
      return window ? [[name, window] as [string, Window]] : [];
    });
  }

  private ticket(slots: { log: SlidingLog; slot: Slot }[]): Ticket {
    const startAt = (at: number) => {
      for (const { log, slot } of slots) log.start(slot, at);
    };
    return { answered: () => startAt(this.now()), failed: () => startAt(this.now() + graceMs) };
  }

  private refusal(refusing: [string, Window][], now: number): Failure {
    const waits = refusing.map(([, { log, limit }]) => log.look(now, limit).retry);
    const violated = refusing.map(([name]) => name);
    return localRefusal(violated, waits.includes(null) ? null : now + Math.max(...waits.map(Number)), now);
  }
}

/** The refusal that the server would send, made here. */
export function localRefusal(violated: string[], retryAt: number | null, now: number): Failure {
  const seconds = retryAt === null ? 0 : Math.max(1, Math.ceil((retryAt - now) / 1000));
  const advice = retryAt === null ? '' : ` Please try again in ${seconds} seconds.`;
  return new Failure(`Rate limit exceeded.${advice}`, {
    code: 'RATE_LIMIT_EXCEEDED',
    status: 429,
    violated,
    retryAt,
    local: true,
  });
}
