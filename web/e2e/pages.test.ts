// Every page, in both themes and at two widths: accessible, within its width, and there again after a reload.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { pagePaths } from '../src/app/paths';
import { expectNoOverflow, violations } from './rules';
import type { Scene } from './scene';
import { scenes } from './scenes';
import { Stage, shown } from './stage';

const stage = new Stage();

// One page for all scenes of a person: it has the app loaded, and axe. Motion is reduced, so that colours are at once what
// they will be.
async function visit({ person, open }: Scene): Promise<Page> {
  const page = await stage.keep(person);
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' });
  await open(page);
  await shown(page);
  return page;
}

test('there is a scene of every page', () => {
  const visited = scenes.map(({ path }) => path);
  for (const path of pagePaths) expect(visited).toContain(path);
});

test.each(scenes)('$name', async (scene) => {
  const page = await visit(scene);
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['light', 390],
    ['dark', 390],
    ['dark', 1280],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    await expectNoOverflow(page);
    if ((colorScheme === 'light') === (width === 1280)) expect(await violations(page)).toEqual([]);
  }
});

test('each is there after a reload', async () => {
  const page = await stage.open('Root');
  for (const path of pagePaths) {
    await page.goto(path, { waitUntil: 'commit' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.getByText('There is nothing here').count(), path).toBe(0);
  }
});
