import { useId, useState } from 'react';
import type { FieldError } from '../api/contract';
import type { Priority } from './contract';
import { type Entry, priorities } from './entry';

interface Props {
  entry: Entry;
  onChange: (entry: Entry) => void;
  /** What the server found wrong, by field. */
  faults?: readonly FieldError[];
  /** The id of what says it in words. */
  describedBy?: string;
  autoFocus?: boolean;
}

/** The fields of a task, in a form of the caller's. */
export function TaskFields({ entry, onChange, faults = [], describedBy, autoFocus = false }: Props) {
  const id = useId();
  const [hadNotes] = useState(entry.notes !== '');
  const set = (change: Partial<Entry>) => onChange({ ...entry, ...change });
  const field = (name: string) => {
    const wrong = faults.some((fault) => fault.field.startsWith(name));
    return {
      id: `${id}-${name}`,
      ...(wrong && { 'aria-invalid': true, 'aria-describedby': describedBy }),
    };
  };
  return (
    <div className="fields">
      <label className="wide" htmlFor={`${id}-title`}>
        Title
        <input
          {...field('title')}
          // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit this task
          autoFocus={autoFocus}
          required
          maxLength={200}
          value={entry.title}
          onChange={(e) => set({ title: e.target.value })}
        />
      </label>
      <label htmlFor={`${id}-dueAt`}>
        Due
        <input
          {...field('dueAt')}
          type="datetime-local"
          max="9999-12-31T23:59"
          value={entry.due}
          onChange={(e) => set({ due: e.target.value })}
        />
      </label>
      <label htmlFor={`${id}-priority`}>
        Priority
        <select
          {...field('priority')}
          value={entry.priority}
          onChange={(e) => set({ priority: e.target.value as Priority })}
        >
          {priorities.map((priority) => (
            <option key={priority}>{priority}</option>
          ))}
        </select>
      </label>
      <label className="tags" htmlFor={`${id}-tags`}>
        Tags
        <input {...field('tags')} value={entry.tags} onChange={(e) => set({ tags: e.target.value })} />
      </label>
      <details className="wide" open={hadNotes}>
        <summary>Notes</summary>
        <textarea
          {...field('notes')}
          aria-label="Notes"
          rows={2}
          maxLength={10_000}
          value={entry.notes}
          onChange={(e) => set({ notes: e.target.value })}
        />
      </details>
    </div>
  );
}
