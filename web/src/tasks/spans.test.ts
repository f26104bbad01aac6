import { expect, test } from 'vitest';
import { pieces } from './spans';

const span = (start: number, end: number, kind: string) => ({ start, end, kind });

test('cuts a text at the spans of its drafts, in its own order', () => {
  expect(pieces('Call tomorrow now', [span(5, 13, 'date'), span(0, 4, 'tag')])).toEqual([
    { text: 'Call', start: 0, kind: 'tag' },
    { text: ' ', start: 4, kind: null },
    { text: 'tomorrow', start: 5, kind: 'date' },
    { text: ' now', start: 13, kind: null },
  ]);
});

test('counts in UTF-16 units', () => {
  expect(pieces('🪴 #home', [span(3, 8, 'tag')])[1]).toEqual({ text: '#home', start: 3, kind: 'tag' });
});

test.each([
  ['overlapping', [span(0, 3, 'a'), span(2, 4, 'b')]],
  ['beyond the end', [span(0, 3, 'a'), span(3, 9, 'b')]],
  ['empty', [span(0, 3, 'a'), span(3, 3, 'b')]],
])('never loses a letter to spans that are %s', (_, spans) => {
  const cut = pieces('abcd', spans);
  expect(cut.map((piece) => piece.text).join('')).toBe('abcd');
  expect(cut.filter((piece) => piece.kind !== null)).toHaveLength(1);
});
