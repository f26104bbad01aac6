import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { shownDescription } from './description';

const description = JSON.parse(readFileSync(new URL('../../../api/spec/openapi.json', import.meta.url), 'utf8'));

test('a token is the one way in: the session is in no route, and no scheme', () => {
  const shown = shownDescription(description);
  expect(Object.keys(shown.components.securitySchemes ?? {})).toEqual(['bearer']);
  expect(
    JSON.stringify(Object.values(shown.paths).map((path) => Object.values(path).map((o) => o.security))),
  ).not.toContain('session');
  expect(shown.paths['/api/v1/me']?.get?.security).toEqual([{ bearer: [] }]);
  expect(shown.paths['/api/v1/auth/login']?.get?.security).toEqual([]);
});

test('each route says which budgets it charges', () => {
  const { paths } = shownDescription(description);
  expect(paths['/api/v1/me']?.get?.description).toContain('Charged: `edge`, `edge.caller`, `user`, `org`');
  const stacks = paths['/api/v1/admin/threaddump']?.get;
  expect(stacks?.description).toContain('Charged: `edge`, `edge.caller`, `admin.threaddump`');
});

test('a failure’s body is not repeated for each of them', () => {
  const { responses = {} } = shownDescription(description).paths['/api/v1/me']?.get ?? {};
  expect(responses['200']).toHaveProperty('content');
  expect(responses['401']).not.toHaveProperty('content');
  expect(description.paths['/api/v1/me'].get.responses['401']).toHaveProperty('content');
});
