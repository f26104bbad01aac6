import { expect, test } from 'vitest';
import { Action } from './action';

test('every try of one thing bears one key, as the server takes it', () => {
  const action = new Action();
  const key = action.keyFor({ title: 'Buy milk' });
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(action.keyFor({ title: 'Buy milk' })).toBe(key);
});

test.each([
  ['once it is done', (action: Action) => action.done(), 'Buy milk'],
  ['once it was put right', () => {}, 'Buy oat milk'],
])('the next is another, %s', (_, between, title) => {
  const action = new Action();
  const key = action.keyFor({ title: 'Buy milk' });
  between(action);
  expect(action.keyFor({ title })).not.toBe(key);
});

test('two actions never share a key, though their content is the same', () => {
  expect(new Action().keyFor('x')).not.toBe(new Action().keyFor('x'));
});
