// What a file of end-to-end tests plays on: a server of its own, and a browser profile for each person.
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { faultsOf } from './browser';
import { type Numbers, type Server, startServer } from './server';

/** One of the development issuer's people. */
export type Person = 'Alice Archer' | 'Bob Baker' | 'Carol Carter' | 'Dave Dyer' | 'Root';

// Far more than anything takes: a machine that is busy with other things is no fault.
const patience = 100_000;

/**
 * Is made once in a file, outside of its tests. After each test every page is closed, and the test fails if one of them
 * wrote an error to the console, violated its policy or asked anybody but the server.
 */
export class Stage {
  private running: Server | undefined;
  private browser: Browser | undefined;
  private readonly profiles = new Map<Person, BrowserContext>();
  private readonly kept = new Map<Person | '', Page>();
  private readonly pages: Page[] = [];
  private readonly noted: string[][] = [];

  constructor(numbers: Numbers = {}) {
    beforeAll(async () => {
      [this.running, this.browser] = await Promise.all([startServer(numbers), chromium.connect(inject('browser'))]);
    });
    afterEach(() => this.clear());
    afterAll(() => Promise.all([this.running?.stop(), this.browser?.close()]));
  }

  get server(): Server {
    if (!this.running) throw new Error('the server is there once the tests run');
    return this.running;
  }

  /** A page in somebody's profile, where they are signed in; it is the same profile in all tests of the file. */
  async open(person: Person): Promise<Page> {
    const profile = this.profiles.get(person) ?? (await this.profileOf(person));
    this.profiles.set(person, profile);
    return this.pageOf(profile);
  }

  /** A page in a profile that nobody has used before: a visitor's, or of somebody who is signed in there too. */
  async openAfresh(person?: Person): Promise<Page> {
    if (!person) return this.pageOf(await this.profile());
    const storageState = await (await this.open(person)).context().storageState();
    return this.pageOf(await this.profile({ storageState: { ...storageState, origins: [] } }));
  }

  /** A page that stays open for all tests of the file, of somebody or of a visitor. */
  async keep(person: Person | ''): Promise<Page> {
    const page = this.kept.get(person) ?? (await (person ? this.open(person) : this.openAfresh()));
    this.kept.set(person, page);
    return page;
  }

  /** What has gone wrong in this test. */
  faults(): string[] {
    return this.noted.flat();
  }

  /** Forgets what is meant to go wrong. */
  forgive(meant: RegExp): void {
    for (const faults of this.noted) faults.splice(0, faults.length, ...faults.filter((fault) => !meant.test(fault)));
  }

  private async profileOf(person: Person): Promise<BrowserContext> {
    const profile = await this.profile();
    await signIn(await this.pageOf(profile), person);
    return profile;
  }

  private async profile(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    if (!this.browser) throw new Error('the browser is there once the tests run');
    const profile = await this.browser.newContext({ baseURL: this.server.url, ...options });
    profile.setDefaultTimeout(patience);
    return profile;
  }

  private async pageOf(profile: BrowserContext): Promise<Page> {
    const page = await profile.newPage();
    this.pages.push(page);
    this.noted.push(faultsOf(page, this.server.url));
    return page;
  }

  private async clear(): Promise<void> {
    const kept = [...this.kept.values()];
    const closing = this.pages.filter((page) => !kept.includes(page) && !page.isClosed());
    await Promise.all(closing.map((page) => page.close()));
    const faults = this.faults();
    this.forgive(/./);
    expect(faults).toEqual([]);
  }
}

/** Signs in by the page, as a visitor does. */
export async function signIn(page: Page, person: Person): Promise<void> {
  await page.goto('/');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByText(person).first().click();
  await page.getByRole('banner').getByRole('button', { name: person }).waitFor();
}

/** Goes to a page of the app as its links do, without loading it anew; where it is there already, or nothing is, it is loaded. */
export async function goTo(page: Page, path: string): Promise<void> {
  if (page.url() === 'about:blank' || page.url().endsWith(path)) await page.goto(path);
  else await page.evaluate((to) => history.pushState(null, '', to), path);
}

/** Waits until whatever a page shows of lists is there. */
export async function shown(page: Page): Promise<void> {
  await page.getByText('Loading…').waitFor({ state: 'hidden' });
}
