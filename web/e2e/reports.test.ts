// What one person reports, an administrator reads; and what goes on in the process, as files.
import { gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { Stage } from './stage';

const stage = new Stage();
let root: Page;

beforeEach(async () => {
  root = await stage.open('Root');
});

const title = 'Get rich with three tricks';

async function add(page: Page): Promise<void> {
  await page.getByLabel('What is to be done?').fill(title);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Save the task' }).click();
  await page.getByRole('checkbox', { name: title, exact: true }).waitFor();
}

test('a task is reported by keyboard, twice sent and once made, and an administrator reads why', async () => {
  const page = await stage.open('Alice Archer');
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
  stage.forgive(/net::ERR_CONNECTION_RESET/);

  await root.goto('/admin/reports');
  const items = root.getByRole('listitem').filter({ hasText: title });
  await items.first().waitFor();
  expect(await items.count()).toBe(1);
  expect(await items.textContent()).toContain('This is advertising.');
  await items.getByRole('link', { name: 'Alice Archer' }).click();
  await root.getByRole('heading', { name: 'Alice Archer', exact: true }).waitFor();
});

describe('the process', () => {
  async function take(action: string): Promise<{ name: string; content: Buffer }> {
    await root.goto('/admin/process');
    await root.getByRole('button', { name: action }).click();
    const dialog = root.getByRole('dialog');
    await dialog.getByLabel('Reason, for the audit').fill('An end-to-end test');
    const download = root.waitForEvent('download');
    await dialog.getByRole('button', { name: action }).click();
    const file = await download;
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk);
    return { name: file.suggestedFilename(), content: Buffer.concat(chunks) };
  }

  test('gives its stacks', async () => {
    const { name, content } = await take('Get the stacks');
    expect(name).toBe('goroutines.txt');
    expect(content.toString()).toMatch(/^goroutine \d+ \[/);
    await root.getByText(/^Read \d+ goroutines here$/).click();
    await root
      .getByRole('region', { name: 'Stacks, as text' })
      .getByText(/main\.main/)
      .waitFor();
  });

  test('gives a profile of its heap, and the audit says who took it', async () => {
    const { name, content } = await take('Get the heap profile');
    expect(name).toBe('heap.pb.gz');
    expect(gunzipSync(content).length).toBeGreaterThan(1000);
    await root.getByRole('link', { name: 'Audit', exact: true }).click();
    await root.getByRole('heading', { name: 'admin.heapdump process' }).first().waitFor();
  });
});

test('on a phone the tabs of administration show where one is', async () => {
  await root.setViewportSize({ width: 390, height: 844 });
  await root.goto('/admin/audit');
  const tab = root.getByRole('link', { name: 'Audit', exact: true });
  await tab.waitFor();
  const { left, right } = await tab.evaluate((element) => element.getBoundingClientRect().toJSON());
  expect(left).toBeGreaterThan(0);
  expect(right).toBeLessThanOrEqual(390);
});
