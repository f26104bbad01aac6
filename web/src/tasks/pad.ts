import { Action, type Try } from '../api/action';
import type { Api } from '../api/api';
import { asFailure, type Failure } from '../api/failure';
import { useApi } from '../app/context';
import type { Draft, ParseResult, TaskCreate } from './contract';
import { createBody, type Entry, entryOf, isEntry } from './entry';

/** A draft that is not saved yet. Its number stays its own when others are saved or left out. */
export interface Item {
  number: number;
  entry: Entry;
  action: Action;
  failure: Failure | null;
}

/** What was read of a text, without what of it is saved or left out. */
export interface Reading {
  source: string;
  parser: string;
  spans: Draft['spans'];
  items: readonly Item[];
  /** Whether something of it is saved: what was read has left the text then, and there is nothing to go back to. */
  begun: boolean;
}

export interface Jotted {
  text: string;
  reading: Reading | null;
  saving: boolean;
}

/** Makes the task of a draft. */
export type Create = (action: Action, body: TaskCreate) => Promise<void>;

/**
 * What one person has typed and not saved yet: a text, and the drafts that were read of it, as they were put right. It
 * outlives the part of the page that shows it, a reload and a new sign-in, though not the tab: so who leaves during a
 * save and comes back finds the save, and neither saving nor reading again makes a task twice.
 */
export class Pad {
  private state: Jotted;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly key: string,
    private readonly storage: Pick<Storage, 'getItem' | 'setItem'>,
  ) {
    this.state = { ...this.restored(), saving: false };
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): Jotted => this.state;

  type(text: string): void {
    this.change({ text });
  }

  /** Takes in what was read of a text, unless that has no tasks. */
  read(source: string, { parser, drafts }: ParseResult): void {
    const items = drafts.map((draft, number) => {
      return { number, entry: entryOf(draft), action: new Action(), failure: null };
    });
    const spans = drafts.flatMap((draft) => draft.spans);
    this.change({ reading: items.length > 0 ? { source, parser, spans, items, begun: false } : null });
  }

  correct(number: number, entry: Entry): void {
    this.changeItem(number, { entry });
  }

  leaveOut(number: number): void {
    this.keepItems((item) => item.number !== number);
  }

  /** Lets go of the drafts. The text stays, with what they were read from if nothing of it is saved. */
  drop(): void {
    this.change({ reading: null });
  }

  /**
   * Saves one draft after the other, unless that is being done: a refusal stops the rest. The last goes first: the list
   * has the newest on top, and so it has them in the order in which they were written.
   */
  async save(create: Create): Promise<void> {
    if (this.state.saving) return;
    this.change({ saving: true });
    for (const item of this.state.reading?.items.toReversed() ?? []) {
      const failure = await this.saveOne(item, create);
      if (failure && failure.code !== 'VALIDATION_FAILED') break;
    }
    this.change({ saving: false });
  }

  // The key that it bears is kept before it leaves: who loads the page anew meanwhile sends the same.
  private async saveOne({ number, entry, action }: Item, create: Create): Promise<Failure | null> {
    try {
      const body = createBody(entry);
      action.keyFor(body);
      this.changeItem(number, { failure: null });
      await create(action, body);
    } catch (thrown) {
      const failure = asFailure(thrown);
      this.changeItem(number, { failure });
      return failure;
    }
    this.saved(number);
    return null;
  }

  private saved(number: number): void {
    const { text, reading } = this.state;
    if (reading && !reading.begun) {
      this.change({ text: beyond(text, reading.source), reading: { ...reading, begun: true } });
    }
    this.leaveOut(number);
  }

  private changeItem(number: number, changed: Partial<Item>): void {
    const { reading } = this.state;
    const items = reading?.items.map((item) => (item.number === number ? { ...item, ...changed } : item)) ?? [];
    if (reading) this.change({ reading: { ...reading, items } });
  }

  private keepItems(kept: (item: Item) => boolean): void {
    const { reading } = this.state;
    const items = reading?.items.filter(kept) ?? [];
    this.change({ reading: reading && items.length > 0 ? { ...reading, items } : null });
  }

  private change(changed: Partial<Jotted>): void {
    this.state = { ...this.state, ...changed };
    this.keep();
    for (const listener of this.listeners) listener();
  }

  // A browser that keeps nothing has it until the page is left.
  private keep(): void {
    const { text, reading } = this.state;
    try {
      this.storage.setItem(this.key, JSON.stringify({ text, reading: reading && packed(reading) }));
    } catch {}
  }

  private restored(): Omit<Jotted, 'saving'> {
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(this.key) ?? 'null');
      if (isStored(stored)) return { text: stored.text, reading: stored.reading && unpacked(stored.reading) };
    } catch {}
    return { text: '', reading: null };
  }
}

