import { type ReactNode, useEffect, useRef } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { Page } from '../app/page';
import type { AdminPage } from '../app/paths';
import { AuditPage } from './audit';
import { LimiterPage } from './limiter';
import { OrganisationsPage } from './organisations';
import { OverridesPage } from './overrides';
import { PeoplePage } from './people';
import { ProcessPage } from './process';
import { ReportsPage } from './reports';
import { ThrottledPage } from './throttled';
import './admin.css';

const pages: { name: AdminPage | ''; label: string; content: ReactNode }[] = [
  { name: '', label: 'Organisations', content: <OrganisationsPage /> },
  { name: 'overrides', label: 'Overrides', content: <OverridesPage /> },
  { name: 'people', label: 'Explain', content: <PeoplePage /> },
  { name: 'throttled', label: 'Throttled', content: <ThrottledPage /> },
  { name: 'reports', label: 'Reports', content: <ReportsPage /> },
  { name: 'limiter', label: 'Limiter', content: <LimiterPage /> },
  { name: 'process', label: 'Process', content: <ProcessPage /> },
  { name: 'audit', label: 'Audit', content: <AuditPage /> },
];

const href = (name: string) => (name === '' ? '/admin' : `/admin/${name}`);

/** What administrators do: whose budgets are what, who is refused, how the limiter is, and what was done. */
export default function AdminPages() {
  const [path] = useLocation();
  return (
    <Switch>
      {pages.map(({ name, label, content }) => (
        <Route key={name} path={href(name)}>
          <Page title={label} className="admin">
            <Tabs path={path} />
            {content}
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
      {pages.map(({ name, label }) => (
        <Link key={name} href={href(name)} aria-current={path === href(name) ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
