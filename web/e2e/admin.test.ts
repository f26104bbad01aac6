// An administrator's browser beside somebody else's, and what the one does to the other.
import { expect, test } from 'vitest';
import { asRoot, explain, giveReason, idOf } from './admin';
import { Stage, signIn } from './stage';

const stage = new Stage();

test('an override is listed, removed, and in the audit', async () => {
  const alice = await idOf(await stage.open('Alice Archer'));
  await asRoot(stage, 'PUT', `overrides/user/${alice}/user`, {
    limit: 400,
    enforce: true,
    reason: 'For a while',
  });
  const root = await stage.open('Root');
  await root.goto('/admin/overrides');
  await root.getByText('For a while').first().waitFor();
  await root.getByRole('button', { name: 'Remove All requests of Alice Archer' }).click();
  await giveReason(root, 'Remove override');
  await root.getByRole('button', { name: 'Remove All requests of Alice Archer' }).waitFor({ state: 'hidden' });
  await root.goto('/admin/audit');
  await root.getByText('admin.overrides.delete').first().waitFor();
});

test('whoever is signed out by an administrator is told, and keeps what they typed', async () => {
  const bob = await stage.openAfresh();
  await signIn(bob, 'Bob Baker');
  // example:begin
  await bob.getByLabel('What is to be done?').fill('Water the plants');
  // example:end
  await bob.getByRole('link', { name: 'Budgets', exact: true }).click();
  await bob.getByRole('meter', { name: 'All your requests', exact: true }).waitFor();

  const root = await stage.open('Root');
  await explain(root, await idOf(bob));
  await root.getByRole('button', { name: 'Sign this person out' }).click();
  await giveReason(root, 'Sign out everywhere');
  await bob.getByText('Your session has ended.').waitFor();
  // example:begin
  await bob.getByRole('link', { name: 'Tasks', exact: true }).click();
  expect(await bob.getByLabel('What is to be done?').inputValue()).toBe('Water the plants');
  // example:end
  expect((await bob.request.get('/api/v1/me')).status()).toBe(401);
});

test('nobody else sees anything of administration', async () => {
  const alice = await stage.open('Alice Archer');
  const asked: string[] = [];
  alice.on('request', (request) => asked.push(request.url()));
  for (const path of ['/admin', '/admin/overrides', '/admin/audit']) {
    await alice.goto(path);
    await alice.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  }
  expect(await alice.getByRole('link', { name: 'Admin' }).count()).toBe(0);
  await alice.goto('/budgets');
  await alice.getByRole('meter', { name: 'All your requests', exact: true }).waitFor();
  expect(await alice.getByText('Administration').count()).toBe(0);
  expect(asked.filter((address) => address.includes('/api/v1/admin'))).toEqual([]);
});
