import { type ReactNode, useId, useState } from 'react';
import type { FieldError } from '../api/contract';
import { fieldLabel } from '../app/notice';
import type { Priority } from './contract';
import { type Entry, priorities } from './entry';

interface Props {
  entry: Entry;
  onChange: (entry: Entry) => void;
  /** What the server found wrong; it is said beside the fields. */
  faults?: readonly FieldError[];
  autoFocus?: boolean;
}

const names = ['title', 'dueAt', 'priority', 'tags', 'notes'] as const;

/** The name of the field here that a path of the server's leads to, such as "tags[2]"; undefined for a field that is not here. */
export function taskField(path: string): (typeof names)[number] | undefined {
  return names.find((name) => path === name || path.startsWith(`${name}[`));
}

/** The fields of a task, in a form of the caller's. */
export function TaskFields({ entry, onChange, faults = [], autoFocus = false }: Props) {
  const id = useId();
  const [hadNotes] = useState(entry.notes !== '');
  const set = (change: Partial<Entry>) => onChange({ ...entry, ...change });
  const wrong = (name: string) => faults.filter(({ field }) => taskField(field) === name);
  const field = (name: (typeof names)[number]) => ({
    id: `${id}-${name}`,
    ...(wrong(name).length > 0 && { 'aria-invalid': true, 'aria-describedby': `${id}-${name}-faults` }),
  });
  const below = (name: (typeof names)[number]) => <Faults id={`${id}-${name}-faults`} faults={wrong(name)} />;
  return (
    <div className="fields">
      <Field label="Title" id={`${id}-title`} wide below={below('title')}>
        <input
          {...field('title')}
          // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit this task
          autoFocus={autoFocus}
          required
          maxLength={200}
          value={entry.title}
          onChange={(e) => set({ title: e.target.value })}
        />
      </Field>
      <Field label="Due" id={`${id}-dueAt`} below={below('dueAt')}>
        <input
          {...field('dueAt')}
          type="datetime-local"
          max="9999-12-31T23:59"
          value={entry.due}
          onChange={(e) => set({ due: e.target.value })}
        />
      </Field>
      <Field label="Priority" id={`${id}-priority`} below={below('priority')}>
        <select
          {...field('priority')}
          value={entry.priority}
          onChange={(e) => set({ priority: e.target.value as Priority })}
        >
          {priorities.map((priority) => (
            <option key={priority}>{priority}</option>
          ))}
        </select>
      </Field>
      <Field label="Tags" id={`${id}-tags`} below={below('tags')}>
        <input {...field('tags')} value={entry.tags} onChange={(e) => set({ tags: e.target.value })} />
      </Field>
      <details className="wide" open={hadNotes || wrong('notes').length > 0}>
        <summary>Notes</summary>
        <textarea
          {...field('notes')}
          aria-label="Notes"
          rows={2}
          maxLength={10_000}
          value={entry.notes}
          onChange={(e) => set({ notes: e.target.value })}
        />
        {below('notes')}
      </details>
    </div>
  );
}

interface FieldProps {
  label: string;
  id: string;
  wide?: boolean;
  below: ReactNode;
  children: ReactNode;
}

function Field({ label, id, wide = false, below, children }: FieldProps) {
  return (
    <div className={wide ? 'wide' : undefined}>
      <label htmlFor={id}>
        {label}
        {children}
      </label>
      {below}
    </div>
  );
}

function Faults({ id, faults }: { id: string; faults: readonly FieldError[] }) {
  if (faults.length === 0) return null;
  return (
    <small id={id} className="faults">
      {faults.map((fault) => `${fieldLabel(fault.field)} ${fault.message}.`).join(' ')}
    </small>
  );
}
