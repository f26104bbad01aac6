import { describe, expect, test } from 'vitest';
import { Failure } from '../api/failure';
import type { ParseResult } from './contract';
import { beyond, Pad } from './pad';

class Storage {
  readonly kept = new Map<string, string>();
  getItem = (key: string) => this.kept.get(key) ?? null;
  setItem = (key: string, value: string) => void this.kept.set(key, value);
}

const result = (...titles: string[]): ParseResult => ({
  parser: 'local',
  drafts: titles.map((title) => ({ title, notes: '', dueAt: null, priority: 'none', tags: [], spans: [] })),
});

function pad(storage = new Storage()): Pad {
  const made = new Pad('mine', storage);
  made.type('Buy milk\nCall Ann');
  made.read('Buy milk\nCall Ann', result('Buy milk', 'Call Ann'));
  return made;
}

const titles = (of: Pad) => of.snapshot().reading?.items.map(({ entry }) => entry.title);

test.each([
  ['what follows it', 'Buy milk\nCall Ann\n\nRest', 'Rest'],
  ['what follows in its last line', 'Buy milk\nCall Ann today', 'today'],
  ['nothing, where nothing else was typed', 'Buy milk\nCall Ann', ''],
  ['what precedes it', 'First\nBuy milk\nCall Ann', 'First'],
  ['a line of it that was changed, and what follows', 'Buy oat milk\nCall Ann\nRest', 'Buy oat milk\nRest'],
  ['a line of it that was written again', 'First\nCall Ann\nCall Ann', 'First\nCall Ann'],
  ['all, where nothing of it is there', 'Something else', 'Something else'],
])('beyond what was read is %s', (_, text, want) => {
  expect(beyond(text, 'Buy milk\nCall Ann')).toBe(want);
});

test('a second save does not begin before the first has ended', async () => {
  const mine = pad();
  const sent: string[] = [];
  let answer = () => {};
  const create = (_: unknown, { title }: { title: string }) => {
    sent.push(title);
    return new Promise<void>((resolve) => (answer = resolve));
  };
  const first = mine.save(create);
  await mine.save(create);
  expect(sent).toEqual(['Call Ann']);
  expect(mine.snapshot().saving).toBe(true);
  answer();
  await Promise.resolve();
  await expect.poll(() => sent).toEqual(['Call Ann', 'Buy milk']);
  answer();
  await first;
  expect(mine.snapshot()).toEqual({ text: '', reading: null, saving: false });
});

test('a draft at fault is passed over, and any other refusal stops the rest', async () => {
  const mine = pad();
  const failing = (code: 'VALIDATION_FAILED' | 'NETWORK') => () => Promise.reject(new Failure('no', { code }));
  await mine.save(failing('VALIDATION_FAILED'));
  const failures = () => mine.snapshot().reading?.items.map(({ failure }) => failure?.code);
  expect(failures()).toEqual(['VALIDATION_FAILED', 'VALIDATION_FAILED']);
  await mine.save(failing('NETWORK'));
  expect(failures()).toEqual(['VALIDATION_FAILED', 'NETWORK']);
  expect(mine.snapshot()).toMatchObject({ text: 'Buy milk\nCall Ann', saving: false, reading: { begun: false } });
});

test('the key of a save is kept before its answer, for the same draft after a reload', async () => {
  const storage = new Storage();
  const keys: string[] = [];
  void pad(storage).save(async (action, body) => {
    keys.push(action.keyFor(body));
    await new Promise(() => {});
  });
  await new Pad('mine', storage).save(async (action, body) => {
    keys.push(action.keyFor(body));
  });
  expect(keys).toHaveLength(3);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test('to leave out the last draft lets go of the reading, and the text stays', () => {
  const mine = pad();
  mine.leaveOut(0);
  expect(titles(mine)).toEqual(['Call Ann']);
  mine.leaveOut(1);
  expect(mine.snapshot()).toMatchObject({ reading: null, text: 'Buy milk\nCall Ann' });
});

describe('what was kept', () => {
  const kept = () => {
    const storage = new Storage();
    pad(storage);
    return JSON.parse(storage.getItem('mine') ?? '');
  };
  const restored = (value: string) => {
    const storage = new Storage();
    storage.setItem('mine', value);
    return new Pad('mine', storage);
  };

  test('is there again', () => {
    expect(titles(restored(JSON.stringify(kept())))).toEqual(['Buy milk', 'Call Ann']);
  });

  const item = { number: 0, entry: { title: 'x', notes: '', due: '', priority: 'none', tags: '' }, tried: null };
  const reading = { source: 'x', parser: 'local', spans: [], items: [item], begun: true };
  test.each([
    ['no JSON', 'Buy milk'],
    ['null', 'null'],
    ['a number', '7'],
    ['no text', JSON.stringify({ reading: null })],
    ['no reading', JSON.stringify({ text: 'x' })],
    ['no drafts', JSON.stringify({ text: 'x', reading: { ...reading, items: [] } })],
    ['a draft of null', JSON.stringify({ text: 'x', reading: { ...reading, items: [null] } })],
    [
      'an entry of another shape',
      JSON.stringify({ text: 'x', reading: { ...reading, items: [{ ...item, entry: {} }] } }),
    ],
    [
      'a priority that is not known',
      JSON.stringify({
        text: 'x',
        reading: { ...reading, items: [{ ...item, entry: { ...item.entry, priority: 'x' } }] },
      }),
    ],
    ['a key of another shape', JSON.stringify({ text: 'x', reading: { ...reading, items: [{ ...item, tried: {} }] } })],
    ['a span of another shape', JSON.stringify({ text: 'x', reading: { ...reading, spans: [{}] } })],
    ['a source of another kind', JSON.stringify({ text: 'x', reading: { ...reading, source: 7 } })],
    ['not whether it was begun', JSON.stringify({ text: 'x', reading: { ...reading, begun: undefined } })],
  ])('is ignored where it is of another shape: %s', (_, value) => {
    expect(restored(JSON.stringify({ text: 'x', reading })).snapshot().text).toBe('x');
    expect(restored(value).snapshot()).toEqual({ text: '', reading: null, saving: false });
  });

  test('may be nothing, where the browser keeps nothing', () => {
    const refusing = () => {
      throw new DOMException('no', 'SecurityError');
    };
    const mine = new Pad('mine', { getItem: refusing, setItem: refusing });
    mine.type('Buy milk');
    expect(mine.snapshot().text).toBe('Buy milk');
  });
});
