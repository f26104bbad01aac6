// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import { render, screen } from '@testing-library/react';
import { describe, expect, test, vi } from 'vitest';
import { now } from '../api/clock';
import type { Problem } from '../api/contract';
import { Failure, failureOf, networkFailure, otherPerson } from '../api/failure';
import { problem, refusal } from '../testing/fakeserver';
import { advance, click, stopClock } from '../testing/page';
import { FailureNotice } from './notice';

stopClock();

const contract = JSON.parse(readFileSync(`${process.cwd()}/../api/spec/openapi.json`, 'utf8'));
const codes: Problem['code'][] = contract.components.schemas.Problem.properties.code.enum;
const calm: Problem['code'][] = ['RATE_LIMIT_EXCEEDED', 'AUTH_FAILED'];
// What the server says of these is for whoever looks at a page too.
const forPeople: Problem['code'][] = ['INTERNAL', 'UNAVAILABLE', 'LIMITER_UNAVAILABLE'];

async function heard(response: Response): Promise<Failure> {
  return failureOf(response, await response.json(), now());
}

describe('every code of the contract', () => {
  test('is known to this test', () => expect(codes.length).toBeGreaterThan(10));

  test.each(codes.filter((code) => !calm.includes(code)))('%s is told with the request’s id', async (code) => {
    render(<FailureNotice failure={await heard(problem(400, code, `What ${code} says.`))} />);
    const alert = screen.getByRole('alert');
    const inServersWords = alert.textContent?.includes(`What ${code} says.`);
    expect(inServersWords).toBe(forPeople.includes(code));
    expect(alert.textContent).toContain('Request REQ123');
    expect(screen.queryByRole('button')).toBeNull();
  });
});

test.each<[number, Problem['code'], boolean]>([
  [400, 'INVALID_JSON', false],
  [403, 'FORBIDDEN', false],
  [404, 'NOT_FOUND', false],
  [408, 'REQUEST_TIMEOUT', true],
  [409, 'CONFLICT', true],
  [422, 'VALIDATION_FAILED', false],
  [429, 'RATE_LIMIT_EXCEEDED', false], // Without a time, no wait helps.
  [500, 'INTERNAL', true],
  [503, 'UNAVAILABLE', true],
])('after a %d %s to try again is offered only where it may help', async (status, code, offered) => {
  render(<FailureNotice failure={await heard(problem(status, code, 'No.'))} onRetry={() => {}} />);
  expect(screen.queryByRole('button', { name: 'Try again' }) !== null).toBe(offered);
});

test.each([
  ['another person’s session', otherPerson(), false],
  ['no answer', networkFailure(new TypeError()), true],
])('after %s too', (_, failure, offered) => {
  render(<FailureNotice failure={failure} onRetry={() => {}} />);
  expect(screen.queryByRole('button', { name: 'Try again' }) !== null).toBe(offered);
});

test('the end of a session is the way back in', async () => {
  render(<FailureNotice failure={await heard(problem(401, 'AUTH_FAILED', 'no'))} />);
  expect(screen.getByRole('alert').textContent).toContain('Your session has ended.');
  expect(screen.getByRole('link', { name: 'Sign in again' }).getAttribute('href')).toBe(
    '/api/v1/auth/login?returnTo=/',
  );
});

test('fields at fault are named one by one', async () => {
  const fields = [
    { field: 'title', message: 'must not be empty' },
    { field: 'tags[2]', message: 'is too long' },
  ];
  render(<FailureNotice failure={await heard(problem(422, 'VALIDATION_FAILED', 'Some fields.', { fields }))} />);
  expect(screen.getAllByRole('listitem').map((item) => item.textContent)).toEqual([
    'Title must not be empty',
    'Tags, no. 3 is too long',
  ]);
});

describe('a refusal', () => {
  test('is calm, counts down, and says when there is room', async () => {
    render(<FailureNotice failure={await heard(refusal('org', 2000))} />);
    const notice = screen.getByRole('status');
    expect(notice.textContent).toContain('Your organisation is spent for now. Nothing was lost. Try again in 2 s.');
    await advance(1010);
    expect(notice.textContent).toContain('Try again in 1 s.');
    await advance(1010);
    expect(notice.textContent).toContain('has room again.');
  });

  test('of this page’s own says that nothing was asked', () => {
    const failure = new Failure('no', {
      code: 'RATE_LIMIT_EXCEEDED',
      violated: ['user'],
      retryAt: now() + 1000,
      local: true,
    });
    render(<FailureNotice failure={failure} />);
    expect(screen.getByRole('status').textContent).toContain('this page did not even ask');
  });

  test('that no wait helps says so', () => {
    render(<FailureNotice failure={new Failure('no', { code: 'RATE_LIMIT_EXCEEDED', violated: ['user'] })} />);
    expect(screen.getByRole('status').textContent).toContain('waiting does not help');
  });
});

test('no answer at all has no id, and may be tried again', async () => {
  const again = vi.fn();
  render(<FailureNotice failure={networkFailure(new TypeError())} onRetry={again} />);
  expect(screen.getByRole('alert').textContent).toContain('could not be reached');
  expect(screen.getByRole('alert').textContent).not.toContain('Request');
  await click('button', 'Try again');
  expect(again).toHaveBeenCalledOnce();
});

test('a retry waits as long as the server said', async () => {
  const failure = await heard(problem(503, 'LIMITER_UNAVAILABLE', 'Not now.', { retryAfter: 5000 }));
  render(<FailureNotice failure={failure} onRetry={() => {}} />);
  expect(screen.getByRole('button', { name: 'Try again in 5 s' })).toHaveProperty('disabled', true);
  await advance(5010);
  expect(screen.getByRole('button', { name: 'Try again' })).toHaveProperty('disabled', false);
});
