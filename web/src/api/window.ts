import type { LimitStatus } from './contract';
import type { Quotas, Service } from './headers';
import { SlidingLog, type Slot } from './slidinglog';

/** The limit of one budget, and how long a unit of it may count at the server. */
export interface Allowance {
  name: string;
  limit: number;
  windowMs: number;
  /** Others share the budget, or its cost varies: it is not counted here, only what answers say of it holds back. */
  learned: boolean;
  /** A call costs more than one unit, so that it may refuse with some left. */
  metered: boolean;
}

/** What a budget says to one more call. */
export interface View {
  ok: boolean;
  /** Infinity where nothing bounds it. */
  remaining: number;
  /** Milliseconds until one more would be let pass, at least; 0 if it would be now, null if no wait helps. */
  retry: number | null;
}

/** The state of a window when a call left, itself not counted. */
export interface Mark {
  used: number;
  acquired: number;
  flying: number;
}

// What the answers of the server taught of a budget, beyond what this page counts itself. It only ever holds back, and
// where this page is the only user of the budget there is nothing in it.
interface Lesson {
  /** The call whose answer taught it: answers overtake each other, and what was sent last counts. */
  from: number;
  /** The server's limit, from its policy; a window of 0 says that none is known. */
  quota: number;
  quotaWindowMs: number;
  /** No more than left units can be taken beyond those acquired up to mark. */
  scarce: boolean;
  left: number;
  mark: number;
  /** The server refused a call for this budget. */
  refused: boolean;
  /** When the server has more, or sooner: from then on one call may try, the probe, and its answer is the next lesson. */
  until: number;
  /** When the server itself said that it has more, however long that is. */
  said: number;
  probe: object | null;
  /** When what was left is no longer true, whatever it was. */
  ends: number;
}

function nothing(from: number): Lesson {
  return {
    from,
    quota: 0,
    quotaWindowMs: 0,
    scarce: false,
    left: 0,
    mark: 0,
    refused: false,
    until: 0,
    said: 0,
    probe: null,
    ends: 0,
  };
}

// How far the rates of two clocks may differ: 1 % of a window.
const guard = 0.01;
// How long a lesson holds anything back without another look at the server, and what those are told who wait for a probe.
const longestBlockMs = 60_000;
const probeWaitMs = 1000;
// A limit that nobody reaches.
const unlimited = 2 ** 40;

/** One budget as far as this page knows it: what it took itself, and what the server taught. As mobileclient's window. */
export class Window {
  private readonly log: SlidingLog | null;
  private lesson = nothing(0);
  private limit: number;
  // How many units were ever taken, and how many of them are without an answer.
  private acquired = 0;
  private flying = 0;

  constructor(private readonly allowance: Allowance) {
    this.limit = allowance.limit;
    this.log = allowance.learned ? null : new SlidingLog(allowance.windowMs * (1 + guard));
  }

  get name(): string {
    return this.allowance.name;
  }

  get metered(): boolean {
    return this.allowance.metered;
  }

  look(now: number): View {
    const own = this.counted(now);
    const taught = this.taught(now);
    return {
      ok: own.ok && taught.ok,
      remaining: Math.min(own.remaining, taught.remaining),
      retry: longer(own.retry, taught.retry),
    };
  }

  /** The wait of look, or until the server's own time where that is later than a probe's: what people are told. */
  wait(now: number): number | null {
    const { retry } = this.look(now);
    return this.taught(now).ok ? retry : longer(retry, this.lesson.said - now);
  }

  mark(now: number): Mark {
    return { used: this.log?.used(now) ?? 0, acquired: this.acquired, flying: this.flying };
  }

  /** Takes a unit for a call, which finds out what is left if nobody else is about to. */
  hold(now: number, call: object): Slot {
    if (this.probes(now)) this.lesson.probe = call;
    this.acquired++;
    this.flying++;
    return this.log?.hold() ?? Symbol('slot');
  }

  /** Begins the window of a unit at that time. */
  start(slot: Slot, at: number): void {
    this.flying--;
    this.log?.start(slot, at);
  }

  giveBack(slot: Slot): void {
    this.flying--;
    this.log?.giveBack(slot);
  }

  /** Lets another call find out what this one was sent for. */
  leave(call: object): void {
    if (this.lesson.probe === call) this.lesson.probe = null;
  }

  /** Takes in what an answer says of the budget. from numbers its call, mark is the state in which that left. */
  learn(now: number, quotas: Quotas, from: number, mark: Mark): void {
    if (from <= this.lesson.from) return;
    const { quota, quotaWindowMs, probe } = this.lesson;
    this.lesson = { ...nothing(from), quota, quotaWindowMs, probe };
    const policy = quotas.policies.find((p) => p.name === this.name);
    if (policy && policy.windowSeconds > 0) {
      this.lesson.quota = policy.quota;
      this.lesson.quotaWindowMs = policy.windowSeconds * 1000;
    }
    const service = this.service(quotas);
    if (service) this.take(now, service.remaining, (service.resetSeconds ?? 0) * 1000, mark, 1);
  }

