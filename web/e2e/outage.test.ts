import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from './redis';
import { Stage } from './stage';

const stage = new Stage();

test('Redis is killed in the middle of a session, and nothing breaks', async () => {
  const [page, root] = [await stage.open('Alice Archer'), await stage.open('Root')];
  const down = page.getByText('its counter is down').first();
  await page.goto('/budgets');
  await page.getByRole('meter', { name: 'All your requests', exact: true }).waitFor();
  const { redis } = stage.server;
  redis.kill();

  await down.waitFor();
  await page.getByRole('button', { name: 'Spend one', exact: true }).click();
  await page.getByRole('button', { name: 'Spend one', exact: true, disabled: false }).waitFor();
  // example:begin
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByLabel('What is to be done?').fill('Look after the counters');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Save the task' }).click();
  await page.getByRole('checkbox', { name: 'Look after the counters' }).check();
  // example:end
  expect(await page.getByRole('alert').count()).toBe(0);
  await root.goto('/admin/limiter');
  await root.getByText('lets requests through now').first().waitFor();

  const again = await startRedis(redis.port);
  onTestFinished(() => void again.kill());
  await page.getByRole('link', { name: 'Budgets', exact: true }).click();
  await down.waitFor({ state: 'hidden' });
  await page.getByRole('meter', { name: 'All your requests', exact: true }).waitFor();
});
