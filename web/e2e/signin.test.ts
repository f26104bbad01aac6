// Signing in and out.
import { expect, test } from 'vitest';
import { Stage, signIn } from './stage';

const stage = new Stage();

test('a visitor signs in, sees who they are, and signs out', async () => {
  const page = await stage.openAfresh();
  await signIn(page, 'Alice Archer');
  await page.getByRole('button', { name: 'Alice Archer' }).click();
  await page.getByText('alice@acme.example').waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/');
});

test('signing out everywhere ends the other browser’s session too, which is told and can sign in again', async () => {
  const [page, other] = [await stage.openAfresh(), await stage.openAfresh()];
  await Promise.all([page, other].map((each) => signIn(each, 'Dave Dyer')));
  await other.goto('/budgets');
  await other.getByRole('meter', { name: 'All your requests', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Dave Dyer' }).click();
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByRole('link', { name: 'Sign in' }).waitFor();

  await other.getByText('Your session has ended.').first().waitFor();
  await other.getByRole('link', { name: 'Sign in again' }).first().click();
  await other.getByText('Dave Dyer').first().click();
  await other.getByRole('heading', { name: 'Budgets', exact: true }).waitFor();
  expect(new URL(other.url()).pathname).toBe('/budgets');
});

test('signing out in one tab is told in the other, where nothing is asked meanwhile', async () => {
  const [here, other] = [await stage.open('Bob Baker'), await stage.open('Bob Baker')];
  for (const page of [here, other]) {
    await page.goto('/budgets');
    await page.getByRole('meter', { name: 'All your requests', exact: true }).waitFor();
  }
  await other.route('**/api/v1/**', () => {}); // From here on asking has no answer.
  await here.getByRole('button', { name: 'Bob Baker' }).click();
  await here.getByRole('button', { name: 'Sign out', exact: true }).click();
  await other.getByText('Your session has ended.').waitFor();
});

test('a sign-in that failed says why, once', async () => {
  const page = await stage.openAfresh();
  await page.goto('/?signin=denied');
  await page.getByRole('alert').getByText('The sign-in was declined.').waitFor();
  await page.reload();
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

// The last here: it leaves the address no sign-in for a minute.
test('a sign-in that is refused is told by the page', async () => {
  const page = await stage.openAfresh();
  await page.goto('/');
  const login = new URL('/api/v1/auth/login', page.url());
  let status = 0;
  for (let i = 0; i < 30 && status !== 429; i++) status = (await fetch(login, { redirect: 'manual' })).status;
  expect(status).toBe(429);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('Wait a minute, then sign in again.').waitFor();
  expect(page.url()).toBe(new URL('/', login).href);
});