/**
 * What of a text was typed beyond what was read of it. Where its beginning is another by now, what was read are the lines
 * that are the same still.
 */
export function beyond(text: string, source: string): string {
  if (text.startsWith(source)) return text.slice(source.length).trimStart();
  const read = source.split('\n');
  const typed = text.split('\n').filter((line) => {
    const at = read.indexOf(line);
    if (at >= 0) read.splice(at, 1);
    return at < 0;
  });
  return typed.join('\n').trimStart();
}

interface Stored {
  text: string;
  reading: StoredReading | null;
}

type StoredReading = Omit<Reading, 'items'> & { items: StoredItem[] };

interface StoredItem {
  number: number;
  entry: Entry;
  tried: Try | null;
}

// Why a draft was refused is not kept: saving it again says it.
function packed({ items, ...rest }: Reading): StoredReading {
  return { ...rest, items: items.map(({ number, entry, action }) => ({ number, entry, tried: action.tried })) };
}

function unpacked({ items, ...rest }: StoredReading): Reading {
  return {
    ...rest,
    items: items.map(({ number, entry, tried }) => ({ number, entry, action: Action.resumed(tried), failure: null })),
  };
}

// What is of another shape was kept by another version of this page.
function isStored(value: unknown): value is Stored {
  const { text, reading } = (value ?? {}) as Partial<Stored>;
  return typeof text === 'string' && (reading === null || isReading(reading));
}

function isReading(value: unknown): value is StoredReading {
  const { source, parser, spans, items, begun } = (value ?? {}) as Partial<StoredReading>;
  return (
    typeof source === 'string' &&
    typeof parser === 'string' &&
    typeof begun === 'boolean' &&
    Array.isArray(spans) &&
    spans.every(isSpan) &&
    Array.isArray(items) &&
    items.length > 0 &&
    items.every(isItem)
  );
}

function isSpan(value: unknown): boolean {
  const { start, end, kind } = (value ?? {}) as Partial<Draft['spans'][number]>;
  return typeof start === 'number' && typeof end === 'number' && typeof kind === 'string';
}

function isItem(value: unknown): boolean {
  const { number, entry, tried } = (value ?? {}) as Partial<StoredItem>;
  return typeof number === 'number' && isEntry(entry) && (tried === null || isTry(tried));
}

function isTry(value: unknown): boolean {
  const { content, key, at } = (value ?? {}) as Partial<Try>;
  return typeof content === 'string' && typeof key === 'string' && typeof at === 'number';
}

// One for each person that a page was for, as long as the page is there.
const pads = new WeakMap<Api, Map<string, Pad>>();

/** The pad of whoever the page is for. */
export function usePad(): Pad {
  const api = useApi();
  const key = `quick-add ${api.identity.whose()}`;
  const mine = pads.get(api) ?? new Map<string, Pad>();
  pads.set(api, mine);
  const pad = mine.get(key) ?? new Pad(key, sessionStorage);
  mine.set(key, pad);
  return pad;
}
