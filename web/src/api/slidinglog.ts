// The exact sliding window, as internal/slidinglog keeps it: at most limit units in any span of the window, counted from
// a log of times. A unit that began at t counts until t + window, exactly. Times are milliseconds on a clock that runs
// only forwards.

/** Names the entry that one call made. */
export type Slot = symbol;

interface Entry {
  slot: Slot;
  units: number;
  /** When its window begins; null while it is held. */
  at: number | null;
}

/** What a log says of a cost. */
export interface Answer {
  ok: boolean;
  /** What is left, never below 0. */
  remaining: number;
  /** Milliseconds until a cost that does not fit would; 0 for one that fits, null if no wait helps. */
  retry: number | null;
}

export class SlidingLog {
  private entries: Entry[] = [];

  constructor(private readonly windowMs: number) {}

  /** Says whether a cost fits, and records nothing. */
  look(now: number, limit: number, cost = 1): Answer {
    this.forget(now);
    const used = this.units();
    const ok = cost === 0 || used + cost <= limit;
    return { ok, remaining: Math.max(0, limit - used), retry: ok ? 0 : this.retry(now, limit - cost) };
  }

  /** Records units that count from now on and have no time to leave at until start gives them one, fitting or not. */
  hold(units = 1): Slot {
    const slot = Symbol('slot');
    this.entries.push({ slot, units, at: null });
    return slot;
  }

  /** Begins the window of a held entry: its units leave a window later. A later time keeps them longer. */
  start(slot: Slot, at: number): void {
    const entry = this.entries.find((e) => e.slot === slot && e.at === null);
    if (entry) entry.at = at;
  }

  /** Takes an entry out, as for a request that never left. */
  giveBack(slot: Slot): void {
    this.entries = this.entries.filter((entry) => entry.slot !== slot);
  }

  /** How many units count now. */
  used(now: number): number {
    this.forget(now);
    return this.units();
  }

  private units(): number {
    return this.entries.reduce((sum, entry) => sum + entry.units, 0);
  }

  private forget(now: number): void {
    this.entries = this.entries.filter((entry) => entry.at === null || entry.at + this.windowMs > now);
  }

  // The time until no more than left units count. Held ones are reckoned with as if they began now, so it is the least
  // that the wait can be.
  private retry(now: number, left: number): number | null {
    if (left < 0) return null;
    const leaving = this.entries
      .map(({ units, at }) => ({ units, wait: (at ?? now) + this.windowMs - now }))
      .sort((a, b) => a.wait - b.wait);
    let surplus = this.units() - left;
    for (const { units, wait } of leaving) {
      surplus -= units;
      if (surplus <= 0) return wait;
    }
    return 0;
  }
}
