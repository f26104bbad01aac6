import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Api } from '../api/api';
import { now } from '../api/clock';
import type { RouteId } from '../api/contract';
import { type Block, blockOf, type Standing } from '../api/ledger';
import { useSecondsUntil } from './time';

/** The page's one Api. */
export const ApiContext = createContext<Api | null>(null);

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (!api) throw new Error('useApi outside of ApiContext');
  return api;
}

/** What is known of the caller's budgets, kept current. */
export function useStandings(): readonly Standing[] {
  const { ledger } = useApi();
  return useSyncExternalStore(ledger.subscribe, ledger.snapshot);
}

/** The refusal that a route is under, and the seconds that it lasts; null when a call would be tried. */
export function useBlock(route: RouteId): (Block & { seconds: number }) | null {
  const { ledger } = useApi();
  const blocks = useSyncExternalStore(ledger.subscribe, ledger.snapshotBlocks);
  const block = blockOf(blocks, route, now());
  const seconds = useSecondsUntil(block?.until ?? null);
  return block && seconds > 0 ? { ...block, seconds } : null;
}
