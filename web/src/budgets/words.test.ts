import { expect, test } from 'vitest';
import { budgets } from '../contract/budgets';
import { allowance, budgetLabel, budgetReason, fileSize } from './words';

test.each([
  [{ limit: 10, windowSeconds: 60 }, '10 a minute'],
  [{ limit: 3, windowSeconds: 1 }, '3 a second'],
  [{ limit: 3, windowSeconds: 300 }, '3 in 5 min'],
  [{ limit: 3, windowSeconds: 7 }, '3 in 7 s'],
  [{ limit: 20_000, windowSeconds: 86_400 }, '20,000 a day'],
  [{ limit: 600, windowSeconds: 60, refillPerSecond: 10 }, '600 at once, then 10/s'],
  [{ limit: null, windowSeconds: 60 }, 'unlimited'],
])('%j is "%s"', (budget, want) => {
  expect(allowance(budget)).toBe(want);
});

test.each([
  [0, '0 kB'],
  [1, '1 kB'],
  [1_234_567, '1,235 kB'],
])('%d bytes are %s', (bytes, want) => {
  expect(fileSize(bytes)).toBe(want);
});

test('every budget of the contract has a name that people read, and a reason', () => {
  for (const { name } of budgets) {
    expect(budgetLabel(name), name).not.toBe(name);
    expect(budgetReason(name), name).not.toBe('');
  }
});

test('a budget that this build does not know is called by its name', () => {
  expect(budgetLabel('new.one')).toBe('new.one');
  expect(budgetReason('new.one')).toBe('');
});
