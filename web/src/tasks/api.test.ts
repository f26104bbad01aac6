// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { Action } from '../api/action';
import { Api } from '../api/api';
import { json, problem, signedIn } from '../testing/fakeserver';
import { TasksApi } from './api';
import { signedInWith, task } from './fake';

test('lists are asked for by filter and cursor', async () => {
  const server = signedIn();
  const api = new TasksApi(new Api(server.fetch));
  await api.list('open', null);
  await api.list('done', 'abc');
  await api.list('all', null);
  expect(server.asked.map(({ what }) => what)).toEqual([
    'GET /api/v1/tasks?limit=25&done=false',
    'GET /api/v1/tasks?limit=25&done=true&cursor=abc',
    'GET /api/v1/tasks?limit=25',
  ]);
});

test('what makes something bears one key for all of its tries, and reading bears none', async () => {
  let tries = 0;
  const server = signedInWith(task('Buy milk')).on('POST /api/v1/tasks', () => {
    if (++tries === 1) throw new TypeError('Failed to fetch');
    return tries === 2 ? problem(503, 'UNAVAILABLE', 'Not for the moment.') : json(task('Buy milk'), 201);
  });
  const api = new TasksApi(new Api(server.fetch));
  const action = new Action();
  const body = { title: 'Buy milk' };
  await expect(api.create(action, body)).rejects.toMatchObject({ code: 'NETWORK' });
  await expect(api.create(action, body)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await api.create(action, body);
  await api.create(action, body);
  const [first, second, third, other] = server.keys('POST /api/v1/tasks');
  expect(first).toBeTruthy();
  expect([second, third]).toEqual([first, first]);
  expect(other).not.toBe(first);
  await api.list('all', null);
  expect(server.keys('GET /api/v1/tasks')).toEqual([undefined]);
});
