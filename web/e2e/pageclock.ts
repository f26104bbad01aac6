// The page's own clock in the hands of a test: what waits five seconds or a minute in the page takes no time, and a
// machine that is busy makes nothing late.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Is to be called before the page is opened: from then on its clock can be stopped. */
export const wind = (page: Page): Promise<void> => page.clock.install();

/** Stops the page's clock. It goes on by pass() alone. */
export async function stop(page: Page): Promise<void> {
  const present = await page.evaluate(() => Date.now());
  await page.clock.pauseAt(present + 30_000); // Never behind, however long this takes to arrive.
}

/** Lets time pass in the page, with everything that is due by then. */
export const pass = (page: Page, milliseconds: number): Promise<void> => page.clock.runFor(milliseconds);

/** Waits until something is so, with the page's clock all but standing: a millisecond at each look, in which what has arrived is shown. */
export async function eventually<T>(page: Page, look: () => T | Promise<T>, wanted: NoInfer<T>): Promise<void> {
  const advanceAndLook = async () => {
    await pass(page, 1);
    return look();
  };
  await expect.poll(advanceAndLook, { timeout: 100_000 }).toEqual(wanted);
}
