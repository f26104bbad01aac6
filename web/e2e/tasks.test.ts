// What people do with tasks.
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { eventually, pass, stop, wind } from './pageclock';
import { Stage, shown, signIn } from './stage';

const stage = new Stage();
let page: Page;

// A name that no other test uses.
let serial = 0;
const unique = (name: string) => `${name} ${++serial}`;

const checkbox = (name: string) => page.getByRole('checkbox', { name, exact: true });

async function add(text: string): Promise<void> {
  await page.getByLabel('What is to be done?').fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^Save (the task|\d)/ }).click();
  await page.getByRole('button', { name: /^Save (the task|\d)/ }).waitFor({ state: 'detached' });
}

test('signing out everywhere ends the other browser’s session too, and what it typed is kept', async () => {
  const [here, other] = [await stage.openAfresh(), await stage.openAfresh()];
  await Promise.all([here, other].map((each) => signIn(each, 'Dave Dyer')));
  await here.getByRole('button', { name: 'Dave Dyer' }).click();
  await here.getByRole('button', { name: 'Sign out everywhere' }).click();
  await here.getByRole('link', { name: 'Sign in' }).waitFor();

  await other.getByLabel('What is to be done?').fill('Water the plants');
  await other.keyboard.press('Enter');
  await other.getByText('Your session has ended.').first().waitFor();
  await other.getByRole('link', { name: 'Sign in again' }).first().click();
  await other.getByText('Dave Dyer').first().click();
  await other.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
  expect(await other.getByLabel('What is to be done?').inputValue()).toBe('Water the plants');
});

describe('tasks', () => {
  beforeEach(async () => {
    page = await stage.open('Alice Archer');
    await page.goto('/');
  });

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
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent), { timeout: 100_000 })
      .toBe(`Edit ${name} today`);

    await checkbox(`${name} today`).check();
    await page.getByRole('radio', { name: 'Done' }).check();
    await checkbox(`${name} today`).waitFor();
    expect(await checkbox(`${name} today`).isChecked()).toBe(true);
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
    const card = page.locator('.card');
    await card.getByRole('alert').waitFor();
    expect(await card.getByRole('alert').textContent()).toMatch(/put right first.*Request [A-Z0-9]+/);
    expect(await card.getByLabel('Tags').getAttribute('aria-invalid')).toBe('true');
    await card.getByText(/^Tags, no. 1 must have at most 32 characters/).waitFor();
  });
});

test('a delete waits five seconds in the browser: till then it can be taken back, and then it is for good', async () => {
  page = await stage.openAfresh('Alice Archer');
  await wind(page);
  await page.goto('/');
  const name = unique('Paint the fence');
  await add(name);
  await stop(page);
  const deletes: number[] = [];
  page.on('response', (response) => {
    if (response.request().method() === 'DELETE') deletes.push(response.status());
  });
  let sent = 0;
  page.on('request', (request) => {
    if (request.method() === 'DELETE') sent++;
  });
  const remove = async () => {
    await page.getByRole('button', { name: `Delete ${name}` }).click();
    await eventually(page, () => page.getByText(`Deleted “${name}”`).isVisible(), true);
    await pass(page, 4_900);
    expect(sent).toBe(0);
  };

  await remove();
  await page.getByRole('button', { name: 'Undo' }).click();
  await eventually(page, () => checkbox(name).isVisible(), true);
  await pass(page, 10_000);
  expect(sent).toBe(0);

  await remove();
  await pass(page, 100);
  await eventually(page, () => deletes, [204]);
  page = await stage.open('Alice Archer');
  await page.goto('/');
  await shown(page);
  await page.getByRole('checkbox').or(page.getByText('Nothing is open.')).first().waitFor();
  expect(await checkbox(name).count()).toBe(0);
});
