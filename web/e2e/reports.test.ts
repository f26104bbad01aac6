// What one person reports, an administrator reads.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { Stage } from './stage';

const stage = new Stage();

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

  const root = await stage.open('Root');
  await root.goto('/admin/reports');
  const items = root.getByRole('listitem').filter({ hasText: title });
  await items.first().waitFor();
  expect(await items.count()).toBe(1);
  expect(await items.textContent()).toContain('This is advertising.');
  await items.getByRole('link', { name: 'Alice Archer' }).click();
  await root.getByRole('heading', { name: 'Alice Archer', exact: true }).waitFor();
});
