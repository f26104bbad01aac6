import { describe, expect, test } from 'vitest';
import { parseQuotas } from './headers';

// The cases of api/headers_test.go, in its order.

function header(...pairs: [string, string][]): Headers {
  const headers = new Headers();
  for (const [name, value] of pairs) headers.append(name, value);
  return headers;
}

const user = [{ name: 'user', quota: 100, windowSeconds: 60 }];
const left = [{ name: 'user', remaining: 88, resetSeconds: 2 }];

function old(quota: number, remaining: number, resetSeconds: number | null, windowSeconds = 0) {
  return { policies: [{ name: '', quota, windowSeconds }], services: [{ name: '', remaining, resetSeconds }] };
}

const draft = '"user";r=88;t=2';
const dictionary = 'limit=100, remaining=42, reset=13';

test.each([
  ['nothing', header(), { policies: [], services: [] }],
  [
    'the draft',
    header(['RateLimit-Policy', '"user";q=100;w=60'], ['RateLimit', draft]),
    { policies: user, services: left },
  ],
  [
    'token as a name',
    header(['RateLimit-Policy', 'user;q=100;w=60'], ['RateLimit', 'user;r=88;t=2']),
    { policies: user, services: left },
  ],
  [
    'two lines',
    header(['RateLimit', draft], ['RateLimit', '"org";r=5']),
    { policies: [], services: [...left, { name: 'org', remaining: 5, resetSeconds: null }] },
  ],
  [
    'unknown params',
    header(['RateLimit', '"user";r=88;t=2;pk=:cHs=:;x="y";z;d=1.5']),
    { policies: [], services: left },
  ],
  [
    'no reset',
    header(['RateLimit', '"user";r=100']),
    { policies: [], services: [{ name: 'user', remaining: 100, resetSeconds: null }] },
  ],
  [
    'escapes',
    header(['RateLimit', '"a\\"b\\\\c";r=1']),
    { policies: [], services: [{ name: 'a"b\\c', remaining: 1, resetSeconds: null }] },
  ],
  ['dictionary', header(['RateLimit', dictionary]), old(100, 42, 13)],
  ['dictionary and policy', header(['RateLimit', dictionary], ['RateLimit-Policy', '100;w=60']), old(100, 42, 13, 60)],
  [
    'three headers',
    header(['RateLimit-Limit', '100, 100;w=60'], ['RateLimit-Remaining', '42'], ['RateLimit-Reset', '13']),
    old(100, 42, 13),
  ],
  [
    'with X-',
    header(['X-RateLimit-Limit', '100'], ['X-RateLimit-Remaining', '42'], ['X-RateLimit-Reset', '13']),
    old(100, 42, 13),
  ],
  [
    'reset as a date',
    header(['X-RateLimit-Limit', '100'], ['X-RateLimit-Remaining', '42'], ['X-RateLimit-Reset', '1795996800']),
    old(100, 42, null),
  ],
])('reads %s', (_, headers, want) => {
  expect(parseQuotas(headers)).toEqual(want);
});

describe('ignores what is malformed', () => {
  test.each([
    '"user',
    '"user";r',
    '"user";r=',
    '"user";r=-1',
    '"user";r=1;t=-5',
    '"user";r=1;t=99999999999999',
    '"user";r=1,',
    '"user" x',
    '"us\\er";r=1',
    ';r=1',
    '"user";R=1',
    '"user";r=1234567890123456',
    '"a";r=1,,"b";r=2',
    ':abc;r=1',
    `${'"a";r=1, '.repeat(65)}"a";r=1`,
    `"user"${';a=1'.repeat(3)};r=x`,
    'limit=1',
    'limit=1, remaining=x',
    'limit=-1, remaining=1',
  ])('%s', (value) => {
    expect(parseQuotas(header(['RateLimit', value])).services).toEqual([]);
  });
});
