// Takes a picture of each scene, in both themes and at two widths, into screenshots/.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, test } from 'vitest';
import { scenes } from './scenes';
import { Stage, shown } from './stage';

const folder = fileURLToPath(new URL('../screenshots/', import.meta.url));
const stage = new Stage();

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
});

test.each(scenes)('$name', async ({ name, person, open }) => {
  const page = await stage.openAfresh(person || undefined);
  await page.emulateMedia({ reducedMotion: 'reduce' });
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
});
