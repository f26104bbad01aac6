// @vitest-environment happy-dom
import { screen, within } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { json, problem, refusal } from '../testing/fakeserver';
import { advance, click, open, settle, stopClock, write } from '../testing/page';
import { signedInWith, task } from './fake';

stopClock();

const offer = task('Get rich with three tricks');
const route = 'POST /api/v1/reports';
const reason = 'This is advertising.';
const sent = { id: '0199cccc-0000-7000-8000-000000000001', taskId: offer.id, reason, createdAt: offer.createdAt };

async function ask(): Promise<void> {
  await click('button', /^Report/);
  await vi.dynamicImportSettled();
  await settle();
}

test('a task is reported with a reason, once, and the row says so', async () => {
  const server = signedInWith(offer).on(route, () => json(sent, 201));
  await open(server);
  await ask();
  expect(screen.getByRole('dialog', { name: `Report “${offer.title}”` })).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Send the report' })).toHaveProperty('disabled', true);
  await write('What is wrong with it?', ` ${reason} `);
  await click('button', 'Send the report');
  const asked = server.asked.find(({ what }) => what === route);
  expect(asked?.body).toEqual({ taskId: offer.id, reason });
  expect(asked?.key).toBeTruthy();
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(screen.getByText('The report is with the administrators.').closest('li')?.textContent).toContain(offer.title);
});

test('a report without an answer keeps what was written, and its key', async () => {
  let tries = 0;
  const server = signedInWith(offer).on(route, () => {
    if (++tries === 1) throw new TypeError('Failed to fetch');
    return json(sent, 201);
  });
  await open(server);
  await ask();
  await write('What is wrong with it?', reason);
  await click('button', 'Send the report');
  expect(within(screen.getByRole('dialog')).getByRole('alert').textContent).toContain('could not be reached');
  await click('button', 'Send the report');
  const [first, second] = server.keys(route);
  expect(second).toBe(first);
  expect(screen.queryByRole('dialog')).toBeNull();
});

test('a report that is refused waits in the dialog until there is room', async () => {
  const server = signedInWith(offer).on(route, () => refusal('reports.create', 4000));
  await open(server);
  await ask();
  await write('What is wrong with it?', reason);
  await click('button', 'Send the report');
  expect(screen.getByRole('button', { name: 'Send in 4 s' })).toHaveProperty('disabled', true);
  server.on(route, () => json(sent, 201));
  await advance(4000);
  await click('button', 'Send the report');
  expect(screen.queryByRole('dialog')).toBeNull();
});

test('a report of a task that is gone says why, with the request’s id', async () => {
  await open(signedInWith(offer).on(route, () => problem(404, 'NOT_FOUND', 'There is no such task.')));
  await ask();
  await write('What is wrong with it?', reason);
  await click('button', 'Send the report');
  expect(within(screen.getByRole('dialog')).getByRole('alert').textContent).toContain(
    'This is not there, or no longer.',
  );
  expect(within(screen.getByRole('dialog')).getByText('REQ123')).toBeTruthy();
});
