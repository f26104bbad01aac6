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

test('what is true for a minute is asked for anew after that', () => {
  let at = 5_000;
  const action = new Action(60_000, () => at);
  const key = action.keyFor('Call Ann in an hour');
  at += 59_999;
  expect(action.keyFor('Call Ann in an hour')).toBe(key);
  at += 1;
  expect(action.keyFor('Call Ann in an hour')).not.toBe(key);
});

test('two actions never share a key, though their content is the same', () => {
  expect(new Action().keyFor('x')).not.toBe(new Action().keyFor('x'));
});

test('one that is resumed goes on with its key, for the same content only', () => {
  const before = new Action();
  const key = before.keyFor({ title: 'Buy milk' });
  const kept = JSON.parse(JSON.stringify(before.tried));
  expect(Action.resumed(kept).keyFor({ title: 'Buy milk' })).toBe(key);
  expect(Action.resumed(kept).keyFor({ title: 'Buy oat milk' })).not.toBe(key);
});
