import { useMutation } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import type { Me } from '../api/contract';
import { asFailure } from '../api/failure';
import { useApi } from './context';
import { FailureNotice } from './notice';
import { product } from './page';
import { pagesOf } from './pages';

/** The bar on top: the name of the house, its pages, and who is in it. */
export function Header({ me }: { me: Me | null }) {
  return (
    <header className="bar">
      <Link className="brand" href="/">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M3 3h6v4h4V3h6v4h4V3h6v26h-8v-7a5 5 0 0 0-10 0v7H3z" />
        </svg>
        {product}
      </Link>
      <Pages me={me} />
      {me && <Account me={me} />}
    </header>
  );
}

// A visitor has the API's description to read; the rest is for who is signed in, and the last for administrators.
function Pages({ me }: { me: Me | null }) {
  const pages = [...(me ? pagesOf(me) : []), { path: '/docs', label: 'API' }];
  const [path] = useLocation();
  const current = (href: string) => (href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`));
  return (
    <nav className="pages" aria-label="Pages">
      {pages.map(({ path: href, label }) => (
        <Link key={href} href={href} aria-current={current(href) ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  );
}

function Account({ me }: { me: Me }) {
  const api = useApi();
  const signOut = useMutation({
    mutationFn: (everywhere: boolean) => api.signOut(everywhere),
    onSuccess: (endSessionURL) => {
      sessionStorage.clear(); // What was typed is nobody else's to read.
      globalThis.location.assign(endSessionURL ?? '/');
    },
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
          <small className="quiet">
            Id <code>{me.id}</code>
          </small>
          {me.sessionExpiresAt && (
            <small className="quiet">
              Signed in until {new Date(me.sessionExpiresAt).toLocaleDateString(undefined, { dateStyle: 'medium' })} at
              the latest
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
