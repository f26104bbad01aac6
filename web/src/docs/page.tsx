import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useApi } from '../app/context';
import { QueryNotice } from '../app/notice';
import { Page } from '../app/page';
import { type Description, shownDescription } from './description';
import { Reference } from './reference';

/** The API's reference, from the server's own description of itself. */
export default function DocsPage() {
  const api = useApi();
  const query = useQuery({
    queryKey: ['openapi'],
    queryFn: async () => (await api.openapi()) as Description,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const description = useMemo(() => query.data && shownDescription(query.data), [query.data]);
  return (
    <Page title="API" className="docs">
      <p className="lead">
        Every route, and the budgets that it charges. Every failure has the body <code>Problem</code>. Calls from this
        page bear a token and never your session. In development <code>bin/server token alice</code> prints one: give it
        to Authorize.
      </p>
      <p>
        <a href="/api/v1/openapi.json">openapi.json</a>, for generators of clients
      </p>
      <QueryNotice query={query} />
      {query.isPending && <p className="quiet">Loading…</p>}
      {description && (
        <section aria-labelledby="routes" className="reference">
          <h2 id="routes">Routes</h2>
          <Reference description={description} />
        </section>
      )}
    </Page>
  );
}
