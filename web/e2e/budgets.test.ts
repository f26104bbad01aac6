// Budgets as people see them: how they fall, and whose number counts.
import type { Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { explain, giveReason, idOf } from './admin';
import { eventually, pass, stop, wind } from './pageclock';
import { Stage } from './stage';

const stage = new Stage();

const meter = (page: Page, name: string) => page.getByRole('meter', { name, exact: true });

test('they fall with every call, without asking for them', async () => {
  const page = await stage.openAfresh('Carol Carter');
  await wind(page);
  await page.goto('/budgets');
  const gauge = meter(page, 'All your requests');
  await gauge.waitFor();
  await page.route('**/api/v1/limits', () => {}); // From here on asking has no answer.
  await stop(page);
  const before = Number(await gauge.getAttribute('aria-valuenow'));
  await page.getByRole('button', { name: 'Spend one', exact: true }).click();
  await eventually(page, () => gauge.getAttribute('aria-valuenow'), String(before - 1));
});

test('one that an administrator raises is in its owner’s gauge within two seconds', async () => {
  const owner = await stage.openAfresh('Alice Archer');
  await wind(owner);
  await owner.goto('/budgets');
  await meter(owner, 'All your requests').waitFor();
  const asking = new Set<Request>();
  owner.on('request', (request) => asking.add(request));
  owner.on('requestfinished', (request) => asking.delete(request));
  owner.on('requestfailed', (request) => asking.delete(request));
  await stop(owner);

  const root = await stage.open('Root');
  await explain(root, await idOf(owner));
  await root.getByRole('button', { name: 'Override All requests' }).click();
  const dialog = root.getByRole('dialog');
  await dialog.getByLabel('Limit', { exact: true }).fill('140');
  await dialog.getByLabel('Enforce it').check();
  await giveReason(root, 'Set override');

  // Two seconds of the page's own time: all that it waits is in them, and how long this machine takes is not.
  const followed = owner.getByText('140 a minute · set for you');
  for (let passed = 0; passed < 2_000 && !(await followed.isVisible()); passed += 50) {
    await pass(owner, 50);
    await expect.poll(() => asking.size, { timeout: 100_000 }).toBe(0);
  }
  expect(await followed.isVisible()).toBe(true);
});