  /** What the server says is left of the budget; undefined if it does not say. */
  remaining(quotas: Quotas): number | undefined {
    return this.service(quotas)?.remaining;
  }

  /** Holds back for the wait of a refusal, or less if the budget is spent and more comes before it, and until a later call is answered. */
  block(now: number, waitMs: number, quotas: Quotas, last: number): void {
    const service = this.service(quotas);
    const reset = service?.remaining === 0 ? service.resetSeconds : null;
    const wait = Math.min(waitMs, reset === null ? Number.POSITIVE_INFINITY : reset * 1000);
    const [said, until] = [now + wait, now + Math.min(wait, longestBlockMs)];
    const { lesson } = this;
    lesson.said = lesson.refused ? Math.max(said, lesson.said) : said;
    lesson.until = lesson.refused ? Math.max(until, lesson.until) : until;
    lesson.from = last;
    lesson.refused = true;
  }

  /** Takes over a larger limit; one that is not enforced is none. That of a longer window says too little. */
  raise(status: LimitStatus): void {
    const limit = status.enforced ? (status.limit ?? unlimited) : unlimited;
    if (status.windowSeconds * 1000 <= this.allowance.windowMs) this.limit = Math.max(this.limit, limit);
  }

  /** Learns what limits.get says; mark and from are of when it was asked. */
  adopt(now: number, status: LimitStatus, mark: Mark, from: number): void {
    if (from < this.lesson.from) return;
    const { probe } = this.lesson;
    if (status.limit === null || !status.enforced) {
      this.lesson = { ...nothing(from), probe };
      return;
    }
    if (status.remaining === null || status.windowSeconds <= 0) return;
    this.lesson = { ...nothing(from), quota: status.limit, quotaWindowMs: status.windowSeconds * 1000, probe };
    this.take(now, status.remaining, status.resetMs, mark, 0);
  }

  // Of what the server counts, no more can be this page's own than what was held when the call left and what was taken
  // since; where that explains it all there is nothing to learn. What was on its way when the call left may have come after
  // it, and is then not in the answer. The call itself took own units.
  private take(now: number, remaining: number, resetMs: number, mark: Mark, own: number): void {
    const quota = this.lesson.quotaWindowMs > 0 ? this.lesson.quota : this.limit;
    if (this.log && quota - remaining <= mark.used + this.acquired - mark.acquired) return;
    Object.assign(this.lesson, {
      scarce: true,
      left: remaining,
      mark: mark.acquired + own - mark.flying,
      ends: now + longestBlockMs,
      until: now + Math.min(resetMs, longestBlockMs),
      said: now + resetMs,
    });
  }

  private service(quotas: Quotas): Service | undefined {
    return quotas.services.find((s) => s.name === this.name);
  }

  // What this page's own units leave room for.
  private counted(now: number): View {
    if (!this.log) return { ok: true, remaining: Number.POSITIVE_INFINITY, retry: 0 };
    return this.log.look(now, this.lowered());
  }

  // The limit after the server's policy: never above the limit itself. The quota of a longer window is shared out among the
  // shorter ones that the longer one holds; one call is always let pass, to learn.
  private lowered(): number {
    const { quota, quotaWindowMs } = this.lesson;
    if (quotaWindowMs <= 0) return this.limit;
    const parts = Math.max(1, Math.ceil(quotaWindowMs / this.allowance.windowMs));
    return Math.min(this.limit, Math.max(Math.floor(quota / parts), 1));
  }

  private over(now: number): boolean {
    return !this.lesson.refused && (!this.lesson.scarce || now >= this.lesson.ends);
  }

  private taught(now: number): View {
    if (this.over(now)) return { ok: true, remaining: Number.POSITIVE_INFINITY, retry: 0 };
    const { refused, left, mark, until, probe } = this.lesson;
    const room = refused ? 0 : Math.max(0, left - (this.acquired - mark));
    if (room > 0) return { ok: true, remaining: room, retry: 0 };
    if (probe) return { ok: false, remaining: 0, retry: Math.max(until - now, probeWaitMs) };
    if (now < until) return { ok: false, remaining: 0, retry: until - now };
    return { ok: true, remaining: 1, retry: 0 };
  }

  // Whether a call that is let pass now is the one that finds out.
  private probes(now: number): boolean {
    const { refused, left, mark, until, probe } = this.lesson;
    return !this.over(now) && !probe && now >= until && (refused || this.acquired - mark >= left);
  }
}

/** The longer of two waits; none is as long as the one that never ends. */
export function longer(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(a, b);
}
