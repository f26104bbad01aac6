import { useMutation } from '@tanstack/react-query';
import { type Dispatch, type KeyboardEvent, type SetStateAction, useEffect, useRef, useState } from 'react';
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
  const saved = () => {
    const source = reading.data?.source ?? '';
    reading.reset();
    setText((now) => (now.startsWith(source) ? now.slice(source.length).trimStart() : now)); // What was typed since stays.
    input.current?.focus();
  };
  const cancelled = () => {
    reading.reset();
    input.current?.focus();
  };
  return (
    <section className="quick-add" aria-label="Quick add">
      <TextForm
        text={text}
        onText={setText}
        input={input}
        busy={reading.isPending}
        onSubmit={() => reading.mutate(text)}
      />
      {reading.error && <FailureNotice failure={asFailure(reading.error)} />}
      {reading.data?.drafts.length === 0 && <Notice>No task was found in that text.</Notice>}
      {reading.data && reading.data.drafts.length > 0 && (
        <Drafts key={reading.submittedAt} result={reading.data} onSaved={saved} onCancel={cancelled} />
      )}
    </section>
  );
}

interface FormProps {
  text: string;
  onText: (text: string) => void;
  input: React.RefObject<HTMLTextAreaElement | null>;
  busy: boolean;
  onSubmit: () => void;
}

function TextForm({ text, onText, input, busy, onSubmit }: FormProps) {
  const block = useBlock('tasks.parse');
  const ready = text.trim() !== '' && !busy && !block;
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

function useKeptText(): [string, Dispatch<SetStateAction<string>>] {
  const { identity } = useApi();
  const [key] = useState(() => `${kept} ${identity.whose()}`);
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  useEffect(() => sessionStorage.setItem(key, text), [key, text]);
  return [text, setText];
}
