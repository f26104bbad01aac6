import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Api } from './api/api';
import { App } from './app/app';
import { ApiContext } from './app/context';
import { newQueries } from './app/queries';
import './styles/page.css';

const root = document.getElementById('app');
if (!root) throw new Error('index.html has no element with the id app');

createRoot(root).render(
  <StrictMode>
    <ApiContext value={new Api()}>
      <QueryClientProvider client={newQueries()}>
        <App />
      </QueryClientProvider>
    </ApiContext>
  </StrictMode>,
);
