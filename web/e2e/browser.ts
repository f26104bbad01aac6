// A real browser, and the checks that every page of it must pass.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const places = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Starts the browser that this machine has. */
export function launch(): Promise<Browser> {
  const executablePath = places.find((place) => place !== undefined && existsSync(place));
  if (!executablePath) {
    throw new Error('no Chromium found: run `apt-get install chromium`, or name one in the variable CHROMIUM');
  }
  // Nothing but the server under test is to be reached. A root user's Chromium has no sandbox.
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  const args = [...quiet, '--disable-component-update', '--disable-sync', '--no-sandbox'];
  return chromium.launch({ executablePath, args });
}

/** A tab that remembers what went wrong in it: console errors, exceptions, violations of the Content-Security-Policy. */
export interface Tab {
  page: Page;
  faults: string[];
}

// A refusal that the page handles is still a line in Chromium's console; it is no fault of the page.
const handled = /Failed to load resource: the server responded with a status of 4\d\d/;

export async function openTab(browser: Browser, baseURL: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ baseURL, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !handled.test(message.text())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(baseURL) && !request.url().startsWith('blob:'))
      faults.push(`left for ${request.url()}`);
  });
  return { page, faults };
}

/** Signs in as one of the development issuer's people. */
export async function signIn(page: Page, person: string): Promise<void> {
  await page.goto('/');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByText(person).first().click();
  await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
}

// Who has signed in already, with the cookie that they got.
const sessions = new Map<string, Awaited<ReturnType<BrowserContext['storageState']>>>();

/** A tab of somebody who is signed in: by the page the first time, and with that session from then on; '' is a visitor. */
export async function tabOf(browser: Browser, baseURL: string, person: string, options: BrowserContextOptions = {}) {
  const storageState = sessions.get(person);
  const tab = await openTab(browser, baseURL, { ...options, ...(storageState ? { storageState } : {}) });
  if (storageState || person === '') return tab;
  await signIn(tab.page, person);
  const state = await tab.page.context().storageState();
  sessions.set(person, { ...state, origins: [] }); // What one tab kept for itself is not another's.
  return tab;
}

/** Waits until whatever a page shows of lists is there. */
export async function shown(page: Page): Promise<void> {
  await page.getByText('Loading…').waitFor({ state: 'hidden' });
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Axe {
  run(
    options: object,
  ): Promise<{ violations: { id: string; nodes: { target: unknown; failureSummary?: string }[] }[] }>;
}

/** Holds a page to WCAG 2.2 AA, as far as a program can tell. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const result = await axe.run({ runOnly: { type: 'tag', values: tags } });
    return result.violations.flatMap(({ id, nodes }) => nodes.map((n) => `${id} at ${n.target}: ${n.failureSummary}`));
  });
  expect(violations).toEqual([]);
}

/** Holds a page to its width: nothing is cut off, and nothing scrolls sideways. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const { content, window } = await page.evaluate(() => ({
    content: document.documentElement.scrollWidth,
    window: innerWidth,
  }));
  expect(content).toBeLessThanOrEqual(window);
}
