// The least that must work wherever a server runs, behind whatever stands in front of it: scripts/compose-test runs this
// file against the containers.
import { test } from 'vitest';
import { Stage, signIn } from './stage';

const stage = new Stage();

test('Root signs in, is still who they are after loading the page again, and signs out', async () => {
  const page = await stage.openAfresh();
  await signIn(page, 'Root');
  // example:begin
  const title = `Look around ${process.pid}`;
  await page.getByLabel('What is to be done?').fill(`${title} tomorrow at 9`);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Save the task' }).click();
  const task = page.getByRole('checkbox', { name: title, exact: true });
  await task.waitFor();
  await page.reload();
  await task.waitFor();
  // example:end
  await page.goto('/budgets');
  await page.getByRole('meter').first().waitFor();
  await page.getByRole('banner').getByRole('button', { name: 'Root' }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
});
