import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { now } from '../api/clock';
import { asFailure, type Failure } from '../api/failure';
import type { Standing } from '../api/ledger';
import { useApi, useStandings } from '../app/context';

// Answers' headers keep the gauges current, so asking is for what others spend, for what comes back by itself, and for
// limits that an administrator changes. Where budgets are what somebody looks at, that is each second while they do:
// a sixteenth of the budget at the door, and no other budget is charged for it.
const everySecond = 1_000;
const calmly = 30_000;
const unattended = 15_000;
// Soon enough that whoever looks need not wonder whether the server is back, and a fifth of what it is asked when it answers.
const failed = 5_000;
// Nobody has touched the page for so long: it is open, and perhaps nobody looks.
const attentionMs = 120_000;
const askAgainAfter = 5_000;

interface Options {
  /** False once asking would be refused. */
  live?: boolean;
  /** Whether the budgets are what the page is about. */
  closely?: boolean;
}

/** Keeps the ledger current. Nothing is asked while the page is hidden. */
export function useLimits({ live = true, closely = false }: Options = {}) {
  const api = useApi();
  const standings = useStandings();
  const touched = useLastTouch();
  const query = useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => api.limits(signal),
    refetchInterval: ({ state }) =>
      pollEvery({
        closely,
        failing: state.status === 'error' ? asFailure(state.error) : null,
        scarce: isScarce(standings),
        unattendedMs: now() - touched.current,
        at: now(),
      }),
    enabled: live,
  });
  const { refetch } = query;
  const next = nextChange(standings);
  useEffect(() => {
    if (next === null || !live) return;
    const timer = setTimeout(
      () => {
        if (!document.hidden) void refetch();
      },
      Math.max(next - now(), askAgainAfter),
    );
    return () => clearTimeout(timer);
  }, [next, refetch, live]);
  return query;
}

interface Circumstances {
  closely: boolean;
  /** Why the last asking failed; null where it did not. */
  failing: Pick<Failure, 'retryAt'> | null;
  scarce: boolean;
  unattendedMs: number;
  at: number;
}

/**
 * How long to wait before asking again: briefly only where somebody looks, the server answers, and asking is cheap; never
 * less than a refusal says.
 */
export function pollEvery(circumstances: Circumstances): number {
  const { failing, at } = circumstances;
  return Math.max(intervalOf(circumstances), (failing?.retryAt ?? at) - at);
}

function intervalOf({ closely, failing, scarce, unattendedMs }: Circumstances): number {
  if (!closely || scarce) return calmly;
  if (unattendedMs >= attentionMs) return unattended;
  return failing ? failed : everySecond;
}

// The budget at the door is the one that asking spends. The last fifth of it is left for what somebody does.
function isScarce(standings: readonly Standing[]): boolean {
  const door = standings.find(({ name }) => name === 'edge.caller' || name === 'edge');
  return door !== undefined && door.limit !== null && door.remaining !== null && door.remaining < door.limit / 5;
}

function useLastTouch() {
  const at = useRef(now());
  useEffect(() => {
    const touch = () => {
      at.current = now();
    };
    const events = ['pointermove', 'pointerdown', 'keydown', 'focus', 'visibilitychange'];
    for (const event of events) globalThis.addEventListener(event, touch, { passive: true });
    return () => {
      for (const event of events) globalThis.removeEventListener(event, touch);
    };
  }, []);
  return at;
}

// The first time at which one of them will have more than is shown.
function nextChange(standings: readonly Standing[]): number | null {
  const times = standings.map((standing) => standing.moreAt).filter((at) => at !== null);
  return times.length > 0 ? Math.min(...times) : null;
}
