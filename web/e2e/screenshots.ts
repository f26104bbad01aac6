// Takes a picture of each scene, in both themes and at two widths, into screenshots/.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, inject, test } from 'vitest';
import { launch, shown, tabOf } from './browser';
import { scenes } from './scenes';

const folder = fileURLToPath(new URL('../screenshots/', import.meta.url));
let browser: Awaited<ReturnType<typeof launch>>;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  browser = await launch();
});

afterAll(() => browser?.close());

test.each(scenes)('$name', async ({ name, person, open }) => {
  const { page } = await tabOf(browser, inject('url'), person, { reducedMotion: 'reduce' });
  await open(page);
  await shown(page);
  await page.mouse.move(0, 0); // Nothing is to look pointed at.
  // A dialog lies over what is seen, and the reference is endless.
  const clipped = name === 'api' || (await page.getByRole('dialog').isVisible());
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [390, 1280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 844 });
      await page.locator('.opblock.is-open').evaluateAll(([block]) => block?.scrollIntoView());
      await page.screenshot({
        path: `${folder}${name.replaceAll(' ', '-')}-${colorScheme}-${width}.png`,
        fullPage: !clipped,
      });
    }
  }
  await page.context().close();
});
