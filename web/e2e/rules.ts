// The rules that every page is held to in a browser.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Axe {
  run(
    options: object,
  ): Promise<{ violations: { id: string; nodes: { target: unknown; failureSummary?: string }[] }[] }>;
}

/** What axe finds on a page against WCAG 2.2 AA, as far as a program can tell: the rule, where, and how to put it right. */
export async function violations(page: Page): Promise<string[]> {
  // It stays in the document, which may be looked at in several themes.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const result = await axe.run({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] });
    return result.violations.flatMap(({ id, nodes }) => nodes.map((n) => `${id} at ${n.target}: ${n.failureSummary}`));
  });
}

/** Holds a page to its width: nothing is cut off, and nothing scrolls sideways. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const { content, window } = await page.evaluate(() => ({
    content: document.documentElement.scrollWidth,
    window: innerWidth,
  }));
  expect(content).toBeLessThanOrEqual(window);
}
