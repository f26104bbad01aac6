import { localInput } from '../app/time';
import type { Draft, Priority, Task, TaskCreate, TaskUpdate } from './contract';

/** A task as a form holds it: all text, times in the reader's own zone. */
export interface Entry {
  title: string;
  notes: string;
  /** As an input of type datetime-local has it, to the minute; empty for none. */
  due: string;
  priority: Priority;
  /** Separated by spaces or commas, with or without #. */
  tags: string;
}

export const priorities: readonly Priority[] = ['none', 'low', 'medium', 'high'];

export function entryOf(task: Task | Draft): Entry {
  return {
    title: task.title,
    notes: task.notes,
    due: localInput(task.dueAt),
    priority: task.priority,
    tags: task.tags.map((tag) => `#${tag}`).join(' '),
  };
}

/** Whether something that was kept is an entry still. */
export function isEntry(value: unknown): value is Entry {
  const { title, notes, due, priority, tags } = (value ?? {}) as Partial<Entry>;
  const texts = [title, notes, due, tags].every((text) => typeof text === 'string');
  return texts && priorities.some((known) => known === priority);
}

export function createBody(entry: Entry): TaskCreate {
  return {
    title: entry.title.trim(),
    notes: entry.notes,
    dueAt: instant(entry.due),
    priority: entry.priority,
    tags: tagsOf(entry.tags),
  };
}

/** Only what was changed: what somebody else changed meanwhile stays theirs. */
export function updateBody(before: Entry, after: Entry): TaskUpdate {
  const body = createBody(after);
  return {
    ...(before.title === after.title ? {} : { title: body.title }),
    ...(before.notes === after.notes ? {} : { notes: body.notes ?? '' }),
    ...(before.due === after.due ? {} : { dueAt: body.dueAt ?? null }),
    ...(before.priority === after.priority ? {} : { priority: after.priority }),
    ...(before.tags === after.tags ? {} : { tags: body.tags ?? [] }),
  };
}

/** Each tag once, in the order written. */
export function tagsOf(text: string): string[] {
  const words = text.split(/[\s,]+/).map((word) => word.replace(/^#+/, '').toLowerCase());
  return [...new Set(words.filter((word) => word !== ''))];
}

function instant(input: string): string | null {
  return input === '' ? null : new Date(input).toISOString();
}

/** The reader's time zone, by its IANA name. */
export function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** An instant as people read it, such as "Tomorrow, 09:00". */
export function dueLabel(dueAt: string, today: Date): string {
  const at = new Date(dueAt);
  const time = at.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
  const days = Math.round((midnight(at) - midnight(today)) / 86_400_000);
  const near: Record<number, string> = { [-1]: 'Yesterday', 0: 'Today', 1: 'Tomorrow' };
  return `${near[days] ?? day(at, today)}, ${time}`;
}

function day(at: Date, today: Date): string {
  const year = at.getFullYear() === today.getFullYear() ? {} : { year: 'numeric' as const };
  return at.toLocaleDateString(undefined, { weekday: 'short', day: 'numeric', month: 'short', ...year });
}

function midnight(at: Date): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
}
