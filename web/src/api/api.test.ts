// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest';
import { alice, anonymous, FakeServer, json, problem, refusal, signedIn, signedOut, task } from '../testing/fakeserver';
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
  const server = signedIn().on('POST /api/v1/tasks/parse', () => {
    const response = refusal('tasks.parse', 9000);
    response.headers.set('RateLimit', '"tasks.parse";r=0;t=9');
    return response;
  });
  const api = new Api(server.fetch);
  await api.session();
  await expect(api.parse(new Action(), 'x', 'UTC')).rejects.toMatchObject({ violated: ['tasks.parse'] });
  expect(api.ledger.snapshot().find((s) => s.name === 'tasks.parse')).toMatchObject({ remaining: 0 });
  expect(api.ledger.snapshotBlocks()).toMatchObject([{ budget: 'tasks.parse' }]);
});

test('a refusal for want of a session is told', async () => {
  const api = new Api(new FakeServer().on('GET /api/v1/me', () => problem(401, 'AUTH_FAILED', 'no')).fetch);
  api.onSessionEnd = vi.fn();
  await expect(api.me()).rejects.toMatchObject({ code: 'AUTH_FAILED' });
  expect(api.onSessionEnd).toHaveBeenCalledOnce();
});

test('no answer is a failure of the network, and an abort stays an abort', async () => {
  const broken = new Api(() => Promise.reject(new TypeError('Failed to fetch')));
  await expect(broken.me()).rejects.toMatchObject({ code: 'NETWORK', status: 0 });
  const aborted = new Api(() => Promise.reject(new DOMException('gone', 'AbortError')));
  await expect(aborted.me()).rejects.toMatchObject({ name: 'AbortError' });
});

test('lists are asked for by filter and cursor', async () => {
  const server = signedIn();
  const api = new Api(server.fetch);
  await api.tasks('open', null);
  await api.tasks('done', 'abc');
  await api.tasks('all', null);
  expect(server.asked.map(({ what }) => what)).toEqual([
    'GET /api/v1/tasks?limit=25&done=false',
    'GET /api/v1/tasks?limit=25&done=true&cursor=abc',
    'GET /api/v1/tasks?limit=25',
  ]);
});

test('what makes something bears one key for all of its tries, and reading bears none', async () => {
  let tries = 0;
  const server = signedIn(task('Buy milk')).on('POST /api/v1/tasks', () => {
    if (++tries === 1) throw new TypeError('Failed to fetch');
    return tries === 2 ? problem(503, 'UNAVAILABLE', 'Not for the moment.') : json(task('Buy milk'), 201);
  });
  const api = new Api(server.fetch);
  const action = new Action();
  const body = { title: 'Buy milk' };
  await expect(api.createTask(action, body)).rejects.toMatchObject({ code: 'NETWORK' });
  await expect(api.createTask(action, body)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await api.createTask(action, body);
  await api.createTask(action, body);
  const [first, second, third, other] = server.keys('POST /api/v1/tasks');
  expect(first).toBeTruthy();
  expect([second, third]).toEqual([first, first]);
  expect(other).not.toBe(first);
  await api.tasks('all', null);
  expect(server.keys('GET /api/v1/tasks')).toEqual([undefined]);
});
