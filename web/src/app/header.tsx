import { useMutation } from '@tanstack/react-query';
import type { Me } from '../api/contract';
import { asFailure } from '../api/failure';
import { useApi } from './context';
import { FailureNotice } from './notice';

/** The bar on top: the name of the house, and who is in it. */
export function Header({ me }: { me: Me | null }) {
  return (
    <header className="bar">
      <a className="brand" href="/">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M3 3h6v4h4V3h6v4h4V3h6v26h-8v-7a5 5 0 0 0-10 0v7H3z" />
        </svg>
        Gatehouse
      </a>
      {me && <Account me={me} />}
    </header>
  );
}

function Account({ me }: { me: Me }) {
  const api = useApi();
  const signOut = useMutation({
    mutationFn: (everywhere: boolean) => api.signOut(everywhere),
    onSuccess: (endSessionURL) => globalThis.location.assign(endSessionURL ?? '/'),
  });
  return (
    <>
      <button type="button" className="account" popoverTarget="account-menu">
        <span className="account-name">{me.name || me.email || 'You'}</span>
        <small>{organisation(me)}</small>
      </button>
      <div id="account-menu" className="account-menu" popover="auto">
        <p>
          {me.email && <span className="email">{me.email}</span>}
          {me.sessionExpiresAt && (
            <small className="quiet">
              Signed in until {new Date(me.sessionExpiresAt).toLocaleDateString()} at the latest
            </small>
          )}
        </p>
        <button type="button" className="button" disabled={signOut.isPending} onClick={() => signOut.mutate(false)}>
          Sign out
        </button>
        <button
          type="button"
          className="button quiet"
          disabled={signOut.isPending}
          onClick={() => signOut.mutate(true)}
        >
          Sign out everywhere
        </button>
        {signOut.error && <FailureNotice failure={asFailure(signOut.error)} />}
      </div>
    </>
  );
}

// Somebody without an organisation has one of their own, which bears their name: once is enough.
function organisation({ name, organisation: org }: Me): string {
  return org.name === name ? org.plan : `${org.name} · ${org.plan}`;
}
