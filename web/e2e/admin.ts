// What the tests need an administrator for, beside what they look at.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Stage } from './stage';

/** Calls an administrator's route with root's session. */
export async function asRoot(stage: Stage, method: string, path: string, body?: object): Promise<void> {
  const root = await stage.open('Root');
  const answer = await root.request.fetch(`/api/v1/admin/${path}`, { method, ...(body ? { data: body } : {}) });
  expect(answer.status(), await answer.text()).toBeLessThan(300);
}

/** The id of whoever is signed in. */
export async function idOf(page: Page): Promise<string> {
  const answer = await page.request.get('/api/v1/me');
  return ((await answer.json()) as { id: string }).id;
}

/** Shows an administrator whose budgets are what. */
export async function explain(root: Page, id: string): Promise<void> {
  await root.goto(`/admin/people?scope=user&id=${id}`);
  await root.getByRole('heading', { level: 3 }).first().waitFor();
}

/** Answers the dialog that asks why, and waits until it is done. */
export async function giveReason(root: Page, button: string): Promise<void> {
  const dialog = root.getByRole('dialog');
  await dialog.getByLabel('Reason, for the audit').fill('An end-to-end test');
  await dialog.getByRole('button', { name: button }).click();
  await dialog.waitFor({ state: 'hidden' });
}
