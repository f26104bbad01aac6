// An administrator's browser beside somebody else's, and what the one does to the other.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { launch, openTab, shown, signIn, type Tab, tabOf } from './browser';
import { startRedis } from './redis';

const url = inject('url');
let browser: Browser;
let root: Tab;
let other: Tab;
let aliceId: string;

beforeAll(async () => {
  browser = await launch();
  const alice = await tabOf(browser, url, 'Alice Archer');
  aliceId = await idOf(alice.page);
  await alice.page.context().close();
});

afterAll(async () => {
  await browser?.close();
});

beforeEach(async () => {
  root = await tabOf(browser, url, 'Root');
  other = await tabOf(browser, url, 'Alice Archer');
});

afterEach(async () => {
  await Promise.all([root, other].map((tab) => tab.page.context().close()));
  expect(root.faults).toEqual([]);
  expect(other.faults).toEqual([]);
});

function idOf(page: Page): Promise<string> {
  return page.evaluate(async () => ((await (await fetch('/api/v1/me')).json()) as { id: string }).id);
}

// Calls an administrator's route as the page does, with root's session.
async function asRoot(method: string, path: string, body?: object): Promise<void> {
  if (root.page.url() === 'about:blank') await root.page.goto('/');
  const status = await root.page.evaluate(
    async ([verb, where, text]) => {
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch(where, { method: verb, headers, ...(text ? { body: text } : {}) })).status;
    },
    [method, `/api/v1/admin/${path}`, body ? JSON.stringify(body) : ''] as const,
  );
  expect(status).toBeLessThan(300);
}

const forget = (budget: string) => asRoot('DELETE', `limits/user/${aliceId}/${budget}?reason=the+minute+is+over`);

const meter = (page: Page, name: string) => page.getByRole('meter', { name, exact: true });

async function explain(id: string): Promise<void> {
  await root.page.goto(`/admin/people?scope=user&id=${id}`);
  await root.page.getByRole('heading', { level: 3 }).first().waitFor();
}

async function giveReason(button: string): Promise<void> {
  const dialog = root.page.getByRole('dialog');
  await dialog.getByLabel('Reason, for the audit').fill('An end-to-end test');
  await dialog.getByRole('button', { name: button }).click();
  await dialog.waitFor({ state: 'hidden' });
}

test('a budget that is spent is refused in the page, with a countdown, until there is room again', async () => {
  await asRoot('PUT', `overrides/user/${aliceId}/tasks.parse`, { limit: 3, enforce: true, reason: 'a small one' });
  await forget('tasks.parse');
  const { page } = other;
  await page.clock.install();
  const statuses: number[] = [];
  page.on('response', (response) => {
    if (response.url().endsWith('/tasks/parse')) statuses.push(response.status());
  });
  await page.goto('/budgets');
  await page.getByText('3 a minute · set for you').waitFor();
  const button = page.getByRole('button', { name: 'Spend one', exact: true });
  for (let presses = 1; presses <= 3; presses++) {
    await button.click();
    await expect.poll(() => statuses.length, { timeout: 60_000 }).toBe(presses);
  }
  expect(await meter(page, 'Reading free text').getAttribute('aria-valuetext')).toBe('0 of 3 left');
  const waiting = page.getByRole('button', { name: /^Spend one in \d+ s$/ });
  if (await button.isVisible()) await button.click(); // Where the countdown has not begun with the last answer.
  await waiting.waitFor();
  expect(await waiting.isDisabled()).toBe(true);
  expect(statuses).toEqual([200, 200, 200]);

  await forget('tasks.parse'); // What a minute does at the server,
  await page.clock.fastForward(62_000); // and in the browser.
  await button.click();
  await expect.poll(() => statuses.length, { timeout: 60_000 }).toBe(4);
  expect(statuses).toEqual([200, 200, 200, 200]);
  await asRoot('DELETE', `overrides/user/${aliceId}/tasks.parse?reason=done`);
});

test('a budget that an administrator raises is in the owner’s gauge with the next answer but one', async () => {
  await other.page.goto('/budgets');
  await meter(other.page, 'Exports').waitFor();
  await explain(aliceId);
  await root.page.getByRole('button', { name: 'Override Exports' }).click();
  const dialog = root.page.getByRole('dialog');
  await dialog.getByLabel('Limit', { exact: true }).fill('40');
  await dialog.getByLabel('Enforce it').check();
  let answers = 0;
  const raised = root.page.waitForResponse((response) => response.request().method() === 'PUT');
  await giveReason('Set override');
  await raised;
  other.page.on('request', (request) => {
    if (request.url().endsWith('/api/v1/limits')) answers++;
  });
  await other.page.getByText('40 a minute · set for you').waitFor();
  expect(answers).toBeLessThanOrEqual(2); // It asks each second.

  await root.page.goto('/admin/overrides');
  await root.page.getByText('An end-to-end test').first().waitFor();
  await root.page.getByRole('button', { name: 'Remove Exports of Alice Archer' }).click();
  await giveReason('Remove override');
  await root.page.getByRole('button', { name: 'Remove Exports of Alice Archer' }).waitFor({ state: 'hidden' });
  await root.page.goto('/admin/audit');
  await root.page.getByText('admin.overrides.delete').first().waitFor();
});

test('whoever is signed out by an administrator is told, and keeps what they typed', async () => {
  await other.page.context().close();
  other = await openTab(browser, url);
  await signIn(other.page, 'Bob Baker');
  await other.page.getByLabel('What is to be done?').fill('Water the plants');
  const id = await idOf(other.page);
  await other.page.getByRole('link', { name: 'Budgets', exact: true }).click();
  await meter(other.page, 'All your requests').waitFor();

  await explain(id);
  await root.page.getByRole('button', { name: 'Sign this person out' }).click();
  await giveReason('Sign out everywhere');
  await other.page.getByText('Your session has ended.').waitFor();
  await other.page.getByRole('link', { name: 'Tasks', exact: true }).click();
  expect(await other.page.getByLabel('What is to be done?').inputValue()).toBe('Water the plants');
});

test('nobody else sees anything of administration', async () => {
  const asked: string[] = [];
  other.page.on('request', (request) => asked.push(request.url()));
  for (const path of ['/admin', '/admin/overrides', '/admin/audit']) {
    await other.page.goto(path);
    await other.page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  }
  expect(await other.page.getByRole('link', { name: 'Admin' }).count()).toBe(0);
  await other.page.goto('/budgets');
  await meter(other.page, 'All your requests').waitFor();
  expect(await other.page.getByText('Administration').count()).toBe(0);
  expect(asked.filter((address) => address.includes('/api/v1/admin'))).toEqual([]);
});

describe('Redis', () => {
  const redis = inject('redis');
  let again: Awaited<ReturnType<typeof startRedis>> | undefined;

  afterAll(() => {
    again?.kill();
  });

  test('is killed in the middle of a session, and nothing breaks', async () => {
    const { page } = other;
    await page.goto('/budgets');
    await meter(page, 'All your requests').waitFor();
    process.kill(redis.pid, 'SIGKILL');

    await page.getByText('its counter is down').first().waitFor();
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.getByLabel('What is to be done?').fill('Look after the counters');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Save the task' }).click();
    await page.getByRole('checkbox', { name: 'Look after the counters' }).check();
    expect(await page.getByRole('alert').count()).toBe(0);
    await root.page.goto('/admin/limiter');
    await root.page.getByText('lets requests through now').first().waitFor();

    again = await startRedis(redis.port);
    await page.getByRole('link', { name: 'Budgets', exact: true }).click();
    await meter(page, 'All your requests').waitFor();
    await shown(page);
  });
});
