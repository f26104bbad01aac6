// The tests of the tests: each fault that no page may have is found, and fails the test in which it happens.
import { expect, test } from 'vitest';
import { expectNoOverflow, violations } from './rules';
import { goTo, Stage } from './stage';

const stage = new Stage();

test.each([
  ['an error in the console', 'console.error("a complaint")', /^console: a complaint/],
  ['an exception', 'void setTimeout(() => { throw new Error("a mistake") })', /^exception: a mistake/],
  ['a rejection', 'void Promise.reject(new Error("a promise"))', /^exception: a promise/],
  ['an inline script', 'append("script", { textContent: "1" })', /Content Security Policy.*script-src/],
  ['an inline style', 'append("style", { textContent: "p { color: red }" })', /Content Security Policy.*style-src/],
  [
    'a picture from elsewhere',
    'append("img", { src: "http://127.0.0.1:9/pixel.png" })',
    /Content Security Policy.*img-src/,
  ],
  [
    'a call of somebody else',
    'void fetch("http://127.0.0.1:9/").catch(() => {})',
    /Content Security Policy.*connect-src/,
  ],
  ['a file that is not there', 'append("script", { src: "/assets/none.js", type: "module" })', /status of 404/],
])('%s is a fault', async (_, deed, fault) => {
  const page = await stage.keep('');
  await goTo(page, '/');
  await page.evaluate(`{
    const append = (tag, properties) => void document.head.append(Object.assign(document.createElement(tag), properties));
    ${deed}
  }`);
  await expect.poll(() => stage.faults(), { timeout: 100_000 }).toContainEqual(expect.stringMatching(fault));
  stage.forgive(/./);
});

test.fails('a page with a fault fails its test', async () => {
  const page = await stage.openAfresh();
  const written = page.waitForEvent('console');
  await page.evaluate(() => console.error('a complaint'));
  await written;
});

test('axe finds what has no name', async () => {
  const page = await stage.keep('');
  await goTo(page, '/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const nameless = '<input><img src="/icon.svg"><button type="button"></button>';
  const main = page.locator('main');
  await main.evaluate((element, html) => element.insertAdjacentHTML('beforeend', html), nameless);
  const found = await violations(page);
  for (const rule of ['label', 'image-alt', 'button-name']) {
    expect(found).toContainEqual(expect.stringMatching(`^${rule} at`));
  }
});

test('axe finds text that is too pale, in the theme in which it is', async () => {
  const page = await stage.openAfresh();
  await page.goto('/');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.getByRole('heading', { level: 1 }).evaluate((heading) => {
    heading.style.color = '#ffffff';
  });
  expect(await violations(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await violations(page)).toContainEqual(expect.stringMatching(/^color-contrast at h1/));
});

test('what is wider than the page is found', async () => {
  const page = await stage.openAfresh();
  await page.goto('/');
  await page.getByRole('heading', { level: 1 }).evaluate((heading) => {
    heading.style.width = '3000px';
  });
  await expect(expectNoOverflow(page)).rejects.toThrow();
});
