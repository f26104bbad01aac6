import { Link } from 'wouter';
import { budgetLabelOfOthers, number } from '../budgets/words';
import { type AuditEntry, explainedScopes, useAdmin } from './api';
import { explainHref, Person } from './links';
import { Facts, PagedList, When, whenText } from './list';

/** What administrators did, newest first. */
export function AuditPage() {
  const admin = useAdmin();
  return (
    <section className="panel" aria-label="What was done">
      <PagedList
        route="admin.audit.list"
        load={admin.audit}
        keyOf={(entry) => entry.id}
        empty="No administrator has done anything."
      >
        {(entry) => <Entry entry={entry} />}
      </PagedList>
    </section>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  return (
    <>
      <h2 className="record-title">
        {entry.action}{' '}
        <small className="quiet">
          <Target of={entry.target} />
        </small>
      </h2>
      {entry.reason && <p className="words">{entry.reason}</p>}
      <Facts
        facts={{
          By: <Person person={entry.actor} />,
          At: <When at={entry.at} />,
          Before: state(entry.before),
          After: state(entry.after),
          Request: <code>{entry.requestId}</code>,
        }}
      />
    </>
  );
}

// What it was done to: "user/id", "user/id/budget", or a thing of one word. The id of a network has a slash in it.
function Target({ of }: { of: string }) {
  const [kind = '', ...rest] = of.split('/');
  const budget = rest.length > 1 ? rest.pop() : undefined;
  const id = rest.join('/');
  const scope = explainedScopes.find((s) => s === kind);
  const name = id === 'global' ? 'everyone together' : `${kind} ${id}`.trim();
  return (
    <>
      {scope ? <Link href={explainHref(scope, id)}>{name}</Link> : name}
      {budget && ` · ${budgetLabelOfOthers(budget)}`}
    </>
  );
}

// What it was, in words; null where there was nothing. The reason stands above already.
function state(values: Record<string, unknown> | null): string | null {
  if (values === null) return null;
  const words = Object.entries(values).flatMap(([name, value]) => (name === 'reason' ? [] : wordsOf(name, value)));
  return words.length > 0 ? words.join(', ') : null;
}

function wordsOf(name: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (name === 'unlimited') return value ? ['unlimited'] : [];
  if (name === 'enforce') return [value ? 'enforced' : 'in shadow'];
  if (name === 'expiresAt') return [`until ${whenText(String(value))}`];
  if (name === 'refillPerSecond') return [`${number(Number(value))}/s`];
  if (typeof value === 'number') return [`${name} ${number(value)}`];
  return [`${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`];
}
