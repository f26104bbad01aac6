import { Link } from 'wouter';
import { useStandings } from '../app/context';
import { Page } from '../app/page';
import { Gauge } from '../budgets/gauge';
import { useLimits } from '../budgets/limits';
import { Tasks } from './tasks';

// The budgets that the calls of this page are charged to.
const spentHere = ['user', 'org', 'tasks.write', 'tasks.parse', 'tasks.parse.burst', 'ai.tokens', 'tasks.export'];

/** The organisation's tasks, and beside them what working with them spends. live is false once asking would be refused. */
export function TasksPage({ live }: { live: boolean }) {
  return (
    <Page title="Tasks" quietly className="with-aside">
      <Tasks />
      <SpentHere live={live} />
    </Page>
  );
}

function SpentHere({ live }: { live: boolean }) {
  const standings = useStandings().filter(({ name }) => spentHere.includes(name));
  useLimits({ live });
  return (
    <aside className="panel" aria-labelledby="spent-here">
      <div className="row between">
        <h2 id="spent-here">What this spends</h2>
        <Link href="/budgets">All budgets</Link>
      </div>
      <ul className="gauges">
        {standings.map((standing) => (
          <Gauge key={standing.name} standing={standing} />
        ))}
      </ul>
    </aside>
  );
}
