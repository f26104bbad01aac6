// Every page, in both themes and at two widths: accessible, within its width, and there again after a reload.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { pagePaths } from '../src/app/paths';
import { expectAccessible, expectNoOverflow, launch, shown, type Tab, tabOf } from './browser';
import { type Scene, scenes } from './scenes';

const url = inject('url');
let browser: Browser;
const tabs = new Map<string, Tab>();

beforeAll(async () => {
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
});

async function visit({ person, open }: Scene): Promise<Tab> {
  const tab = tabs.get(person) ?? (await tabOf(browser, url, person));
  tabs.set(person, tab);
  await open(tab.page);
  await shown(tab.page);
  return tab;
}

test('there is a scene of every page', () => {
  const visited = scenes.map(({ path }) => path);
  for (const path of pagePaths) expect(visited).toContain(path);
});

test.each(scenes)('$name', async (scene) => {
  const { page, faults } = await visit(scene);
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['light', 390],
    ['dark', 390],
    ['dark', 1280],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    await expectNoOverflow(page);
    if ((colorScheme === 'light') === (width === 1280)) await expectAccessible(page);
  }
  expect(faults).toEqual([]);
});
