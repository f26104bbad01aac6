import type { Draft } from './contract';

/** A piece of a text, and what it was understood as; kind is null for the rest. */
export interface Piece {
  text: string;
  start: number;
  kind: string | null;
}

/** Cuts a text at the spans of its drafts. Spans count in UTF-16 units, as strings here do; one that overlaps is left out. */
export function pieces(text: string, spans: Draft['spans']): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const { start, end, kind } of spans.toSorted((a, b) => a.start - b.start)) {
    if (start < at || end <= start || end > text.length) continue;
    if (start > at) found.push({ text: text.slice(at, start), start: at, kind: null });
    found.push({ text: text.slice(start, end), start, kind });
    at = end;
  }
  if (at < text.length) found.push({ text: text.slice(at), start: at, kind: null });
  return found;
}
