// What there is to see: each page of the app with something on it. The tests hold each to the rules, and
// `make screenshots` takes its picture.
import type { Page } from 'playwright-core';
import { goTo, type Person } from './stage';

export interface Scene {
  name: string;
  path: string;
  /** Who looks; empty for a visitor. */
  person: Person | '';
  open: (page: Page) => Promise<void>;
}

const text = 'Call the dentist tomorrow at 9 #health !high\nBuy milk\nWater the plants on Friday #home';

async function save(page: Page): Promise<void> {
  await page.getByLabel('What is to be done?').fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^Save \d tasks$/ }).click();
  await page.getByRole('button', { name: /^Save \d tasks$/ }).waitFor({ state: 'detached' });
}

// Calls a route as the page does, with the session of whoever looks; gives the answer's body.
function call<T>(page: Page, method: string, path: string, body?: object): Promise<T> {
  return page.evaluate(
    async ([verb, where, text]) => {
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch(`/api/v1/${where}`, { method: verb, headers, ...(text ? { body: text } : {}) })).json();
    },
    [method, path, body ? JSON.stringify(body) : ''] as const,
  );
}

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
      await page.locator('.opblock-summary-control').filter({ hasText: 'tasks/parse' }).click();
      await page.getByRole('button', { name: 'Try it out' }).click();
    },
  },
  {
    name: 'tasks',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await save(page);
      await page.getByRole('checkbox').first().waitFor();
    },
  },
  {
    name: 'drafts',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await page.getByLabel('What is to be done?').fill(text);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Save 3 tasks' }).waitFor();
    },
  },
  {
    name: 'report',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await page
        .getByRole('button', { name: /^Report / })
        .first()
        .click();
      await page.getByRole('dialog').waitFor();
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
      await call(page, 'PUT', `admin/overrides/user/${me.id}/tasks.export`, {
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
    // More in a second than the burst allows.
    open: async (page) => {
      await goTo(page, '/admin/throttled');
      const draft = { text: 'Buy milk', timezone: 'UTC' };
      await Promise.all(Array.from({ length: 6 }, () => call(page, 'POST', 'tasks/parse', draft)));
      await page.reload();
      await page.getByText('Reading, each second').first().waitFor();
    },
  },
  {
    name: 'reports',
    path: '/admin/reports',
    person: 'Root',
    open: async (page) => {
      await goTo(page, '/admin/reports');
      const task = await call<{ id: string }>(page, 'POST', 'tasks', { title: 'Get rich with these three tricks' });
      const reason = 'This is advertising, and no task of ours.\nThe same was posted twice last week.';
      await call(page, 'POST', 'reports', { taskId: task.id, reason });
      await page.reload();
      await page.getByText('This is advertising').first().waitFor();
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
