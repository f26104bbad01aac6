import { describe, expect, test } from 'vitest';
import { localInput } from '../app/time';
import type { Draft } from './contract';
import { pieces, textOf } from './spans';

const span = (start: number, end: number, kind: string) => ({ start, end, kind });

test('cuts a text at the spans of all drafts, in its order', () => {
  const drafts = [{ spans: [span(5, 13, 'date')] }, { spans: [span(0, 4, 'tag')] }];
  expect(pieces('Call tomorrow now', drafts)).toEqual([
    { text: 'Call', start: 0, kind: 'tag' },
    { text: ' ', start: 4, kind: null },
    { text: 'tomorrow', start: 5, kind: 'date' },
    { text: ' now', start: 13, kind: null },
  ]);
});

test('counts in UTF-16 units', () => {
  expect(pieces('🪴 #home', [{ spans: [span(3, 8, 'tag')] }])[1]).toEqual({ text: '#home', start: 3, kind: 'tag' });
});

test.each([
  ['overlapping', [span(0, 3, 'a'), span(2, 4, 'b')]],
  ['beyond the end', [span(0, 3, 'a'), span(3, 9, 'b')]],
  ['empty', [span(0, 3, 'a'), span(3, 3, 'b')]],
])('never loses a letter to spans that are %s', (_, spans) => {
  const cut = pieces('abcd', [{ spans }]);
  expect(cut.map((piece) => piece.text).join('')).toBe('abcd');
  expect(cut.filter((piece) => piece.kind !== null)).toHaveLength(1);
});

describe('the text of some drafts', () => {
  const draft = (title: string, more: Partial<Draft> = {}): Draft => {
    return { title, notes: '', dueAt: null, priority: 'none', tags: [], spans: [], ...more };
  };

  test('is their lines, where each has one', () => {
    const drafts = [draft('Buy milk'), draft('Call Ann'), draft('Rest')];
    expect(textOf('- Buy milk #home\n\nCall Ann !high\nRest', drafts, [0, 2])).toBe('- Buy milk #home\nRest');
  });

  test('is what was understood, where a line is a heading', () => {
    const drafts = [draft('Buy milk'), draft('call Ann')];
    expect(textOf('At home:\n- Buy milk; call Ann', drafts, [0])).toBe('Buy milk');
  });

  test('is what was understood, where they share lines', () => {
    const dueAt = '2026-12-04T08:30:00.000Z';
    const drafts = [
      draft('Buy milk'),
      draft('Call Ann', { dueAt, priority: 'high', tags: ['a', 'b'], notes: 'At home\nor at work' }),
    ];
    expect(textOf('Buy milk; call Ann', drafts, [1])).toBe(
      `Call Ann ${localInput(dueAt).replace('T', ' ')} #a #b !high\n  At home\n  or at work`,
    );
  });
});
