// Shows the whole page against a FakeServer.
import { QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, vi } from 'vitest';
import { Api } from '../api/api';
import { App } from '../app/app';
import { ApiContext } from '../app/context';
import { newQueries } from '../app/queries';
import type { FakeServer } from './fakeserver';

/** Stops the clock for each test of a file; advance() moves it. */
export function stopClock(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    sessionStorage.clear();
    localStorage.clear();
    globalThis.history.replaceState(null, '', '/');
  });
  afterEach(() => {
    cleanup();
    vi.useRealTimers();
  });
}

/** Lets time pass, and everything happen that is due by then. */
export async function advance(milliseconds: number): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(milliseconds));
}

/** Opens a page and waits until it has loaded, with what is loaded for it alone. */
export async function open(server: FakeServer, path?: string): Promise<void> {
  if (path) globalThis.history.replaceState(null, '', path);
  render(
    <ApiContext value={new Api(server.fetch)}>
      <QueryClientProvider client={newQueries()}>
        <App />
      </QueryClientProvider>
    </ApiContext>,
  );
  await settle();
  await act(() => vi.dynamicImportSettled());
  await settle();
}

/** Lets answers arrive and be shown. */
export const settle = (): Promise<void> => advance(20);

export async function click(role: string, name: string | RegExp): Promise<void> {
  fireEvent.click(screen.getByRole(role, { name }));
  await settle();
}

export async function write(label: string, value: string): Promise<void> {
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
  await settle();
}
