// @vitest-environment happy-dom
import { describe, expect, test, vi } from 'vitest';
import { alice, anonymous, FakeServer, json, problem, refusal, signedIn, signedOut } from '../testing/fakeserver';
import { Action } from './action';
import { Api } from './api';

test('a stranger’s first load is one request, with no refusal in it', async () => {
  const server = signedOut();
  expect(await new Api(server.fetch).session()).toMatchObject({ kind: 'anonymous', ended: false });
  expect(server.asked.map(({ what }) => what)).toEqual(['GET /api/v1/limits']);
});

test('somebody signed in is named', async () => {
  expect(await new Api(signedIn().fetch).session()).toMatchObject({ kind: 'member', me: alice });
});

test('a session that is over shows the address’s budget, asked for without the cookie', async () => {
  const server = new FakeServer().on('GET /api/v1/limits', (request) =>
    request.credentials === 'omit' ? json(anonymous) : problem(401, 'AUTH_FAILED', 'Authentication failed.'),
  );
  const api = new Api(server.fetch);
  expect(await api.session()).toMatchObject({ kind: 'anonymous', ended: true });
  expect(api.ledger.snapshot()).toMatchObject([{ name: 'edge' }]);
});

test('an address that is refused says so', async () => {
  const server = new FakeServer().on('GET /api/v1/limits', () => refusal('edge', 2000));
  await expect(new Api(server.fetch).session()).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
});

test('every answer’s headers reach the ledger, refusals included', async () => {
  const server = signedIn();
  const api = new Api(server.fetch);
  await api.session();
  server.on('GET /api/v1/me', () => {
    const response = refusal('user', 9000);
    response.headers.set('RateLimit', '"user";r=0;t=9');
    return response;
  });
  await expect(api.me()).rejects.toMatchObject({ violated: ['user'] });
  expect(api.ledger.snapshot().find((s) => s.name === 'user')).toMatchObject({ remaining: 0 });
  expect(api.ledger.snapshotBlocks()).toMatchObject([{ budget: 'user' }]);
});

describe('the end of a session', () => {
  test.each([
    ['a refusal', () => problem(401, 'AUTH_FAILED', 'Authentication failed.')],
    ['the budgets of an address', () => json(anonymous)],
  ])('is told by %s, which changes no gauge', async (_, answer) => {
    const server = signedIn();
    const api = new Api(server.fetch);
    await api.session();
    const before = api.ledger.snapshot();
    const told = vi.fn();
    api.identity.subscribe(told);
    server.on('GET /api/v1/limits', answer);
    await expect(api.limits()).rejects.toMatchObject({ code: 'AUTH_FAILED' });
    expect(api.identity.snapshot()).toBe('nobody');
    expect(told).toHaveBeenCalledOnce();
    expect(api.ledger.snapshot()).toBe(before);
  });

  test('is over where the same person is back', async () => {
    const server = signedIn();
    const api = new Api(server.fetch);
    await api.session();
    api.identity.heard(null);
    await api.limits();
    expect(api.identity.snapshot()).toBe('same');
  });
});

test('no answer is a failure of the network, and an abort stays an abort', async () => {
  const broken = new Api(() => Promise.reject(new TypeError('Failed to fetch')));
  await expect(broken.me()).rejects.toMatchObject({ code: 'NETWORK', status: 0 });
  const aborted = new Api(() => Promise.reject(new DOMException('gone', 'AbortError')));
  await expect(aborted.me()).rejects.toMatchObject({ name: 'AbortError' });
});

test('what makes something bears one key for all of its tries', async () => {
  let tries = 0;
  const server = signedIn().on('PUT /api/v1/thing', () => {
    if (++tries === 1) throw new TypeError('Failed to fetch');
    return tries === 2 ? problem(503, 'UNAVAILABLE', 'Not for the moment.') : json({});
  });
  const api = new Api(server.fetch);
  const action = new Action();
  const make = () =>
    api.act('me.get', action, { name: 'x' }, async (_, { header }) => {
      const response = await server.fetch(`${globalThis.location.origin}/api/v1/thing`, {
        method: 'PUT',
        headers: { ...header },
      });
      return response.ok ? { data: {}, response } : { error: await response.json(), response };
    });
  await expect(make()).rejects.toMatchObject({ code: 'NETWORK' });
  await expect(make()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await make();
  await make();
  const [first, second, third, other] = server.keys('PUT /api/v1/thing');
  expect(first).toBeTruthy();
  expect([second, third]).toEqual([first, first]);
  expect(other).not.toBe(first);
});
