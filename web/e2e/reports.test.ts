// What one person reports, an administrator reads; and what goes on in the process, as files.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { launch, type Tab, tabOf } from './browser';

const url = inject('url');
let browser: Browser;
let root: Tab;

beforeAll(async () => {
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
});

beforeEach(async () => {
  root = await tabOf(browser, url, 'Root');
});

afterEach(async () => {
  await root.page.context().close();
  expect(root.faults).toEqual([]);
});

// A name that no other test uses.
const title = `Get rich with three tricks ${process.pid}`;

async function add(page: Page): Promise<void> {
  await page.getByLabel('What is to be done?').fill(title);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Save the task' }).click();
  await page.getByRole('checkbox', { name: title, exact: true }).waitFor();
}

test('a task is reported by keyboard, twice sent and once made, and an administrator reads why', async () => {
  const alice = await tabOf(browser, url, 'Alice Archer');
  const { page } = alice;
  await page.goto('/');
  await add(page);
  const keys: (string | undefined)[] = [];
  await page.route('**/api/v1/reports', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    await route.fetch(); // The server does it, and its answer is lost.
    return route.abort('connectionreset');
  });

  const button = page.getByRole('button', { name: `Report ${title}` });
  await button.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: `Report “${title}”` });
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);

  await page.keyboard.press('Enter');
  await dialog.getByLabel('What is wrong with it?').fill('This is advertising.');
  await dialog.getByRole('button', { name: 'Send the report' }).click();
  await dialog.getByRole('alert').getByText('could not be reached').waitFor();
  await dialog.getByRole('button', { name: 'Send the report' }).click();
  await page.getByText('The report is with the administrators.').waitFor();
  expect(keys).toHaveLength(2);
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(alice.faults.filter((fault) => !fault.includes('net::ERR_CONNECTION_RESET'))).toEqual([]);
  await page.context().close();

  await root.page.goto('/admin/reports');
  const items = root.page.getByRole('listitem').filter({ hasText: title });
  await items.first().waitFor();
  expect(await items.count()).toBe(1);
  expect(await items.textContent()).toContain('This is advertising.');
  await items.getByRole('link', { name: 'Alice Archer' }).click();
  await root.page.getByRole('heading', { name: 'Alice Archer', exact: true }).waitFor();
});

describe('the process', () => {
  async function take(action: string): Promise<{ name: string; path: string }> {
    const { page } = root;
    await page.goto('/admin/process');
    await page.getByRole('button', { name: action }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason, for the audit').fill('An end-to-end test');
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: action }).click();
    const file = await download;
    return { name: file.suggestedFilename(), path: await file.path() };
  }

  test('gives its stacks', async () => {
    const { name, path } = await take('Get the stacks');
    expect(name).toBe('goroutines.txt');
    expect(readFileSync(path, 'utf8')).toMatch(/^goroutine \d+ \[/);
    await root.page.getByText(/^Read \d+ goroutines here$/).click();
    await root.page
      .getByRole('region', { name: 'Stacks, as text' })
      .getByText(/main\.main/)
      .waitFor();
  });

  test('gives a profile of its heap, and the audit says who took it', async () => {
    const { name, path } = await take('Get the heap profile');
    expect(name).toBe('heap.pb.gz');
    expect(gunzipSync(readFileSync(path)).length).toBeGreaterThan(1000);
    await root.page.getByRole('link', { name: 'Audit', exact: true }).click();
    await root.page.getByRole('heading', { name: 'admin.heapdump process' }).first().waitFor();
  });
});

test('on a phone the tabs of administration show where one is', async () => {
  const { page } = root;
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/admin/audit');
  const tab = page.getByRole('link', { name: 'Audit', exact: true });
  await tab.waitFor();
  const { left, right } = await tab.evaluate((element) => element.getBoundingClientRect().toJSON());
  expect(left).toBeGreaterThan(0);
  expect(right).toBeLessThanOrEqual(390);
});
