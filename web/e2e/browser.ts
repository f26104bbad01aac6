// The real browser, and what a page in it must never do.
import { existsSync } from 'node:fs';
import {
  type Browser,
  type BrowserServer,
  type ConsoleMessage,
  chromium,
  type LaunchOptions,
  type Page,
} from 'playwright-core';

const places = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Starts the browser that this machine has. */
export const launch = (): Promise<Browser> => chromium.launch(options());

/** The same, for several processes to connect to. */
export const launchServer = (): Promise<BrowserServer> => chromium.launchServer({ ...options(), host: '127.0.0.1' });

function options(): LaunchOptions {
  const executablePath = places.find((place) => place !== undefined && existsSync(place));
  if (!executablePath) {
    throw new Error('no Chromium found: run `scripts/setup chromium`, or name one in the variable CHROMIUM');
  }
  // Nothing but the server under test is to be reached. A root user's Chromium has no sandbox.
  const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  return { executablePath, args: [...quiet, '--disable-component-update', '--disable-sync', '--no-sandbox'] };
}

// A refusal of a call, which the page handles, is still a line in Chromium's console; it is no fault of the page.
const refusal = /^Failed to load resource: the server responded with a status of 4\d\d/;
const handled = (message: ConsoleMessage) =>
  refusal.test(message.text()) && new URL(message.location().url).pathname.startsWith('/api/');

/** Collects what goes wrong in a page from now on: console errors, exceptions, requests to anybody else. A violation of the
 * Content-Security-Policy is a console error too. */
export function faultsOf(page: Page, origin: string): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !handled(message)) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith(`blob:${origin}/`)) faults.push(`left for ${url}`);
  });
  return faults;
}
