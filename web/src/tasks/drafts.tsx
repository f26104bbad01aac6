import { useEffect, useRef, useState } from 'react';
import { useBlock } from '../app/context';
import { FailureNotice } from '../app/notice';
import { wait } from '../app/time';
import type { Entry } from './entry';
import { TaskFields, taskField } from './fields';
import type { Item, Reading } from './pad';
import { pieces } from './spans';

interface Props {
  reading: Reading;
  /** Whether they are being saved. */
  busy: boolean;
  /** Whether they were asked for just now, so that they are where to go on. */
  fresh: boolean;
  onChange: (number: number, entry: Entry) => void;
  onRemove: (number: number) => void;
  onSave: () => void;
  onCancel: () => void;
}

/** What was understood, to be put right before it is saved. */
export function Drafts({ reading, busy, fresh, onChange, onRemove, onSave, onCancel }: Props) {
  const { items, begun } = reading;
  const block = useBlock('tasks.create');
  const heading = useFocus(fresh);
  return (
    <form
      className="drafts"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && !block) onSave();
      }}
    >
      <h2 ref={heading} tabIndex={-1}>
        {items.length === 1 ? 'One task, as it was understood' : `${items.length} tasks, as they were understood`}
      </h2>
      <Source reading={reading} />
      <fieldset disabled={busy} aria-label="Drafts">
        <ol>
          {items.map((item) => (
            <DraftCard
              key={item.number}
              item={item}
              onChange={(entry) => onChange(item.number, entry)}
              {...(items.length > 1 && { onRemove: () => onRemove(item.number) })}
            />
          ))}
        </ol>
      </fieldset>
      <div className="row end">
        <button type="button" className="button" disabled={busy} onClick={onCancel}>
          {begun ? `Discard the rest (${items.length})` : 'Back to the text'}
        </button>
        <button type="submit" className="button primary" disabled={busy || block !== null}>
          {block ? `Save in ${wait(block.seconds)}` : busy ? 'Saving…' : saveLabel(items.length)}
        </button>
      </div>
    </form>
  );
}

function saveLabel(count: number): string {
  return count === 1 ? 'Save the task' : `Save ${count} tasks`;
}

// Who comes back to drafts from before is not taken away from where they are.
function useFocus(fresh: boolean) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [wanted] = useState(fresh);
  useEffect(() => {
    if (wanted) heading.current?.focus();
  }, [wanted]);
  return heading;
}

function DraftCard({
  item,
  onChange,
  onRemove,
}: {
  item: Item;
  onChange: (entry: Entry) => void;
  onRemove?: () => void;
}) {
  return (
    <li className="card">
      <TaskFields entry={item.entry} onChange={onChange} faults={item.failure?.fields ?? []} />
      {item.failure && <FailureNotice failure={item.failure} beside={(field) => taskField(field) !== undefined} />}
      {onRemove && (
        <button type="button" className="button quiet small" onClick={onRemove}>
          Leave this one out
        </button>
      )}
    </li>
  );
}

// The text as it was typed, with what was understood marked.
function Source({ reading: { source, spans, parser } }: { reading: Reading }) {
  return (
    <p className="source">
      {pieces(source, spans).map((piece) =>
        piece.kind === null ? (
          piece.text
        ) : (
          <mark key={piece.start} data-kind={piece.kind}>
            {piece.text}
            <small>{piece.kind}</small>
          </mark>
        ),
      )}
      {parser === 'model' && <small className="quiet"> Read by a model: look it over.</small>}
    </p>
  );
}
