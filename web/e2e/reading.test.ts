// The budgets of tasks as people see them: how they fall, and what happens at their end.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { asRoot, idOf } from './admin';
import { eventually, pass, stop, wind } from './pageclock';
import { type Person, Stage } from './stage';

// A second is soon over, even where it is the server's own.
const stage = new Stage({ 'tasks.parse.burst': { limit: 1 } });

const meter = (page: Page, name: string) => page.getByRole('meter', { name, exact: true });
const spendOne = (page: Page) => page.getByRole('button', { name: 'Spend one', exact: true, disabled: false });
const waiting = (page: Page) => page.getByRole('button', { name: /^Spend one in (\d+ min )?\d+ s$/, disabled: true });

// From here on asking for the budgets has no answer: what a page then knows, it knows by itself and from other answers.
const hold = (page: Page) => page.route('**/api/v1/limits', () => {});

test('they fall with every call, without asking for them', async () => {
  const page = await stage.open('Carol Carter');
  await page.goto('/');
  const gauge = meter(page, 'Reading free text');
  await gauge.waitFor();
  const before = Number(await gauge.getAttribute('aria-valuenow'));
  await hold(page);
  await page.getByLabel('What is to be done?').fill('Feed the cat');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Save the task' }).waitFor();
  await expect.poll(() => gauge.getAttribute('aria-valuenow'), { timeout: 100_000 }).toBe(String(before - 1));
});

test('one that is spent refuses calmly: the button waits, the rest goes on', async () => {
  const page = await stage.open('Carol Carter');
  await page.goto('/');
  const exporting = page.getByRole('button', { name: 'Export CSV' });
  await exporting.waitFor();
  let status = 200;
  while (status === 200) status = (await page.request.get('/api/v1/tasks/export')).status();
  expect(status).toBe(429);
  await exporting.click();
  await page.getByText('Exports is spent for now.').waitFor();
  expect(await page.getByRole('button', { name: /^Export in \d+ s$/ }).isDisabled()).toBe(true);
  expect(await meter(page, 'Exports').getAttribute('aria-valuenow')).toBe('0');
  await page.getByLabel('What is to be done?').fill('Feed the dog');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Save the task' }).click();
  await page.getByRole('checkbox', { name: 'Feed the dog' }).waitFor();
});

// Opens the budgets with the page's clock stopped, and remembers how the server answered each reading of a text.
async function spender(person: Person, allowance: string): Promise<{ page: Page; statuses: number[] }> {
  const page = await stage.openAfresh(person);
  const statuses: number[] = [];
  page.on('response', (response) => {
    if (response.url().endsWith('/tasks/parse')) statuses.push(response.status());
  });
  await wind(page);
  await page.goto('/budgets');
  await page.getByText(allowance).waitFor();
  await hold(page);
  await stop(page);
  return { page, statuses };
}

// Presses until the page holds a press back by itself: all others were answered, and none of them was refused.
async function spendAll(page: Page, statuses: number[], units: number): Promise<void> {
  for (let presses = 1; presses <= units; presses++) {
    await spendOne(page).click();
    await eventually(page, () => statuses.length, presses);
    await eventually(page, () => spendOne(page).isVisible(), true);
  }
  await spendOne(page).click();
  await eventually(page, () => waiting(page).isVisible(), true);
  expect(await page.getByText(/so this page did not even ask/).isVisible()).toBe(true);
  expect(statuses).toEqual(Array(units).fill(200));
}

const secondsShown = async (page: Page) => Number(/\d+/.exec((await waiting(page).textContent()) ?? '')?.[0]);

test('at the end of a minute’s budget the page counts down to the next free unit, and then it works', async () => {
  const alice = await idOf(await stage.open('Alice Archer'));
  await asRoot(stage, 'PUT', `overrides/user/${alice}/tasks.parse`, { limit: 3, enforce: true, reason: 'a small one' });
  await asRoot(stage, 'PUT', `overrides/user/${alice}/tasks.parse.burst`, {
    limit: 5,
    enforce: true,
    reason: 'not this',
  });
  const { page, statuses } = await spender('Alice Archer', '3 a minute · set for you');
  await spendAll(page, statuses, 3);
  expect(await meter(page, 'Reading free text').getAttribute('aria-valuetext')).toBe('0 of 3 left');

  await pass(page, 5_000);
  const seconds = await secondsShown(page);
  expect(seconds).toBeGreaterThan(50);
  await pass(page, 20_500);
  expect(await secondsShown(page)).toBeOneOf([seconds - 20, seconds - 21]);
  await asRoot(stage, 'DELETE', `limits/user/${alice}/tasks.parse?reason=the+minute+is+over`); // As it soon is in the page.
  await pass(page, (seconds - 22) * 1000);
  expect(await waiting(page).isVisible()).toBe(true);
  await pass(page, 2_000);
  await eventually(page, () => page.getByText('has room again.').isVisible(), true);
  await spendOne(page).click();
  await eventually(page, () => statuses, [200, 200, 200, 200]);
});

test('at the end of a second’s budget it works again as soon as the server has room', async () => {
  const { page, statuses } = await spender('Dave Dyer', '1 a second · this deployment');
  await spendAll(page, statuses, 1);
  expect(await secondsShown(page)).toBeLessThanOrEqual(2);

  const left = async () => {
    const answer = (await (await page.request.get('/api/v1/limits')).json()) as {
      budgets: { name: string; remaining: number }[];
    };
    return answer.budgets.find(({ name }) => name === 'tasks.parse.burst')?.remaining;
  };
  await expect.poll(left, { timeout: 100_000 }).toBe(1);
  await pass(page, 2_000);
  await eventually(page, () => page.getByText('has room again.').isVisible(), true);
  await spendOne(page).click();
  await eventually(page, () => statuses, [200, 200]);
});
