import { localInput } from '../app/time';
import type { Draft } from './contract';

/** A piece of a text, and what it was understood as; kind is null for the rest. */
export interface Piece {
  text: string;
  start: number;
  kind: string | null;
}

/** Cuts a text at the spans of all drafts. Spans count in UTF-16 units, as strings here do; one that overlaps is left out. */
export function pieces(text: string, drafts: readonly Pick<Draft, 'spans'>[]): Piece[] {
  const spans = drafts.flatMap((draft) => draft.spans).sort((a, b) => a.start - b.start);
  const found: Piece[] = [];
  let at = 0;
  for (const { start, end, kind } of spans) {
    if (start < at || end <= start || end > text.length) continue;
    if (start > at) found.push({ text: text.slice(at, start), start: at, kind: null });
    found.push({ text: text.slice(start, end), start, kind });
    at = end;
  }
  if (at < text.length) found.push({ text: text.slice(at), start: at, kind: null });
  return found;
}

/**
 * What to write for some of the drafts of a text, by their numbers, so that reading it gives them and no others: their lines, where
 * each draft has one of its own; else what was understood, in words that are understood again.
 */
export function textOf(text: string, drafts: readonly Draft[], numbers: readonly number[]): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const own = lines.length === drafts.length && drafts.every(({ title }, i) => holds(lines[i] ?? '', title));
  const words = own ? lines : drafts.map(wordsOf);
  return numbers.map((number) => words[number]).join('\n');
}

// A heading or a note is a line of which no draft is made.
function holds(line: string, title: string): boolean {
  const found = line.toLowerCase();
  return title
    .toLowerCase()
    .split(/\s+/)
    .every((word) => found.includes(word));
}

function wordsOf({ title, dueAt, priority, tags, notes }: Draft): string {
  const due = localInput(dueAt).replace('T', ' ');
  const marks = [...tags.map((tag) => `#${tag}`), ...(priority === 'none' ? [] : [`!${priority}`])];
  const line = [title, due, ...marks].filter(Boolean).join(' ');
  return [
    line,
    ...notes
      .split('\n')
      .filter(Boolean)
      .map((note) => `  ${note}`),
  ].join('\n');
}
