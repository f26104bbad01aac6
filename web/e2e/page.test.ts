import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { launch, openTab, signIn, type Tab, tabOf } from './browser';

const url = inject('url');
let browser: Browser;
let tab: Tab;
let page: Page;

beforeAll(async () => {
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
});

beforeEach(async () => {
  tab = await openTab(browser, url);
  page = tab.page;
});

afterEach(async () => {
  await page.context().close();
  expect(tab.faults).toEqual([]);
});

// A name that no other test uses.
let serial = 0;
const unique = (name: string) => `${name} ${process.pid}-${++serial}`;

const checkbox = (name: string) => page.getByRole('checkbox', { name, exact: true });

async function add(text: string): Promise<void> {
  await page.getByLabel('What is to be done?').fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^Save (the task|\d)/ }).click();
  await page.getByRole('button', { name: /^Save (the task|\d)/ }).waitFor({ state: 'detached' });
}

describe('signing in and out', () => {
  test('a visitor signs in, sees who they are, and signs out', async () => {
    await signIn(page, 'Alice Archer');
    await page.getByRole('button', { name: 'Alice Archer' }).click();
    await page.getByText('alice@acme.example').waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
  });

  test('signing out everywhere ends the other browser’s session too, and what it typed is kept', async () => {
    const other = await openTab(browser, url);
    await signIn(page, 'Dave Dyer');
    await signIn(other.page, 'Dave Dyer');
    await page.getByRole('button', { name: 'Dave Dyer' }).click();
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();

    await other.page.getByLabel('What is to be done?').fill('Water the plants');
    await other.page.keyboard.press('Enter');
    await other.page.getByText('Your session has ended.').first().waitFor();
    await other.page.getByRole('link', { name: 'Sign in again' }).first().click();
    await other.page.getByText('Dave Dyer').first().click();
    await other.page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
    expect(await other.page.getByLabel('What is to be done?').inputValue()).toBe('Water the plants');
    expect(other.faults).toEqual([]);
    await other.page.context().close();
  });

  test('a sign-in that failed says why, once', async () => {
    await page.goto('/?signin=denied');
    await page.getByRole('alert').getByText('The sign-in was declined.').waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});

// Gives the test the tab of somebody who is signed in, instead of a stranger's.
async function be(person: string, path = '/'): Promise<void> {
  await page.context().close();
  tab = await tabOf(browser, url, person);
  page = tab.page;
  await page.goto(path);
}

describe('tasks', () => {
  beforeEach(() => be('Alice Archer'));

  test('three come from one text, one of them put right first', async () => {
    const [dentist, plants, milk] = [unique('Call the dentist'), unique('Water the plants'), unique('Buy milk')];
    await page
      .getByLabel('What is to be done?')
      .fill(`${dentist} tomorrow at 9 #health !high\n${plants} #home\n${milk}`);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Save 3 tasks' }).waitFor();
    expect(await page.locator('mark').allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringContaining('tomorrow'), expect.stringContaining('#health')]),
    );
    await page.getByLabel('Title').nth(2).fill(`${milk} and bread`);
    await page.getByRole('button', { name: 'Save 3 tasks' }).click();
    await checkbox(`${milk} and bread`).waitFor();
    const row = page.getByRole('listitem').filter({ hasText: dentist });
    expect(await row.textContent()).toMatch(/Tomorrow, .*9:00.*high.*#health/);

    await page.reload();
    for (const name of [dentist, plants, `${milk} and bread`]) await checkbox(name).waitFor();
  });

  test('one is edited by keyboard, done, and found under Done', async () => {
    const name = unique('Sweep the yard');
    await add(name);
    await page.getByRole('button', { name: `Edit ${name}` }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('End');
    await page.keyboard.type(' today');
    await page.keyboard.press('Enter');
    await checkbox(`${name} today`).waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(`Edit ${name} today`);

    await checkbox(`${name} today`).check();
    await page.getByRole('radio', { name: 'Done' }).check();
    await checkbox(`${name} today`).waitFor();
    expect(await checkbox(`${name} today`).isChecked()).toBe(true);
  });

  test('one is deleted and taken back, then deleted for good', async () => {
    const name = unique('Paint the fence');
    await add(name);
    await page.getByRole('button', { name: `Delete ${name}` }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await checkbox(name).waitFor();

    await page.getByRole('button', { name: `Delete ${name}` }).click();
    const sent = page.waitForResponse((response) => response.request().method() === 'DELETE');
    expect((await sent).status()).toBe(204);
    await page.reload();
    await page.getByRole('checkbox').first().waitFor();
    expect(await checkbox(name).count()).toBe(0);
  });

  test('all are exported as a file', async () => {
    const name = unique('Count the sheep');
    await add(name);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe('tasks.csv');
    const stream = await file.createReadStream();
    let text = '';
    for await (const chunk of stream) text += chunk;
    expect(text).toMatch(/^id,title,notes,/);
    expect(text).toContain(name);
  });

  test('a fault of the server is shown beside what caused it, with its request id', async () => {
    await page.getByLabel('What is to be done?').fill('x');
    await page.keyboard.press('Enter');
    await page.getByLabel('Tags').fill(`#${'x'.repeat(40)}`);
    await page.getByRole('button', { name: 'Save the task' }).click();
    const alert = page.locator('.card').getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/tags\[0\].*Request [A-Z0-9]+/);
  });
});

describe('budgets', () => {
  beforeEach(() => be('Carol Carter'));

  test('fall with every call, without asking for them', async () => {
    const meter = page.getByRole('meter', { name: 'Reading free text' });
    await meter.waitFor();
    const before = Number(await meter.getAttribute('aria-valuenow'));
    await page.route('**/api/v1/limits', () => {}); // Asking for it has no answer from now on.
    await page.getByLabel('What is to be done?').fill('Feed the cat');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Save the task' }).waitFor();
    expect(Number(await meter.getAttribute('aria-valuenow'))).toBe(before - 1);
  });

  test('that are spent refuse calmly: the button waits, the rest goes on', async () => {
    const spend = () => fetch('/api/v1/tasks/export', { cache: 'no-store' }).then((response) => response.status);
    let status = 200;
    while (status === 200) status = await page.evaluate(spend);
    expect(status).toBe(429);
    await page.getByRole('button', { name: 'Export CSV' }).click();
    await page.getByText('Exports is spent for now.').waitFor();
    const button = page.getByRole('button', { name: /^Export in \d+ s$/ });
    expect(await button.isDisabled()).toBe(true);
    expect(await page.getByRole('meter', { name: 'Exports' }).getAttribute('aria-valuenow')).toBe('0');
    await add(unique('Feed the dog'));
  });
});
