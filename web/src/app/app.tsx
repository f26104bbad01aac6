import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, useEffect, useSyncExternalStore } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import type { Session } from '../api/api';
import type { Me } from '../api/contract';
import { asFailure } from '../api/failure';
import { type Holder, identityKey } from '../api/identity';
import { useApi } from './context';
import { Header } from './header';
import { Later } from './later';
import { Notice, QueryNotice } from './notice';
import { Page } from './page';
import { home, pagesOf } from './pages';
import { SignedOut } from './signedout';
import { useSignInFailure, useSignInURL } from './signin';

const DocsPage = lazy(() => import('../docs/page'));

/** The whole app: what it shows depends on the path, and on who is signed in. */
export function App() {
  const session = useSession();
  const failure = useSignInFailure();
  const me = session.data?.kind === 'member' ? session.data.me : null;
  return (
    <>
      <Header me={me} />
      <Offline />
      <Switch>
        <Route path="/index.html">
          <Redirect to="/" replace />
        </Route>
        <Route path="/docs">
          <Later>
            <DocsPage />
          </Later>
        </Route>
        <Route>
          {session.data ? (
            <Loaded session={session.data} failure={failure} />
          ) : (
            <NotLoaded query={session} failure={failure} />
          )}
        </Route>
      </Switch>
    </>
  );
}

function Loaded({ session, failure }: { session: Session; failure: string | null }) {
  return session.kind === 'member' ? (
    <SignedIn key={session.me.id} me={session.me} />
  ) : (
    <main className="signed-out">
      <SignedOut failure={failure} ended={session.ended} />
    </main>
  );
}

// Where the question of who this is was refused, there is what anybody may read all the same.
function NotLoaded({ query, failure }: { query: UseQueryResult<Session>; failure: string | null }) {
  const refused = query.error !== null && asFailure(query.error).code === 'RATE_LIMIT_EXCEEDED';
  return (
    <main className={refused ? 'signed-out' : undefined}>
      <QueryNotice query={query} />
      {query.isPending && <p className="quiet">Loading…</p>}
      {refused && <SignedOut failure={failure} ended={false} asked={false} />}
    </main>
  );
}

// Who is signed in is found out once. Their budgets come with the same answer, and are not asked for a second time.
function useSession() {
  const api = useApi();
  const client = useQueryClient();
  return useQuery({
    queryKey: ['session'],
    queryFn: async () => {
      const session = await api.session();
      client.setQueryData(['limits'], session.limits);
      return session;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function SignedIn({ me }: { me: Me }) {
  const holder = useHolder();
  return (
    <>
      {holder === 'other' && <OtherPerson me={me} />}
      {holder === 'nobody' && <SessionEnded me={me} />}
      <Switch>
        {pagesOf(me).map(({ path, pattern, Content }) => (
          <Route key={path} path={pattern ?? path}>
            <Later>
              <Content live={holder === 'same'} me={me} />
            </Later>
          </Route>
        ))}
        <Route path="/">
          <Redirect to={home.path} replace />
        </Route>
        <Route>
          <NotFound />
        </Route>
      </Switch>
    </>
  );
}

// The page stays as it is, so that nothing that was typed is lost.
function SessionEnded({ me }: { me: Me }) {
  const signInURL = useSignInURL();
  const [path] = useLocation();
  const kept = pagesOf(me).find((page) => page.path === path)?.kept;
  return (
    <Notice>
      <p>
        Your session has ended. <a href={signInURL}>Sign in again</a> to go on.
      </p>
      {kept && <p>{kept}</p>}
    </Notice>
  );
}

// Nothing leaves this page any more, since it would be done in another's name.
function OtherPerson({ me }: { me: Me }) {
  return (
    <Notice tone="fault">
      <p>
        Somebody else is signed in in this browser by now. This page was loaded for {me.name || me.email || 'another'},
        so nothing more is sent from here.
      </p>
      <div className="row">
        <button type="button" className="button" onClick={() => globalThis.location.reload()}>
          Load the page anew
        </button>
      </div>
    </Notice>
  );
}

function NotFound() {
  return (
    <Page title="There is nothing here">
      <p>
        The address may be mistyped. <Link href={home.path}>Go to {home.label}</Link>
      </p>
    </Page>
  );
}

// Whose session the browser has by now. From the moment on that it is not this person's nothing is asked by itself. Another
// tab's note says so at once; who comes back to this tab has the server asked too, for what left no note.
function useHolder(): Holder {
  const api = useApi();
  const { identity } = api;
  useEffect(() => {
    const noted = ({ key }: StorageEvent) => {
      if (key === identityKey) identity.noted();
    };
    const seen = () => {
      if (!document.hidden) api.limits().catch(() => {}); // Where it fails, what is done next says so.
    };
    globalThis.addEventListener('storage', noted);
    document.addEventListener('visibilitychange', seen);
    return () => {
      globalThis.removeEventListener('storage', noted);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [api, identity]);
  return useSyncExternalStore(identity.subscribe, identity.snapshot);
}

function Offline() {
  const online = useSyncExternalStore(subscribeOnline, () => navigator.onLine);
  return online ? null : (
    <Notice>You are offline. What you see may be old; it is brought up to date when you are back.</Notice>
  );
}

function subscribeOnline(listener: () => void): () => void {
  globalThis.addEventListener('online', listener);
  globalThis.addEventListener('offline', listener);
  return () => {
    globalThis.removeEventListener('online', listener);
    globalThis.removeEventListener('offline', listener);
  };
}
