import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Api } from './api/api';
import { App } from './app/app';
import { ApiContext } from './app/context';
import './styles/page.css';

const root = document.getElementById('app');
if (!root) throw new Error('index.html has no element with the id app');

// Nothing is tried again by itself: a refusal says when to, and a fault is shown with a button.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 10_000 }, mutations: { retry: false } },
});

createRoot(root).render(
  <StrictMode>
    <ApiContext value={new Api()}>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </ApiContext>
  </StrictMode>,
);
