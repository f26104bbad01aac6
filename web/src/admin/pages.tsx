import { type ReactNode, useEffect, useRef } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { Page } from '../app/page';
import { type AdminPage, adminPages, adminPath } from '../app/paths';
import { AuditPage } from './audit';
import { LimiterPage } from './limiter';
import { OrganisationsPage } from './organisations';
import { OverridesPage } from './overrides';
import { PeoplePage } from './people';
import { ProcessPage } from './process';
import { ReportsPage } from './reports'; // example:line
import { ThrottledPage } from './throttled';
import './admin.css';

const contents: Record<AdminPage, ReactNode> = {
  '': <OrganisationsPage />,
  overrides: <OverridesPage />,
  people: <PeoplePage />,
  throttled: <ThrottledPage />,
  reports: <ReportsPage />, // example:line
  limiter: <LimiterPage />,
  process: <ProcessPage />,
  audit: <AuditPage />,
};

const names = Object.keys(adminPages) as AdminPage[];

/** What administrators do: whose budgets are what, who is refused, how the limiter is, and what was done. */
export default function AdminPages() {
  const [path] = useLocation();
  return (
    <Switch>
      {names.map((name) => (
        <Route key={name} path={adminPath(name)}>
          <Page title={adminPages[name]} className="admin">
            <Tabs path={path} />
            {contents[name]}
          </Page>
        </Route>
      ))}
      <Route>
        <Redirect to="/admin" replace />
      </Route>
    </Switch>
  );
}

function Tabs({ path }: { path: string }) {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    row.current?.querySelector(`[href="${path}"]`)?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [path]);
  return (
    <nav ref={row} className="pages sub" aria-label="Admin pages">
      {names.map((name) => (
        <Link key={name} href={adminPath(name)} aria-current={path === adminPath(name) ? 'page' : undefined}>
          {adminPages[name]}
        </Link>
      ))}
    </nav>
  );
}
