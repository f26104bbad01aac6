// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { keepNamed } from './labels';

const markup = `
  <table class="parameters"><tr><td class="parameter__name">done<span>*</span></td><td><select></select></td></tr></table>
  <div class="body-param"><textarea></textarea></div>
  <button class="close-modal"></button>
  <table class="responses-table" id="get_api_v1_org_responses"></table>
  <button class="modal-btn" aria-label="Apply credentials">Authorize</button>`;

test('what comes without a name gets one, also when it comes later, until it is stopped', async () => {
  const place = document.createElement('div');
  const stop = keepNamed(place);
  place.innerHTML = markup;
  await Promise.resolve();
  const name = (selector: string) => place.querySelector(selector)?.getAttribute('aria-label');
  expect(name('select')).toBe('done');
  expect(name('textarea')).toBe('Request body');
  expect(name('.close-modal')).toBe('Close');
  expect(name('.responses-table')).toBe('Responses of get api v1 org');
  expect(name('.modal-btn')).toBeNull();
  stop();
  place.innerHTML = markup;
  await Promise.resolve();
  expect(name('select')).toBeNull();
});
