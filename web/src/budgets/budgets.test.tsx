// @vitest-environment happy-dom
import { screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import { aliceLimits, budget, json, signedIn } from '../testing/fakeserver';
import { advance, click, open, stopClock } from '../testing/page';

stopClock();

const parses = 'POST /api/v1/tasks/parse';
const nothing = { parser: 'local', drafts: [] };

test('at a budget’s end the page holds a call back by itself, and lets it leave once there is room', async () => {
  const server = signedIn().on(parses, () => json(nothing));
  await open(server);
  for (let i = 0; i < 10; i++) {
    await click('button', 'Spend one');
    await advance(1000);
  }
  await click('button', 'Spend one');
  expect(server.count(parses)).toBe(10);
  expect(screen.getByText(/so this page did not even ask/)).toBeTruthy();
  expect(screen.getByRole('button', { name: /^Spend one in \d+ s$/ })).toHaveProperty('disabled', true);
  expect(screen.getByText('held back here').textContent).toBe('1 held back here');
  await advance(61_000);
  await click('button', 'Spend one');
  expect(server.count(parses)).toBe(11);
});

test('what the server says of other users of a budget counts too', async () => {
  const server = signedIn().on(parses, () => json(nothing, 200, { RateLimit: '"tasks.parse";r=0;t=7' }));
  await open(server);
  await click('button', 'Spend one');
  await click('button', 'Spend one');
  expect(server.count(parses)).toBe(1);
  expect(screen.getByRole('button', { name: 'Spend one in 7 s' })).toBeTruthy();
});

test('a gauge says where its numbers come from, and what is special about it', async () => {
  const budgets = [
    budget('user', { source: 'plan', limit: 300, remaining: 300 }),
    budget('tasks.write', { degraded: true, remaining: null }),
    budget('tasks.parse', { enforced: false }),
    budget('tasks.export', { limit: null, remaining: null, source: 'user' }),
  ];
  await open(signedIn().on('GET /api/v1/limits', () => json({ ...aliceLimits, budgets })));
  const gauge = (name: string) => screen.getByText(name, { selector: '.gauge-label' }).closest('li')?.textContent;
  expect(gauge('All your requests')).toContain('300 a minute · your plan');
  expect(gauge('Changing tasks')).toContain('its counter is down');
  expect(gauge('Reading free text')).toContain('counted only');
  expect(gauge('Exports')).toContain('unlimited · set for you');
});
