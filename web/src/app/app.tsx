import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { asFailure } from '../api/failure';
import { Budgets } from '../budgets/budgets';
import { Tasks } from '../tasks/tasks';
import { useApi } from './context';
import { Header } from './header';
import { FailureNotice, Notice } from './notice';
import { SignedOut } from './signedout';
import { signInURL } from './signin';

/** The whole page: what it shows depends on who is signed in. */
export function App() {
  const session = useSession();
  const me = session.data?.kind === 'member' ? session.data.me : null;
  return (
    <>
      <Header me={me} />
      <Offline />
      {session.isPending && (
        <main>
          <p className="quiet">Loading…</p>
        </main>
      )}
      {session.error && (
        <main>
          <FailureNotice failure={asFailure(session.error)} onRetry={() => session.refetch()} />
        </main>
      )}
      {session.data?.kind === 'anonymous' && <SignedOut ended={session.data.ended} />}
      {me && <SignedIn key={me.id} />}
    </>
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

type View = 'tasks' | 'budgets';

// A wide window shows both views side by side; a narrow one shows one at a time, and a switch.
function SignedIn() {
  const [view, setView] = useState<View>('tasks');
  const ended = useSessionEnd();
  return (
    <main className="signed-in" data-view={view}>
      <h1 className="hidden">Tasks and budgets</h1>
      {ended && <SessionEnded />}
      <nav className="views" aria-label="Views">
        {(['tasks', 'budgets'] as const).map((name) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name)}>
            {name === 'tasks' ? 'Tasks' : 'Budgets'}
          </button>
        ))}
      </nav>
      <Tasks />
      <Budgets live={!ended} />
    </main>
  );
}

// The page stays as it is, so that nothing that was typed is lost.
function SessionEnded() {
  return (
    <Notice>
      <p>
        Your session has ended. <a href={signInURL}>Sign in again</a>; what you typed above the list is kept.
      </p>
    </Notice>
  );
}

// Whether a call was refused because the session is over. From then on nothing is asked by itself.
function useSessionEnd(): boolean {
  const api = useApi();
  const [ended, setEnded] = useState(false);
  useEffect(() => {
    api.onSessionEnd = () => setEnded(true);
    return () => {
      api.onSessionEnd = () => {};
    };
  }, [api]);
  return ended;
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
