import { QueryClient } from '@tanstack/react-query';

/**
 * What the server said, kept for a while. Nothing is tried again by itself: a refusal says when to, and a fault is shown
 * with a button.
 */
export function newQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: 10_000 }, mutations: { retry: false } },
  });
}
