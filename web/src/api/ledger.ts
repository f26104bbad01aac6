import { charges } from '../contract/budgets';
import type { LimitStatus, Limits, RouteId } from './contract';
import type { Failure } from './failure';
import type { Quotas } from './headers';

/** What is known of one budget of the caller. Times are on the clock of now(). */
export interface Standing extends LimitStatus {
  /** When more will be left; null when nothing is spent, or it is not known. */
  moreAt: number | null;
}

/** A budget that refuses for now. */
export interface Block {
  budget: string;
  until: number;
}

/**
 * The ledger is what this page knows of the caller's budgets: limits.get fills it, the headers of every answer keep it
 * current, a refusal says until when to wait. It is an external store for React: its snapshots never change in place.
 */
export class Ledger {
  private standings: readonly Standing[] = [];
  private blocks: readonly Block[] = [];
  private readonly listeners = new Set<() => void>();

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): readonly Standing[] => this.standings;

  snapshotBlocks = (): readonly Block[] => this.blocks;

  /** Takes the answer of limits.get, which arrived at that time. */
  learn(limits: Limits, at: number): void {
    this.standings = limits.budgets.map((status) => ({
      ...status,
      moreAt: status.resetMs > 0 ? at + status.resetMs : null,
    }));
    this.blocks = this.blocks.filter(
      (block) => !this.standings.some((s) => s.name === block.budget && (s.remaining ?? 1) > 0),
    );
    this.tell();
  }

  /** Takes the rate-limit headers of an answer. Budgets that limits.get did not name are left out. */
  hear(quotas: Quotas, at: number): void {
    if (quotas.services.length === 0) return;
    this.standings = this.standings.map((standing) => heard(standing, quotas, at));
    this.tell();
  }

  /** Takes a refusal: the budgets that it names stay blocked until its time. */
  refused(failure: Failure): void {
    const until = failure.retryAt;
    if (until === null || failure.violated.length === 0) return;
    const others = this.blocks.filter((block) => !failure.violated.includes(block.budget));
    this.blocks = [...others, ...failure.violated.map((budget) => ({ budget, until }))];
    this.tell();
  }

  /** What the server has said that refuses a route at that time: an earlier refusal, or a budget with nothing left. */
  refusing(route: RouteId, at: number): Block | null {
    const spent = this.standings.filter((s) => s.enforced && s.remaining === 0 && s.moreAt !== null);
    const until = spent.map((s) => ({ budget: s.name, until: s.moreAt ?? 0 }));
    return blockOf([...this.blocks, ...until], route, at);
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

function heard(standing: Standing, quotas: Quotas, at: number): Standing {
  const service = quotas.services.find((s) => s.name === standing.name);
  if (!service) return standing;
  const policy = quotas.policies.find((p) => p.name === standing.name);
  return {
    ...standing,
    limit: policy?.quota ?? standing.limit,
    windowSeconds: policy?.windowSeconds || standing.windowSeconds,
    remaining: service.remaining,
    moreAt: service.resetSeconds ? at + service.resetSeconds * 1000 : null,
  };
}

/** The block that keeps a route longest; null if none of its budgets refuses at that time. */
export function blockOf(blocks: readonly Block[], route: RouteId, at: number): Block | null {
  const names: readonly string[] = charges[route];
  const mine = blocks.filter((block) => block.until > at && names.includes(block.budget));
  return mine.reduce<Block | null>((longest, b) => (longest && longest.until >= b.until ? longest : b), null);
}
