/** What becomes of calls: let pass by the server, refused by it, or held back in this page. */
export const outcomes = ['admitted', 'refused', 'local'] as const;

export type Outcome = (typeof outcomes)[number];

/** The calls of one minute, numbered from 1970. */
export type Minute = { minute: number } & Record<Outcome, number>;

/** How many minutes are kept. */
export const minutesKept = 60;

const prefix = 'calls-by-minute';
const minuteMs = 60_000;

/**
 * What this browser saw in the last hour: a row a minute, kept in the browser and shared by its tabs. Each person has their
 * own; until it is known whose this is, and for a visitor, it is this page's alone.
 */
export class History {
  private key: string | null = null;
  private minutes: readonly Minute[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly storage: Pick<Storage, 'getItem' | 'setItem'>,
    private readonly now: () => number = Date.now,
  ) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): readonly Minute[] => this.minutes;

  /** Says whose it is: what was recorded so far becomes a part of theirs. */
  belongTo(person: string): void {
    const key = `${prefix} ${person}`;
    if (key === this.key) return;
    const before = this.minutes;
    this.minutes = [];
    this.key = key;
    this.minutes = before.reduce(plus, this.read());
    this.changed();
  }

  record(outcome: Outcome): void {
    const minute = Math.floor(this.now() / minuteMs);
    const rows = this.read(); // Another tab may have added to it.
    this.minutes = plus(rows, { minute, admitted: 0, refused: 0, local: 0, [outcome]: 1 });
    this.changed();
  }

  private changed(): void {
    this.write();
    for (const listener of this.listeners) listener();
  }

  // A browser that lets nothing be kept loses the history with the page, and nothing else.
  private read(): readonly Minute[] {
    const oldest = Math.floor(this.now() / minuteMs) - minutesKept;
    return this.stored().filter((row) => row.minute > oldest);
  }

  private stored(): readonly Minute[] {
    if (this.key === null) return this.minutes;
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(this.key) ?? '[]');
      return Array.isArray(stored) ? stored.filter(isMinute) : [];
    } catch {
      return this.minutes;
    }
  }

  private write(): void {
    if (this.key === null) return;
    try {
      this.storage.setItem(this.key, JSON.stringify(this.minutes));
    } catch {
      // Full, or forbidden.
    }
  }
}

// The rows with those of one minute added, the last minute at the end.
function plus(rows: readonly Minute[], more: Minute): Minute[] {
  const present = rows.find((row) => row.minute === more.minute);
  const sum = present
    ? {
        minute: more.minute,
        admitted: present.admitted + more.admitted,
        refused: present.refused + more.refused,
        local: present.local + more.local,
      }
    : more;
  return [...rows.filter((row) => row.minute !== more.minute), sum];
}

/** The last hour without a gap: a row for each minute, up to that one. */
export function perMinute(rows: readonly Minute[], last: number): Minute[] {
  const byMinute = new Map(rows.map((row) => [row.minute, row]));
  return Array.from({ length: minutesKept }, (_, i) => {
    const minute = last - minutesKept + 1 + i;
    return byMinute.get(minute) ?? { minute, admitted: 0, refused: 0, local: 0 };
  });
}

function isMinute(value: unknown): value is Minute {
  if (typeof value !== 'object' || value === null) return false;
  const row = value as Partial<Minute>;
  return [row.minute, row.admitted, row.refused, row.local].every((n) => typeof n === 'number' && n >= 0);
}
