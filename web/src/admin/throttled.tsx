import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { QueryNotice } from '../app/notice';
import { budgetLabelOfOthers, number } from '../budgets/words';
import { type ExplainedScope, explainedScopes, type ShadowedKey, type ThrottledKey, useAdmin } from './api';
import { explainHref } from './links';
import { Facts, When } from './list';

/** Whom this process refused most in the last hour, and whom budgets in shadow would have. */
export function ThrottledPage() {
  const admin = useAdmin();
  const query = useQuery({ queryKey: ['admin', 'throttled'], queryFn: admin.throttled, refetchInterval: 10_000 });
  const { since, items = [], shadows = [] } = query.data ?? {};
  return (
    <>
      <section className="panel" aria-label="Keys refused most">
        <QueryNotice query={query} />
        {query.isPending && <p className="quiet">Loading…</p>}
        {since && (
          <p className="quiet">
            As this process counted since <When at={since} />, the most refused first.
          </p>
        )}
        {since && items.length === 0 && <p className="empty">Nobody was refused.</p>}
        <Rows keys={items} />
      </section>
      {shadows.length > 0 && (
        <section className="panel" aria-labelledby="in-shadow">
          <h2 id="in-shadow">In shadow</h2>
          <p className="quiet">Whom budgets that only count would have refused. Nobody here was refused for it.</p>
          <Rows keys={shadows} />
        </section>
      )}
    </>
  );
}

function Rows({ keys }: { keys: readonly (ThrottledKey | ShadowedKey)[] }) {
  if (keys.length === 0) return null;
  return (
    <ul className="records">
      {keys.map((key) => (
        <li key={`${key.budget} ${key.id}`} className="record">
          <Row of={key} />
        </li>
      ))}
    </ul>
  );
}

function Row({ of }: { of: ThrottledKey | ShadowedKey }) {
  const scope = explainedScopes.find((s): s is ExplainedScope => s === of.per);
  const name = of.name || (of.per === 'global' ? 'Everyone together' : of.id);
  return (
    <>
      <h2 className="record-title">{scope ? <Link href={explainHref(scope, of.id)}>{name}</Link> : name}</h2>
      <Facts
        facts={{
          Budget: budgetLabelOfOthers(of.budget),
          ...('denied' in of
            ? { Refused: between(of.denied - of.overcounted, of.denied) }
            : { 'Would have been refused': between(of.wouldDeny - of.overcounted, of.wouldDeny) }),
          Last: <When at={of.lastAt} />,
        }}
      />
    </>
  );
}

function between(least: number, most: number): string {
  return least < most ? `${number(least)} to ${number(most)}` : number(most);
}
