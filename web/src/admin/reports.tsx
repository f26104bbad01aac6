import { Link } from 'wouter';
import { useApi } from '../app/context';
import { page } from './api';
import { explainHref, Person } from './links';
import { Facts, PagedList, When } from './list';

/** What people reported: from each report it is one step to what its author, or the organisation, may spend. */
export function ReportsPage() {
  const api = useApi();
  const load = (cursor: string | null) =>
    api.send('admin.reports.list', (client) => client.GET('/api/v1/admin/reports', page(cursor)));
  return (
    <section className="panel" aria-label="Every report">
      <p className="quiet">
        The names lead to what that person or organisation may spend, and to signing a person out.
      </p>
      <PagedList
        route="admin.reports.list"
        load={load}
        keyOf={(report) => report.id}
        empty="Nobody has reported anything."
      >
        {(report) => (
          <>
            <h2 className="record-title">{report.taskTitle ?? 'A task that is deleted'}</h2>
            <blockquote className="words">{report.reason}</blockquote>
            <Facts
              facts={{
                By: report.reportedBy ? <Person person={report.reportedBy} /> : 'somebody who has left',
                Of: <Link href={explainHref('organisation', report.organisation.id)}>{report.organisation.name}</Link>,
                At: <When at={report.createdAt} />,
                Task: <code>{report.taskId}</code>,
              }}
            />
          </>
        )}
      </PagedList>
    </section>
  );
}
