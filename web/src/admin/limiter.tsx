import { useQuery } from '@tanstack/react-query';
import { QueryNotice } from '../app/notice';
import { budgetLabelOfOthers, number } from '../budgets/words';
import { type LimiterStatus, useAdmin } from './api';
import { Facts, When } from './list';

// A store that fails or comes back is seen soon, at a twelfth of the administrators' budget.
const lookEvery = 5_000;

/** How the limiter of this process is: its stores, and which budgets count in them. */
export function LimiterPage() {
  const admin = useAdmin();
  const query = useQuery({ queryKey: ['admin', 'limiter'], queryFn: admin.limiter, refetchInterval: lookEvery });
  return (
    <>
      <QueryNotice query={query} />
      {query.isPending && <p className="quiet">Loading…</p>}
      {query.data && <Health status={query.data} />}
    </>
  );
}

function Health({ status }: { status: LimiterStatus }) {
  const failing = status.budgets.filter((budget) => budget.outage !== null);
  return (
    <>
      <section className="panel limiter" aria-labelledby="stores">
        <h2 id="stores">Stores</h2>
        <ul className="records">
          {status.stores.map((store) => (
            <li key={store.store} className="record">
              <div className="row between">
                <h3 className="record-title">{store.store}</h3>
                <span className="badge" data-tone={store.breakerOpen ? 'bad' : 'good'}>
                  {store.breakerOpen ? 'not asked for the moment: it failed' : 'answers'}
                </span>
              </div>
              <Facts
                facts={{
                  Breaker: store.breakerOpen ? 'open' : 'closed',
                  'Resets and give-backs': number(store.epoch),
                }}
              />
            </li>
          ))}
        </ul>
        <Facts
          facts={{
            'Keys in memory': number(status.memory.keys),
            'Evicted for want of room': number(status.memory.evictions),
            Table: <code>{status.tableHash}</code>,
          }}
        />
      </section>
      <section className="panel limiter" aria-labelledby="modes">
        <h2 id="modes">Budgets</h2>
        <p className="quiet">
          {failing.length === 0
            ? 'Every budget is counted by its store.'
            : `${number(failing.length)} of ${number(status.budgets.length)} are decided by their mode, because their store fails.`}
        </p>
        <ul className="records">
          {status.budgets.map((budget) => (
            <li key={budget.name} className="record">
              <Budget budget={budget} />
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

const modes: Record<LimiterStatus['budgets'][number]['mode'], string> = {
  open: 'lets requests through',
  local: 'counts in this process',
  closed: 'refuses with 503',
};

function Budget({ budget }: { budget: LimiterStatus['budgets'][number] }) {
  const { outage } = budget;
  return (
    <>
      <div className="row between">
        <h3 className="record-title">
          {budgetLabelOfOthers(budget.name)} <code>{budget.name}</code>
        </h3>
        {outage && (
          <span className="badge" data-tone="bad">
            {modes[budget.mode]} now
          </span>
        )}
        {!budget.enforced && <span className="badge">shadow</span>}
      </div>
      <Facts
        aligned
        facts={{
          'Counted in': budget.store,
          'When that fails': modes[budget.mode],
          Numbers: budget.source === 'file' ? 'this deployment’s file' : 'the table',
          'Failing since': outage && <When at={outage.since} />,
          'Decided so': outage && number(outage.decisions),
          Error: outage?.error ?? null,
        }}
      />
    </>
  );
}
