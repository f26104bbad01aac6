import { useMutation } from '@tanstack/react-query';
import { type KeyboardEvent, useRef, useState } from 'react';
import { Action } from '../api/action';
import { asFailure } from '../api/failure';
import { useApi, useBlock } from '../app/context';
import { FailureNotice, Notice } from '../app/notice';
import { wait } from '../app/time';
import { useTasksApi } from './api';
import type { ParseResult } from './contract';
import { Drafts } from './drafts';
import { timeZone } from './entry';

// What was typed outlives a reload and a new sign-in of the same person, though not the tab.
const kept = 'quick-add';
// "In an hour" is another time after this long, so that the reading whose answer was lost is of no use any more.
const trueForMs = 60_000;

/** Free text in, drafts to look over, tasks out. */
export function QuickAdd() {
  const api = useTasksApi();
  const [text, setText] = useKeptText();
  const input = useRef<HTMLTextAreaElement>(null);
  const [action] = useState(() => new Action(trueForMs));
  const reading = useMutation({
    mutationFn: async (source: string): Promise<ParseResult & { source: string }> => {
      return { ...(await api.parse(action, source, timeZone())), source };
    },
  });
  const [saving, setSaving] = useState(false);
  const unsaved = useRef('');
  const progressed = (left: string) => {
    const before = unsaved.current;
    setText((now) => (now.startsWith(before) ? left + now.slice(before.length) : now)); // What was typed since stays.
    unsaved.current = left;
  };
  const close = () => {
    reading.reset();
    input.current?.focus();
  };
  const saved = () => {
    setText((now) => now.trimStart());
    close();
  };
  return (
    <section className="quick-add" aria-label="Quick add">
      <TextForm
        text={text}
        onText={(typed) => setText(() => typed)}
        input={input}
        busy={reading.isPending}
        held={saving}
        onSubmit={() => {
          unsaved.current = text;
          reading.mutate(text);
        }}
      />
      {reading.error && <FailureNotice failure={asFailure(reading.error)} />}
      {reading.data?.drafts.length === 0 && <Notice>No task was found in that text.</Notice>}
      {reading.data && reading.data.drafts.length > 0 && (
        <Drafts
          key={reading.submittedAt}
          result={reading.data}
          busy={saving}
          onBusy={setSaving}
          onProgress={progressed}
          onSaved={saved}
          onCancel={close}
        />
      )}
    </section>
  );
}

interface FormProps {
  text: string;
  onText: (text: string) => void;
  input: React.RefObject<HTMLTextAreaElement | null>;
  busy: boolean;
  /** Whether drafts are being saved, which another reading would take away. */
  held: boolean;
  onSubmit: () => void;
}

function TextForm({ text, onText, input, busy, held, onSubmit }: FormProps) {
  const block = useBlock('tasks.parse');
  const ready = text.trim() !== '' && !busy && !held && !block;
  const submitOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (ready) onSubmit();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onSubmit();
      }}
    >
      <label htmlFor="quick-add">What is to be done?</label>
      <textarea
        id="quick-add"
        ref={input}
        rows={2}
        maxLength={2000}
        placeholder="Call the dentist tomorrow at 9 #health !high"
        aria-describedby="quick-add-hint"
        value={text}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={submitOnEnter}
      />
      <div className="row between">
        <small id="quick-add-hint" className="quiet">
          One task a line; Shift+Enter begins a new one. You look them over before they are saved.
        </small>
        <button type="submit" className="button primary" disabled={!ready}>
          {block ? `Turn into tasks in ${wait(block.seconds)}` : busy ? 'Reading…' : 'Turn into tasks'}
        </button>
      </div>
    </form>
  );
}

// A change is kept at once, so that one which comes when somebody has left for another page is not lost.
function useKeptText(): [string, (change: (text: string) => string) => void] {
  const { identity } = useApi();
  const [key] = useState(() => `${kept} ${identity.whose()}`);
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  const latest = useRef(text);
  const change = (changed: (text: string) => string) => {
    latest.current = changed(latest.current);
    sessionStorage.setItem(key, latest.current);
    setText(latest.current);
  };
  return [text, change];
}
