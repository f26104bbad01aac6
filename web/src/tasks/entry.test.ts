import { describe, expect, test } from 'vitest';
import { createBody, dueLabel, entryOf, tagsOf, updateBody } from './entry';
import { task } from './fake';

const plain = task('Water the plants', {
  dueAt: '2026-12-04T08:30:15.250Z',
  tags: ['home', 'green'],
  notes: 'All of them',
});

test('a task goes through a form unchanged, but for the seconds of its time', () => {
  expect(createBody(entryOf(plain))).toEqual({
    title: 'Water the plants',
    notes: 'All of them',
    dueAt: '2026-12-04T08:30:00.000Z',
    priority: 'none',
    tags: ['home', 'green'],
  });
});

describe('an update', () => {
  const before = entryOf(plain);
  test.each([
    ['nothing', {}, {}],
    ['the title', { title: ' New ' }, { title: 'New' }],
    ['no time', { due: '' }, { dueAt: null }],
    ['no tags', { tags: '' }, { tags: [] }],
    ['no notes', { notes: '' }, { notes: '' }],
    ['the priority', { priority: 'high' as const }, { priority: 'high' }],
  ])('sends what was changed and nothing else: %s', (_, change, want) => {
    expect(updateBody(before, { ...before, ...change })).toEqual(want);
  });
});

test.each([
  ['', []],
  ['#Home  work,home ##deep', ['home', 'work', 'deep']],
  [' # , ', []],
])('tags of "%s"', (text, want) => {
  expect(tagsOf(text)).toEqual(want);
});

test.each([
  [0, /^Today, /],
  [1, /^Tomorrow, /],
  [-1, /^Yesterday, /],
  [5, /^Fri.* 4|^Fri, Dec 4/],
])('%d days from now', (days, want) => {
  const today = new Date(2026, 10, 29, 23, 30);
  const due = new Date(2026, 10, 29 + days, 0, 15);
  expect(dueLabel(due.toISOString(), today)).toMatch(want);
});
