// @vitest-environment happy-dom
import { screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import { alice, json, signedIn } from '../testing/fakeserver';
import { open, stopClock } from '../testing/page';

stopClock();

const person = { id: alice.id, name: 'Alice Archer', email: 'alice@acme.example' };

test('reports say what was reported and by whom, and lead to what they may spend', async () => {
  const report = {
    id: alice.id,
    taskId: alice.id,
    taskTitle: 'Get rich',
    reason: 'Advertising',
    organisation: alice.organisation,
    reportedBy: person,
    createdAt: '2026-11-29T09:00:00.000Z',
  };
  const gone = { ...report, id: 'x', taskTitle: null, reportedBy: null, reason: 'Rude' };
  await open(
    signedIn()
      .on('GET /api/v1/me', () => json({ ...alice, name: 'Root', roles: ['admin'] }))
      .on('GET /api/v1/admin/reports', () => json({ items: [report, gone] })),
    '/admin/reports',
  );
  const item = screen.getByText('Advertising').closest('li') as HTMLElement;
  expect(within(item).getByRole('heading').textContent).toBe('Get rich');
  expect(within(item).getByRole('link', { name: 'Alice Archer' }).getAttribute('href')).toBe(
    `/admin/people?scope=user&id=${alice.id}`,
  );
  expect(within(item).getByRole('link', { name: 'Acme' }).getAttribute('href')).toBe(
    `/admin/people?scope=organisation&id=${alice.organisation.id}`,
  );
  const other = screen.getByText('Rude').closest('li');
  expect(other?.textContent).toContain('A task that is deleted');
  expect(other?.textContent).toContain('somebody who has left');
});
