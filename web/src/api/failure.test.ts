import { expect, test } from 'vitest';
import { problem, refusal } from '../testing/fakeserver';
import { failureOf } from './failure';

test('an envelope becomes a failure with all that it says', async () => {
  const response = problem(422, 'VALIDATION_FAILED', 'Some fields break a rule.', {
    fields: [{ field: 'tags[2]', message: 'is too long' }],
  });
  const failure = failureOf(response, await response.json(), 1000);
  expect(failure).toMatchObject({
    message: 'Something is to be put right first.',
    code: 'VALIDATION_FAILED',
    status: 422,
    requestId: 'REQ123',
    fields: [{ field: 'tags[2]', message: 'is too long' }],
    retryAt: null,
  });
});

test('the wait of a refusal counts from its arrival', async () => {
  const response = refusal('user', 16_321);
  const failure = failureOf(response, await response.json(), 1000);
  expect(failure).toMatchObject({ violated: ['user'], retryAt: 17_321 });
});

test.each([
  ['a proxy page', '<html>', { 'Retry-After': '7', 'X-Request-ID': 'P1' }, { requestId: 'P1', retryAt: 8000 }],
  ['a date to wait for', '', { 'Retry-After': 'Sun, 29 Nov 2026 09:00:00 GMT' }, { requestId: null, retryAt: null }],
  ['nothing', '', {}, { requestId: null, retryAt: null }],
  ['JSON of another kind', { code: 7 }, {}, { requestId: null }],
])('an answer that is no envelope is told as it is: %s', (_, body, headers: Record<string, string>, want) => {
  const failure = failureOf(new Response('', { status: 502, headers }), body, 1000);
  expect(failure).toMatchObject({ code: 'UNREADABLE', status: 502, ...want });
  expect(failure.message).toContain('502');
});

test('who may not do something is told how long roles count, as the server’s sentence does', async () => {
  const detail = 'This route is for administrators. Roles are read at sign-in and count for an hour: sign in anew.';
  const response = problem(403, 'FORBIDDEN', detail);
  expect(failureOf(response, await response.json(), 1000).message).toMatch(/count for an hour: .*sign in anew/);
});
