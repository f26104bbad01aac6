import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Action } from '../api/action';
import { asFailure, type Failure } from '../api/failure';
import { useBlock } from '../app/context';
import { FailureNotice } from '../app/notice';
import { wait } from '../app/time';
import { useTasksApi } from './api';
import { addTask } from './cache';
import type { Draft, ParseResult } from './contract';
import { createBody, type Entry, entryOf } from './entry';
import { TaskFields, taskField } from './fields';
import { pieces, textOf } from './spans';

interface Props {
  result: ParseResult & { source: string };
  /** Whether they are being saved, which the text above them must wait for. */
  busy: boolean;
  onBusy: (busy: boolean) => void;
  /** Is told what of the text is not saved yet, each time that a draft is. */
  onProgress: (left: string) => void;
  onSaved: () => void;
  onCancel: () => void;
}

// A draft on the page. Its number stays its own when others are saved or left out.
interface Item {
  number: number;
  entry: Entry;
  action: Action;
  failure: Failure | null;
}

/** What was understood, to be put right before it is saved. */
export function Drafts(props: Props) {
  const { result, busy, onCancel } = props;
  const { items, setItems, save } = useDrafts(props);
  const block = useBlock('tasks.create');
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <form
      className="drafts"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && !block) void save();
      }}
    >
      <h2 ref={heading} tabIndex={-1}>
        {items.length === 1 ? 'One task, as it was understood' : `${items.length} tasks, as they were understood`}
      </h2>
      <Source text={result.source} drafts={result.drafts} parser={result.parser} />
      <fieldset disabled={busy} aria-label="Drafts">
        <ol>
          {items.map((item) => (
            <DraftCard
              key={item.number}
              item={item}
              onChange={(entry) => setItems(items.map((i) => (i === item ? { ...item, entry } : i)))}
              {...(items.length > 1 && { onRemove: () => setItems(items.filter((i) => i !== item)) })}
            />
          ))}
        </ol>
      </fieldset>
      <div className="row end">
        <button type="button" className="button" disabled={busy} onClick={onCancel}>
          Back to the text
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

// One draft after the other: a refusal stops the rest, and what is saved leaves the form and the text above it, so that
// neither saving nor reading again makes a task twice. The last goes first: the list has the newest on top, and so it has
// them in the order in which they were written.
function useDrafts({ result: { source, drafts }, onBusy, onProgress, onSaved }: Props) {
  const api = useTasksApi();
  const client = useQueryClient();
  const [items, setItems] = useState(() =>
    drafts.map<Item>((draft, number) => ({ number, entry: entryOf(draft), action: new Action(), failure: null })),
  );
  const save = async () => {
    onBusy(true);
    let left = items.map((item) => ({ ...item, failure: null as Failure | null }));
    for (const item of left.toReversed()) {
      try {
        addTask(client, await api.create(item.action, createBody(item.entry)));
        left = left.filter((i) => i.number !== item.number);
        onProgress(
          textOf(
            source,
            drafts,
            left.map(({ number }) => number),
          ),
        );
      } catch (thrown) {
        const failure = asFailure(thrown);
        left = left.map((i) => (i.number === item.number ? { ...item, failure } : i));
        if (failure.code !== 'VALIDATION_FAILED') break;
      }
    }
    onBusy(false);
    setItems(left);
    if (left.length === 0) onSaved();
  };
  return { items, setItems, save };
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
function Source({ text, drafts, parser }: { text: string; drafts: readonly Draft[]; parser: string }) {
  return (
    <p className="source">
      {pieces(text, drafts).map((piece) =>
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
