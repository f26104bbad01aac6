import { type AuditEntry, useAdmin } from './api';
import { Person } from './links';
import { Facts, PagedList, When } from './list';

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
        {entry.action} <small className="quiet">{entry.target}</small>
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

// As name: value, which is what somebody looks for; null where there was nothing.
function state(values: Record<string, unknown> | null) {
  if (values === null) return null;
  const known = Object.entries(values).filter(([, value]) => value !== null);
  return known
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ');
}
