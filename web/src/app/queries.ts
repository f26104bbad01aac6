import { QueryClient } from '@tanstack/react-query';

/**
 * What the server said, kept for a while. Nothing is tried again by itself: a refusal says when to, and a fault is shown
 * with a button. Without a network a call fails at once and says so, where it would else wait without a word; what is
 * shown is asked for again when the network is back.
 */
export function newQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: false, staleTime: 10_000, networkMode: 'always', refetchOnReconnect: true },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}
