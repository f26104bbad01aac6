import { budgets, charges } from '../contract/budgets';
import { now as pageNow } from './clock';
import type { Limits, RouteId } from './contract';
import { Failure } from './failure';
import { parseQuotas, type Quotas } from './headers';
import type { Slot } from './slidinglog';
import { type Allowance, longer, type Mark, type View, Window } from './window';

/** The slots of one call, to be settled once, by whichever end it comes to. */
export interface Ticket {
  /** The answer is in: the server counted the call no later than now. waitMs is the wait of a refusal that says it exactly. */
  answered(response: Pick<Response, 'status' | 'headers'>, waitMs?: number | null): void;
  /** No answer came, and the call may still arrive. */
  failed(): void;
  /** The call never left. */
  unsent(): void;
}

/** The state of the limiter when limits.get was asked. */
export interface Snapshot {
  last: number;
  marks: Map<string, Mark>;
}

// How late a call without an answer may still arrive, and how long a refusal without Retry-After is heeded.
const graceMs = 10_000;
const unsaidWaitMs = 1000;

/**
 * The limiter mirrors, in this page, the budgets that a person's calls are charged to at the server, so that a call that
 * would be refused is not sent. A slot is held from before the call leaves until its answer is in and a window more has
 * passed; so whatever the network does, a slot outlives what the server counts, and while this page is the only user
 * of its budgets the server never refuses a call that passed here. What others spend is learned from the answers: after a
 * refusal nothing leaves before its time, and then one call tries.
 *
 * It is the limiter of mobileclient, and api/testdata/limiter.json holds both to the same decisions. What is not here is
 * what a page does not need: counting for the address, since limits.get goes first; the allowance that the SDK gives each
 * path by itself, which no server counts; calls that wait or skip; and jitter, since people press a button when it says so.
 */
export class Limiter {
  private readonly windows: Map<string, Window>;
  private calls = 0;

  constructor(
    private readonly now: () => number = pageNow,
    allowances: readonly Allowance[] = ofContract(),
    private readonly namesOf: (route: RouteId) => readonly string[] = (route) => charges[route],
  ) {
    this.windows = new Map(allowances.map((allowance) => [allowance.name, new Window(allowance)]));
  }

  /**
   * Takes a slot of every budget that the route charges, or of none, and throws the refusal that the server would send. Its
   * wait is for people: a probe may leave before, for whoever was told nothing yet.
   */
  acquire(route: RouteId): Ticket {
    const now = this.now();
    const mine = this.chargedBy(route);
    const refusing = mine.filter((window) => !window.look(now).ok);
    if (refusing.length > 0) throw refusal(refusing, now);
    return new Held(this.now, mine, ++this.calls, () => this.calls);
  }

  /** How many milliseconds people are told to wait for a call of the route; 0 where it would leave. */
  wait(route: RouteId): number {
    const waits = this.chargedBy(route).map((window) => window.wait(this.now()) ?? 0);
    return Math.max(...waits, 0);
  }

  /** What a budget says to one more call; undefined for one that is not mirrored. */
  look(name: string): View | undefined {
    return this.windows.get(name)?.look(this.now());
  }

  /** Is to be taken before limits.get is asked, and given with its answer. */
  snapshot(): Snapshot {
    const marks = [...this.windows.values()].map((window) => [window.name, window.mark(this.now())] as const);
    return { last: this.calls, marks: new Map(marks) };
  }

  /** Takes in the caller's own numbers: larger limits too. History is kept, so a lowered limit counts what was spent before. */
  learn(limits: Limits, before: Snapshot): void {
    for (const status of limits.budgets) {
      const window = this.windows.get(status.name);
      const mark = before.marks.get(status.name);
      window?.raise(status);
      if (mark) window?.adopt(this.now(), status, mark, before.last);
    }
  }

  // One that is not mirrored bounds nothing.
  private chargedBy(route: RouteId): Window[] {
    return this.namesOf(route).flatMap((name) => this.windows.get(name) ?? []);
  }
}

class Held implements Ticket {
  private readonly marks: Mark[];
  private readonly slots: Slot[];
  private settled = false;

  constructor(
    private readonly now: () => number,
    private readonly windows: Window[],
    private readonly number: number,
    private readonly last: () => number,
  ) {
    this.marks = windows.map((window) => window.mark(now()));
    this.slots = windows.map((window) => window.hold(now(), this));
  }

  answered({ status, headers }: Pick<Response, 'status' | 'headers'>, waitMs: number | null = null): void {
    this.learn(status, headers, waitMs ?? retryAfterMs(headers) ?? unsaidWaitMs);
    // What is replayed was charged when it was first answered.
    const replayed = status >= 200 && status < 300 && headers.get('Idempotency-Replayed') !== null;
    this.settle((window, slot) => (replayed ? window.giveBack(slot) : window.start(slot, this.now())));
  }

  failed(): void {
    this.settle((window, slot) => window.start(slot, this.now() + graceMs));
  }

  unsent(): void {
    this.settle((window, slot) => window.giveBack(slot));
  }

  private settle(end: (window: Window, slot: Slot) => void): void {
    if (this.settled) return;
    this.settled = true;
    this.windows.forEach((window, i) => {
      end(window, this.slots[i] as Slot);
      window.leave(this);
    });
  }

  private learn(status: number, headers: Headers, waitMs: number): void {
    const quotas = parseQuotas(headers);
    this.windows.forEach((window, i) => {
      window.learn(this.now(), quotas, this.number, this.marks[i] as Mark);
    });
    if (status !== 429) return;
    for (const window of this.refusing(quotas)) {
      window.block(this.now(), waitMs, quotas, this.last());
    }
  }

  // A 429 is about the budgets that have nothing left; else about the metered ones, which refuse with less left than the call
  // may use; else, if it says nothing of either, about all.
  private refusing(quotas: Quotas): Window[] {
    const spent = this.windows.filter((window) => window.remaining(quotas) === 0);
    if (spent.length > 0) return spent;
    const metered = this.windows.filter((window) => window.metered && window.remaining(quotas) !== undefined);
    return metered.length > 0 ? metered : this.windows;
  }
}

// Whole seconds. The server sends no dates, and this page's clock may be wrong.
function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('Retry-After')?.trim() ?? '';
  return /^\d+$/.test(text) ? Number(text) * 1000 : null;
}

interface Row {
  name: string;
  per: string;
  algorithm: string;
  metered?: boolean;
  limit: number;
  windowSeconds: number;
}

// Every budget of the table. Those that belong to one person are counted here; what others share is learned from answers.
function ofContract(rows: readonly Row[] = budgets): Allowance[] {
  return rows.map(({ name, per, algorithm, metered = false, limit, windowSeconds }) => {
    const learned = per !== 'user' || algorithm !== 'sliding-window' || metered;
    return { name, limit, windowMs: windowSeconds * 1000, learned, metered };
  });
}

function refusal(refusing: Window[], now: number): Failure {
  const wait = refusing.map((window) => window.wait(now)).reduce(longer, 0);
  const violated = refusing.map(({ name }) => name);
  return localRefusal(violated, wait === null ? null : now + wait, now);
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
