/** What becomes of calls: let pass by the server, refused by it, or held back in this page. */
export const outcomes = ['admitted', 'refused', 'local'] as const;

export type Outcome = (typeof outcomes)[number];

/** The calls of one minute, numbered from 1970. */
export type Minute = { minute: number } & Record<Outcome, number>;

/** How many minutes are kept. */
export const minutesKept = 60;

const key = 'calls-by-minute';
const minuteMs = 60_000;

/** What this browser saw in the last hour: a row a minute, kept in the browser and shared by its tabs. */
export class History {
  private minutes: readonly Minute[];
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly storage: Pick<Storage, 'getItem' | 'setItem'>,
    private readonly now: () => number = Date.now,
  ) {
    this.minutes = this.read();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): readonly Minute[] => this.minutes;

  record(outcome: Outcome): void {
    const minute = Math.floor(this.now() / minuteMs);
    const rows = this.read(); // Another tab may have added to it.
    const present = rows.find((row) => row.minute === minute) ?? { minute, admitted: 0, refused: 0, local: 0 };
    const changed = { ...present, [outcome]: present[outcome] + 1 };
    this.minutes = [...rows.filter((row) => row.minute !== minute), changed];
    this.write();
    for (const listener of this.listeners) listener();
  }

  // A browser that lets nothing be kept loses the history with the page, and nothing else.
  private read(): readonly Minute[] {
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(key) ?? '[]');
      const rows = Array.isArray(stored) ? stored.filter(isMinute) : [];
      const oldest = Math.floor(this.now() / minuteMs) - minutesKept;
      return rows.filter((row) => row.minute > oldest);
    } catch {
      return this.minutes ?? [];
    }
  }

  private write(): void {
    try {
      this.storage.setItem(key, JSON.stringify(this.minutes));
    } catch {
      // Full, or forbidden.
    }
  }
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
