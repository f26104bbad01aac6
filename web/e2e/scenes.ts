// What there is to see: each page of the app with something on it. The tests hold each to the rules, and
// `make screenshots` takes its picture.
import type { Page } from 'playwright-core';

export interface Scene {
  name: string;
  path: string;
  /** Who looks; empty for a visitor. */
  person: string;
  open: (page: Page) => Promise<void>;
}

const text = 'Call the dentist tomorrow at 9 #health !high\nBuy milk\nWater the plants on Friday #home';

async function save(page: Page): Promise<void> {
  await page.getByLabel('What is to be done?').fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^Save \d tasks$/ }).click();
  await page.getByRole('button', { name: /^Save \d tasks$/ }).waitFor({ state: 'detached' });
}

const admin = (name: string, path: string, waitFor: (page: Page) => Promise<void>): Scene => ({
  name,
  path,
  person: 'Root',
  open: async (page) => {
    await page.goto(path);
    await waitFor(page);
  },
});

export const scenes: Scene[] = [
  {
    name: 'signed out',
    path: '/',
    person: '',
    open: async (page) => {
      await page.goto('/');
      await page.getByRole('meter').first().waitFor();
    },
  },
  {
    name: 'api',
    path: '/docs',
    person: '',
    open: async (page) => {
      await page.goto('/docs');
      await page.locator('.opblock-summary-control').filter({ hasText: 'tasks/parse' }).click();
      await page.getByRole('button', { name: 'Try it out' }).click();
    },
  },
  {
    name: 'tasks',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await page.goto('/');
      await save(page);
      await page.getByRole('checkbox').first().waitFor();
    },
  },
  {
    name: 'drafts',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await page.goto('/');
      await page.getByLabel('What is to be done?').fill(text);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Save 3 tasks' }).waitFor();
    },
  },
  {
    name: 'account',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await page.goto('/');
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
      await page.goto('/budgets');
      const button = page.getByRole('button', { name: 'Spend one', exact: true });
      const held = page.getByText(/so this page did not even ask/);
      for (let presses = 0; presses < 40 && !(await held.isVisible()); presses++) {
        if (await button.isVisible()) await button.click();
      }
      await held.waitFor();
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
      await page.goto('/admin/overrides');
      await page.getByRole('button', { name: 'New override' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  admin('overrides', '/admin/overrides', (page) => page.getByRole('button', { name: 'New override' }).waitFor()),
  {
    name: 'explain',
    path: '/admin/people',
    person: 'Root',
    open: async (page) => {
      await page.goto('/admin/audit');
      const me = await page.evaluate(async () => ((await (await fetch('/api/v1/me')).json()) as { id: string }).id);
      await page.goto(`/admin/people?scope=user&id=${me}`);
      await page.getByRole('heading', { name: 'Root', exact: true }).waitFor();
    },
  },
  admin('throttled', '/admin/throttled', (page) => page.getByText(/As this process counted since/).waitFor()),
  admin('reports', '/admin/reports', (page) => page.getByRole('heading', { name: 'Reports' }).waitFor()),
  admin('limiter', '/admin/limiter', (page) => page.getByRole('heading', { name: 'Stores' }).waitFor()),
  admin('audit', '/admin/audit', (page) => page.getByRole('heading', { name: 'Audit' }).waitFor()),
];
