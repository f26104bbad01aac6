import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { now } from '../api/clock';
import { asFailure } from '../api/failure';
import type { Standing } from '../api/ledger';
import { useApi, useStandings } from '../app/context';
import { FailureNotice } from '../app/notice';
import { Gauge } from './gauge';
import { LastHour } from './lasthour';
import { TryIt } from './tryit';

// Answers' headers keep the gauges current, so asking is for what others spend, and for what comes back by itself.
const pollEvery = 30_000;
const askAgainAfter = 5_000;

/** The caller's budgets. live is false once asking would be refused. */
export function Budgets({ live }: { live: boolean }) {
  const standings = useStandings();
  const query = useLimits(standings, live);
  return (
    <section className="panel budgets" aria-labelledby="budgets">
      <h2 id="budgets">Budgets</h2>
      {live && query.error && <FailureNotice failure={asFailure(query.error)} onRetry={() => query.refetch()} />}
      <Gauges standings={standings} />
      <TryIt />
      <LastHour />
    </section>
  );
}

export function Gauges({ standings }: { standings: readonly Standing[] }) {
  return (
    <ul className="gauges">
      {standings.map((standing) => (
        <Gauge key={standing.name} standing={standing} />
      ))}
    </ul>
  );
}

/** Keeps the ledger current. Nothing is asked while the page is hidden. */
export function useLimits(standings: readonly Standing[], live = true) {
  const api = useApi();
  const query = useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => api.limits(signal),
    refetchInterval: pollEvery,
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

// The first time at which one of them will have more than is shown.
function nextChange(standings: readonly Standing[]): number | null {
  const times = standings.map((standing) => standing.moreAt).filter((at) => at !== null);
  return times.length > 0 ? Math.min(...times) : null;
}
