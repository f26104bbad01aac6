import { useAdmin } from './api';
import { Person } from './links';
import { Facts, PagedList, When } from './list';

/** What people reported. */
export function ReportsPage() {
  const admin = useAdmin();
  return (
    <section className="panel" aria-label="Every report">
      <PagedList
        route="admin.reports.list"
        load={admin.reports}
        keyOf={(report) => report.id}
        empty="Nobody has reported anything."
      >
        {(report) => (
          <>
            <h2 className="record-title">{report.taskTitle ?? 'A task that is deleted'}</h2>
            <p className="words">{report.reason}</p>
            <Facts
              facts={{
                By: report.reportedBy ? <Person person={report.reportedBy} /> : 'somebody who has left',
                Of: report.organisation.name,
                At: <When at={report.createdAt} />,
              }}
            />
          </>
        )}
      </PagedList>
    </section>
  );
}
