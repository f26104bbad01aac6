// @vitest-environment happy-dom
import { screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { readingCall } from '../tasks/fake'; // example:line
import { alice, aliceLimits, budget, type FakeServer, json, problem, signedIn } from '../testing/fakeserver';
import { advance, click, open, stopClock } from '../testing/page';
import { trial } from './trial';

stopClock();

const asking: { asks: string; answer: object } = { asks: 'GET /api/v1/me', answer: alice };

// What a press asks the server, and its answer; of what trial.ts names.
const tried = {
  ...asking,
  ...readingCall, // example:line
};

/** Opens the page with ten units left of what a press spends; gives how often the server was asked the same before. */
async function openWithTen(server: FakeServer): Promise<number> {
  await open(server, '/budgets');
  const before = server.count(tried.asks);
  const ten = budget(trial.budget, { limit: 10 + before, remaining: 10 });
  server.on('GET /api/v1/limits', () => json({ ...aliceLimits, budgets: [ten] }));
  await advance(1100);
  return before;
}

test('at a budget’s end the page holds a call back by itself, and lets it leave once there is room', async () => {
  const server = signedIn().on(tried.asks, () => json(tried.answer));
  const before = await openWithTen(server);
  for (let i = 0; i < 10; i++) {
    await click('button', 'Spend one');
    await advance(1000);
  }
  await click('button', 'Spend one');
  expect(server.count(tried.asks)).toBe(before + 10);
  expect(screen.getByText(/so this page did not even ask/)).toBeTruthy();
  expect(screen.getByRole('button', { name: /^Spend one in \d+ s$/ })).toHaveProperty('disabled', true);
  expect(screen.getByText('held back here', { selector: 'li' }).textContent).toBe('1 held back here');
  await advance(61_000);
  await click('button', 'Spend one');
  expect(server.count(tried.asks)).toBe(before + 11);
});

test('the countdown is as long as the longest wait: at its end the call leaves, though the server had room before', async () => {
  let left = 10;
  const server = signedIn().on(tried.asks, () => json(tried.answer));
  const before = await openWithTen(server);
  server
    .on(tried.asks, () => json(tried.answer, 200, { RateLimit: `"${trial.budget}";r=${--left};t=50` }))
    .on('GET /api/v1/limits', () => new Promise<Response>(() => {}));
  for (let i = 0; i < 10; i++) {
    await click('button', 'Spend one');
    await advance(1000);
  }
  await click('button', 'Spend one');
  const waiting = screen.getByRole('button', { name: /^Spend one in \d+ s$/ });
  await advance(Number(/\d+/.exec(waiting.textContent ?? '')?.[0]) * 1000 + 10);
  await click('button', 'Spend one');
  expect(server.count(tried.asks)).toBe(before + 11);
});

test('what the server says of other users of a budget counts too', async () => {
  const server = signedIn().on(tried.asks, () => json(tried.answer));
  const before = await openWithTen(server);
  server.on(tried.asks, () => json(tried.answer, 200, { RateLimit: `"${trial.budget}";r=0;t=7` }));
  await click('button', 'Spend one');
  await click('button', 'Spend one');
  expect(server.count(tried.asks)).toBe(before + 1);
  expect(screen.getByRole('button', { name: 'Spend one in 7 s' })).toBeTruthy();
});

test('a gauge says where its numbers come from, and what is special about it', async () => {
  const budgets = [
    budget('user', { source: 'plan', limit: 300, remaining: 300 }),
    budget('auth.refresh', { degraded: true, remaining: null }),
    budget('org', { enforced: false }),
    budget('auth.login', { limit: null, remaining: null, source: 'user' }),
  ];
  await open(
    signedIn().on('GET /api/v1/limits', () => json({ ...aliceLimits, budgets })),
    '/budgets',
  );
  const gauge = (name: string) => screen.getByText(name, { selector: '.gauge-label' }).closest('li')?.textContent;
  expect(gauge('All your requests')).toContain('300 a minute · your plan');
  expect(gauge('Renewing the session')).toContain('its counter is down');
  expect(gauge('Your organisation')).toContain('counted only');
  expect(gauge('Signing in')).toContain('unlimited · set for you');
});

test('the budgets page follows what others change, within two seconds', async () => {
  const server = signedIn();
  await open(server, '/budgets');
  server.on('GET /api/v1/limits', () =>
    json({ ...aliceLimits, budgets: [budget('user', { limit: 500, remaining: 488, source: 'user' })] }),
  );
  await advance(1900);
  expect(screen.getByRole('meter', { name: 'All your requests' }).getAttribute('aria-valuetext')).toBe(
    '488 of 500 left',
  );
  expect(screen.getByText('500 a minute · set for you')).toBeTruthy();
});

test('a server that does not answer is not asked each second, and seen soon once it is back', async () => {
  const server = signedIn();
  await open(server, '/budgets');
  server.on('GET /api/v1/limits', () => problem(503, 'UNAVAILABLE', 'Not for the moment.', { retryAfter: 5000 }));
  await advance(1100);
  const asked = server.count('GET /api/v1/limits');
  expect(screen.getByRole('alert').textContent).toContain('Not for the moment.');
  await advance(20_000);
  expect(server.count('GET /api/v1/limits') - asked).toBeLessThanOrEqual(4);
  server.on('GET /api/v1/limits', () => json(aliceLimits));
  await advance(5100);
  expect(screen.queryByRole('alert')).toBeNull();
});

test('a hidden page asks nothing', async () => {
  const server = signedIn();
  await open(server, '/budgets');
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
  globalThis.dispatchEvent(new Event('visibilitychange'));
  await advance(1100);
  const asked = server.count('GET /api/v1/limits');
  await advance(60_000);
  expect(server.count('GET /api/v1/limits')).toBe(asked);
});

test('the budgets of administrators are shown to administrators', async () => {
  const budgets = [budget('user'), budget('admin'), budget('admin.threaddump')];
  const server = signedIn().on('GET /api/v1/limits', () => json({ ...aliceLimits, budgets }));
  await open(server, '/budgets');
  expect(screen.getAllByRole('meter')).toHaveLength(1);
});

test('the hour is there as a table, a row for each minute in which something was called', async () => {
  await open(
    signedIn().on(tried.asks, () => json(tried.answer)),
    '/budgets',
  );
  await click('button', 'Spend one');
  const rows = screen.getAllByRole('row', { hidden: true });
  expect(rows).toHaveLength(2);
  expect(rows[1]?.textContent).toMatch(/3.*0.*0$/);
});
