import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pagePaths } from './paths';

test('the server answers exactly the paths that the page knows', () => {
  const source = readFileSync(new URL('../../../internal/httpapi/pages.go', import.meta.url), 'utf8');
  const list = /func pagePaths\(\) \[\]string \{([^}]*)\{([^}]*)\}/.exec(source)?.[2] ?? '';
  const served = [...list.matchAll(/"([^"]+)"/g)].map((match) => match[1]);
  expect(served.filter((path) => path !== '/index.html').sort()).toEqual([...pagePaths].sort());
});
