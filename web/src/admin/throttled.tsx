import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { asFailure } from '../api/failure';
import { FailureNotice } from '../app/notice';
import { budgetLabelOfOthers, number } from '../budgets/words';
import { type ExplainedScope, explainedScopes, type ThrottledKey, useAdmin } from './api';
import { explainHref } from './links';
import { Facts, When } from './list';

/** Whom this process refused most in the last hour. */
export function ThrottledPage() {
  const admin = useAdmin();
  const query = useQuery({ queryKey: ['admin', 'throttled'], queryFn: admin.throttled, refetchInterval: 10_000 });
  return (
    <section className="panel" aria-label="Keys refused most">
      {query.error && <FailureNotice failure={asFailure(query.error)} onRetry={() => query.refetch()} />}
      {query.isPending && <p className="quiet">Loading…</p>}
      {query.data && (
        <p className="quiet">
          As this process counted since <When at={query.data.since} />, the most refused first.
        </p>
      )}
      {query.data?.items.length === 0 && <p className="empty">Nobody was refused.</p>}
      <ul className="records">
        {query.data?.items.map((key) => (
          <li key={`${key.budget} ${key.id}`} className="record">
            <Row of={key} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Row({ of }: { of: ThrottledKey }) {
  const scope = explainedScopes.find((s): s is ExplainedScope => s === of.per);
  const name = of.name || of.id;
  return (
    <>
      <h2 className="record-title">{scope ? <Link href={explainHref(scope, of.id)}>{name}</Link> : name}</h2>
      <Facts
        facts={{
          Budget: budgetLabelOfOthers(of.budget),
          Refused:
            of.overcounted > 0 ? `${number(of.denied - of.overcounted)} to ${number(of.denied)}` : number(of.denied),
          Last: <When at={of.lastAt} />,
        }}
      />
    </>
  );
}
