import type { LimitStatus } from '../api/contract';
import type { Standing } from '../api/ledger';
import { useStandings } from '../app/context';
import { isAdmin } from '../app/me';
import { QueryNotice } from '../app/notice';
import { Page } from '../app/page';
import type { PageProps } from '../app/pages';
import { Gauges } from './gauges';
import { LastHour } from './lasthour';
import { useLimits } from './limits';
import { TryIt } from './tryit';
import { isForAdmins } from './words';

/** Every budget of the caller, followed closely; those of administrators' work are shown to them alone. */
export default function BudgetsPage({ live, me }: PageProps) {
  const standings = useStandings().filter(({ name }) => isAdmin(me) || !isForAdmins(name));
  const query = useLimits({ live, closely: true });
  return (
    <Page title="Budgets" className="budgets">
      <p className="lead">
        What you may still spend, as the server counts it. It changes with each answer; each number says where it comes
        from.
      </p>
      {live && <QueryNotice query={query} />}
      <div className="columns">
        <Group title="Yours" standings={standings} per={['user', 'session', 'address']} />
        <div className="stack">
          <Group title="Shared" standings={standings} per={['organisation', 'global']} />
          <TryIt />
          <LastHour />
        </div>
      </div>
    </Page>
  );
}

interface GroupProps {
  title: string;
  standings: readonly Standing[];
  per: readonly LimitStatus['per'][];
}

function Group({ title, standings, per }: GroupProps) {
  const mine = standings.filter((standing) => per.includes(standing.per));
  if (mine.length === 0) return null;
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <Gauges standings={mine} />
    </section>
  );
}
