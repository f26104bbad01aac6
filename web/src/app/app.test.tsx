// @vitest-environment happy-dom
import { screen } from '@testing-library/react';
import { describe, expect, test, vi } from 'vitest';
import { alice, FakeServer, json, problem, refusal, signedIn, signedOut } from '../testing/fakeserver';
import { advance, click, open, settle, stopClock } from '../testing/page';
import { home } from './pages';

stopClock();

describe('a visitor', () => {
  test('reads what this is, what the limits are, and finds the way in', async () => {
    await open(signedOut());
    expect(screen.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('/api/v1/auth/login?returnTo=/');
    expect(screen.getByRole('meter', { name: 'Your address' }).getAttribute('aria-valuetext')).toBe('97 of 100 left');
    const row = screen.getByRole('heading', { name: 'All your requests' }).closest('li');
    expect(row?.textContent).toContain('100 a minute for each person');
  });

  test.each([
    ['denied', 'The sign-in was declined.'],
    ['unavailable', 'could not be reached'],
    ['something-new', 'The sign-in failed.'],
  ])('is told why a sign-in failed, once: %s', async (code, text) => {
    await open(signedOut(), `/?signin=${code}`);
    expect(screen.getByRole('alert').textContent).toContain(text);
    expect(globalThis.location.search).toBe('');
  });

  test('is told it too where the first load is refused, until it is loaded and after', async () => {
    const server = new FakeServer().on('GET /api/v1/limits', () => refusal('edge', 1000));
    await open(server, '/?signin=denied');
    expect(screen.getByRole('alert').textContent).toContain('The sign-in was declined.');
    server.on('GET /api/v1/limits', () => json({ caller: { kind: 'address' }, budgets: [] }));
    await advance(1100);
    await settle();
    expect(screen.getByRole('heading', { name: 'Before sign-in' })).toBeTruthy();
    expect(screen.getByRole('alert').textContent).toContain('The sign-in was declined.');
  });

  test('whose session is over is told so', async () => {
    const server = new FakeServer().on('GET /api/v1/limits', (request) =>
      request.credentials === 'omit'
        ? json({ caller: { kind: 'address' }, budgets: [] })
        : problem(401, 'AUTH_FAILED', 'Authentication failed.'),
    );
    await open(server);
    expect(screen.getByText(/Your session has ended/)).toBeTruthy();
    expect(screen.getByRole('link', { name: 'Sign in' })).toBeTruthy();
  });

  test('finds a server that is starting, waits as told, and then gets in', async () => {
    const server = new FakeServer().on('GET /api/v1/limits', () =>
      problem(503, 'UNAVAILABLE', 'The server is starting.', { retryAfter: 5000 }),
    );
    await open(server);
    expect(screen.getByText('The server is starting.')).toBeTruthy();
    expect(screen.getByRole('button', { name: 'Try again in 5 s' })).toHaveProperty('disabled', true);
    await advance(5000);
    server.on('GET /api/v1/limits', () => json({ caller: { kind: 'address' }, budgets: [] }));
    await click('button', 'Try again');
    expect(screen.getByRole('link', { name: 'Sign in' })).toBeTruthy();
  });
});

describe('a first load that is refused', () => {
  test('of an address whose budget is spent shows what anybody may read, and is tried once more when its time is up', async () => {
    const server = new FakeServer().on('GET /api/v1/limits', () => refusal('edge', 3000));
    await open(server);
    expect(screen.getByRole('button', { name: 'Try again in 3 s' })).toHaveProperty('disabled', true);
    expect(screen.getByRole('heading', { name: 'What the limits are' })).toBeTruthy();
    expect(screen.queryByRole('heading', { name: 'Before sign-in' })).toBeNull();
    await advance(2000);
    expect(server.count('GET /api/v1/limits')).toBe(1);
    await advance(1100);
    expect(server.count('GET /api/v1/limits')).toBe(2);
    await advance(60_000);
    expect(server.count('GET /api/v1/limits')).toBe(2);
    server.on('GET /api/v1/limits', () => json({ caller: { kind: 'address' }, budgets: [] }));
    await click('button', 'Try again');
    expect(screen.getByRole('heading', { name: 'Before sign-in' })).toBeTruthy();
    expect(screen.getByRole('link', { name: 'Sign in' })).toBeTruthy();
  });

  test('of somebody whose own budget is spent gets in by itself', async () => {
    const server = signedIn().on('GET /api/v1/me', () => refusal('user', 2000));
    await open(server);
    expect(screen.getByText('All your requests', { selector: '.notice b' })).toBeTruthy();
    server.on('GET /api/v1/me', () => json(alice));
    await advance(1010);
    await advance(1010);
    await settle();
    expect(screen.getByText('Alice Archer')).toBeTruthy();
  });
});

describe('a page whose browser somebody else has signed in to', () => {
  const carol = '0199aaaa-0000-7000-8000-0000000000c1';

  test('is told by the other tab, and sends nothing more', async () => {
    const server = signedIn();
    await open(server);
    localStorage.setItem('signed-in-as', carol);
    globalThis.dispatchEvent(new StorageEvent('storage', { key: 'signed-in-as' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('This page was loaded for Alice Archer');
    const asked = server.asked.length;
    await click('button', 'Sign out');
    await advance(120_000);
    expect(server.asked.length).toBe(asked);
  });

  test('looks at the note before each call, though nobody told it', async () => {
    const server = signedIn().on('POST /api/v1/auth/logout', () => json({ endSessionUrl: null }));
    await open(server);
    localStorage.setItem('signed-in-as', carol);
    await click('button', 'Sign out');
    expect(server.count('POST /api/v1/auth/logout')).toBe(0);
    expect(screen.getByRole('button', { name: 'Load the page anew' })).toBeTruthy();
  });

  test('who is signed out in another tab is told at once, and goes on once they are back', async () => {
    const server = signedIn();
    await open(server, '/budgets');
    const note = async (person: string | null) => {
      if (person) localStorage.setItem('signed-in-as', person);
      else localStorage.removeItem('signed-in-as');
      globalThis.dispatchEvent(new StorageEvent('storage', { key: 'signed-in-as' }));
      await settle();
    };
    await note(null);
    expect(screen.getByRole('link', { name: 'Sign in again' })).toBeTruthy();
    expect(screen.queryByText(/above the list/)).toBeNull();
    const asked = server.asked.length;
    await advance(120_000);
    expect(server.asked.length).toBe(asked);
    await note(alice.id);
    expect(screen.queryByRole('link', { name: 'Sign in again' })).toBeNull();
    await note(null);
    await note(carol);
    expect(screen.getByRole('alert').textContent).toContain('Somebody else is signed in');
  });

  test('learns it from the server where no note was left', async () => {
    const server = signedIn();
    await open(server);
    server.on('GET /api/v1/limits', () => json({ caller: { kind: 'user', userId: carol }, budgets: [] }));
    document.dispatchEvent(new Event('visibilitychange'));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('Somebody else is signed in');
  });
});

describe('somebody signed in', () => {
  test('arrives at the first page of the app, and the other pages are beside it', async () => {
    await open(signedIn());
    expect(globalThis.location.pathname).toBe(home.path);
    expect(screen.getByRole('heading', { level: 1, name: home.label })).toBeTruthy();
    expect(screen.getByRole('link', { name: home.label }).getAttribute('aria-current')).toBe('page');
    await click('link', 'Budgets');
    await vi.dynamicImportSettled();
    await settle();
    expect(screen.getByRole('heading', { level: 1, name: 'Budgets' })).toBeTruthy();
  });

  test('who is nowhere is led home', async () => {
    await open(signedIn(), '/nowhere');
    const way = screen.getByRole('link', { name: `Go to ${home.label}` });
    expect(way.getAttribute('href')).toBe(home.path);
  });

  test('sees who they are and their budgets, each asked for once', async () => {
    const server = signedIn();
    await open(server, '/budgets');
    expect(screen.getByText('Alice Archer')).toBeTruthy();
    expect(screen.getByRole('meter', { name: 'All your requests' }).getAttribute('aria-valuenow')).toBe('88');
    expect(server.count('GET /api/v1/limits')).toBe(1);
    expect(server.count('GET /api/v1/me')).toBe(1);
  });

  test('whose session ends keeps the page, and nothing is asked any more', async () => {
    const server = signedIn();
    await open(server, '/budgets');
    server.on('GET /api/v1/limits', () => problem(401, 'AUTH_FAILED', 'Authentication failed.'));
    await advance(1100);
    expect(screen.getByRole('link', { name: 'Sign in again' })).toBeTruthy();
    expect(screen.getByRole('meter', { name: 'All your requests' })).toBeTruthy();
    const asked = server.asked.length;
    await advance(120_000);
    expect(server.asked.length).toBe(asked);
  });

  test('signs out, and is sent to the issuer’s own page for it', async () => {
    const assign = vi.spyOn(globalThis.location, 'assign').mockImplementation(() => {});
    await open(signedIn().on('POST /api/v1/auth/logout', () => json({ endSessionUrl: '/dev/idp/logout' })));
    await click('button', 'Sign out');
    expect(assign).toHaveBeenCalledWith('/dev/idp/logout');
  });

  test('who is offline is told', async () => {
    await open(signedIn());
    vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false);
    globalThis.dispatchEvent(new Event('offline'));
    await settle();
    expect(screen.getByText(/You are offline/)).toBeTruthy();
    vi.restoreAllMocks();
    globalThis.dispatchEvent(new Event('online'));
    await settle();
    expect(screen.queryByText(/You are offline/)).toBeNull();
  });
});
