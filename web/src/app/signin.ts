import { useState } from 'react';
import { useLocation } from 'wouter';

/** Where signing in begins. The server brings the browser back to the page that is shown. */
export function useSignInURL(): string {
  const [path] = useLocation();
  return `/api/v1/auth/login?returnTo=${encodeURI(path)}`;
}

// What /?signin=CODE means: the codes of internal/auth/signin.go, each with what to do about it.
const reasons: Record<string, string> = {
  expired: 'That sign-in took too long, or its answer was used before. Sign in again.',
  denied: 'The sign-in was declined. Sign in again, or as somebody else.',
  refused: 'The sign-in service turned the request down. Sign in again; if it goes on, tell whoever runs this server.',
  invalid: 'The sign-in service sent an answer that cannot be trusted, so it was not used. Sign in again.',
  busy: 'Too much was asked for from your address, so the sign-in was not let through. Wait a minute, then sign in again.',
  unavailable: 'The sign-in service or the database could not be reached. Wait a moment, then sign in again.',
};

/**
 * Why a sign-in failed that has led to this page; null when none did. The code is taken out of the address, so that a reload
 * does not say it again.
 */
export function useSignInFailure(): string | null {
  const [failure] = useState(() => {
    const found = signInFailure(globalThis.location.search);
    if (found !== null) globalThis.history.replaceState(null, '', globalThis.location.pathname);
    return found;
  });
  return failure;
}

function signInFailure(search: string): string | null {
  const code = new URLSearchParams(search).get('signin');
  if (code === null) return null;
  return reasons[code] ?? 'The sign-in failed. Sign in again.';
}
