// What there is to see: each page of the app with something on it. The tests hold each to the rules, and
// `make screenshots` takes its picture.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { identityKey } from '../src/api/identity';
import { call, refusing, type Scene } from './scene';
import { goTo } from './stage';
import { taskScenes } from './taskscenes'; // example:line

const admin = (name: string, path: string, waitFor: (page: Page) => Promise<void>): Scene => ({
  name,
  path,
  person: 'Root',
  open: async (page) => {
    await goTo(page, path);
    await waitFor(page);
  },
});

export const scenes: Scene[] = [
  ...taskScenes, // example:line
  {
    name: 'signed out',
    path: '/',
    person: '',
    open: async (page) => {
      await goTo(page, '/');
      await page.getByRole('meter').first().waitFor();
    },
  },
  {
    name: 'api',
    path: '/docs',
    person: '',
    open: async (page) => {
      await goTo(page, '/docs');
      await page.locator('.opblock-summary-control').filter({ hasText: 'orgs/{id}/plan' }).click();
      await page.getByRole('button', { name: 'Try it out' }).click();
    },
  },
  {
    name: 'refused load',
    path: '/',
    person: '',
    open: (page) =>
      refusing(page, { path: 'limits', budget: 'edge' }, async () => {
        await page.goto('/');
        await page.getByRole('button', { name: /^Try again in/ }).waitFor();
      }),
  },
  // The next one loads the page anew.
  {
    name: 'another person',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await page.goto('/');
      await page.getByRole('button', { name: 'Carol Carter' }).waitFor();
      await page.evaluate((key) => {
        localStorage.setItem(key, 'somebody else');
        dispatchEvent(new StorageEvent('storage', { key }));
      }, identityKey);
      await page.getByText(/Somebody else is signed in/).waitFor();
    },
  },
  {
    name: 'account',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await page.getByRole('button', { name: 'Carol Carter' }).click();
      await page.getByRole('button', { name: 'Sign out everywhere' }).waitFor();
    },
  },
  {
    name: 'budgets',
    path: '/budgets',
    person: 'Carol Carter',
    // To the end of a budget, where the page holds a call back.
    open: async (page) => {
      await goTo(page, '/budgets');
      const button = page.getByRole('button', { name: 'Spend one', exact: true });
      const spent = page.getByRole('button', { name: /^Spend one in (\d\d s|1 min)/ }); // For a minute, and not for a second.
      for (await button.waitFor(); !(await spent.isVisible()); await button.or(spent).waitFor()) await button.click();
      await page.getByText(/so this page did not even ask/).waitFor();
    },
  },
  admin('organisations', '/admin', (page) =>
    page
      .getByRole('button', { name: /^Change plan/ })
      .first()
      .waitFor(),
  ),
  {
    name: 'override',
    path: '/admin/overrides',
    person: 'Root',
    open: async (page) => {
      await goTo(page, '/admin/overrides');
      await page.getByRole('button', { name: 'New override' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'overrides',
    path: '/admin/overrides',
    person: 'Root',
    open: async (page) => {
      await goTo(page, '/admin/overrides');
      const me = await call<{ id: string; organisation: { id: string } }>(page, 'GET', 'me');
      await call(page, 'PUT', `admin/overrides/user/${me.id}/user`, {
        limit: 40,
        enforce: false,
        expiresAt: new Date(Date.now() + 7 * 86_400_000).toISOString(),
        reason: 'The yearly hand-over: to be seen in shadow before anybody is refused.',
      });
      await call(page, 'PUT', `admin/overrides/organisation/${me.organisation.id}/org`, {
        limit: 1200,
        refillPerSecond: 20,
        enforce: true,
        reason: 'They grew.',
      });
      await page.reload();
      await page.getByText('They grew.').first().waitFor();
    },
  },
  {
    name: 'explain',
    path: '/admin/people',
    person: 'Root',
    open: async (page) => {
      await goTo(page, '/admin/people');
      const { id } = await call<{ id: string }>(page, 'GET', 'me');
      await goTo(page, `/admin/people?scope=user&id=${id}`);
      await page.getByRole('heading', { name: 'Root', exact: true }).waitFor();
    },
  },
  {
    name: 'throttled',
    path: '/admin/throttled',
    person: 'Root',
    // A budget of nothing, until somebody was refused by it.
    open: async (page) => {
      await goTo(page, '/admin/throttled');
      const { id } = await call<{ id: string }>(page, 'GET', 'me');
      const override = `admin/overrides/user/${id}/user`;
      await call(page, 'PUT', override, { limit: 0, enforce: true, reason: 'To be refused' });
      const code = async () => (await call<{ code?: string }>(page, 'GET', 'org')).code;
      await expect.poll(code, { interval: 250, timeout: 100_000 }).toBe('RATE_LIMIT_EXCEEDED');
      await call(page, 'DELETE', `${override}?reason=It+was`);
      await expect.poll(code, { interval: 250, timeout: 100_000 }).toBe(undefined);
      await page.reload();
      await page.getByRole('region', { name: 'Keys refused most' }).getByText('All requests').first().waitFor();
    },
  },
  {
    name: 'process',
    path: '/admin/process',
    person: 'Root',
    open: async (page) => {
      await goTo(page, '/admin/process');
      await page.getByRole('button', { name: 'Get the stacks' }).click();
      await page.getByLabel('Reason, for the audit').fill('To see what it waits for');
      await page.getByRole('dialog').getByRole('button', { name: 'Get the stacks' }).click();
      await page.getByText('goroutines.txt').waitFor();
      await page.getByText(/^Read \d+ goroutines here$/).click();
    },
  },
  admin('limiter', '/admin/limiter', (page) => page.getByRole('heading', { name: 'Stores' }).waitFor()),
  admin('audit', '/admin/audit', (page) => page.getByRole('heading', { name: 'Audit' }).waitFor()),
];
