import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useRef, useState, useSyncExternalStore } from 'react';
import { Action } from '../api/action';
import { asFailure } from '../api/failure';
import { useBlock } from '../app/context';
import { FailureNotice, Notice } from '../app/notice';
import { wait } from '../app/time';
import { useTasksApi } from './api';
import { addTask } from './cache';
import { Drafts } from './drafts';
import { timeZone } from './entry';
import { usePad } from './pad';

// "In an hour" is another time after this long, so that the reading whose answer was lost is of no use any more.
const trueForMs = 60_000;

/** Free text in, drafts to look over, tasks out. */
export function QuickAdd() {
  const api = useTasksApi();
  const client = useQueryClient();
  const pad = usePad();
  const { text, reading, saving } = useSyncExternalStore(pad.subscribe, pad.snapshot);
  const input = useRef<HTMLTextAreaElement>(null);
  const [action] = useState(() => new Action(trueForMs));
  const parse = useMutation({ mutationFn: (source: string) => api.parse(action, source, timeZone()) });
  const close = () => {
    parse.reset();
    input.current?.focus();
  };
  const submit = () => {
    pad.drop();
    parse.mutate(text, { onSuccess: (result) => pad.read(text, result) }); // Not where the page was left meanwhile.
  };
  const save = async () => {
    await pad.save(async (each, body) => addTask(client, await api.create(each, body)));
    if (pad.snapshot().reading === null) close();
  };
  return (
    <section className="quick-add" aria-label="Quick add">
      <TextForm
        text={text}
        onText={(typed) => pad.type(typed)}
        input={input}
        busy={parse.isPending}
        held={saving || reading?.begun === true}
        onSubmit={submit}
      />
      {parse.error && <FailureNotice failure={asFailure(parse.error)} />}
      {parse.data?.drafts.length === 0 && <Notice>No task was found in that text.</Notice>}
      {reading && (
        <Drafts
          reading={reading}
          busy={saving}
          fresh={parse.data !== undefined}
          onChange={(number, entry) => pad.correct(number, entry)}
          onRemove={(number) => pad.leaveOut(number)}
          onSave={() => void save()}
          onCancel={() => {
            pad.drop();
            close();
          }}
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
  /** Whether drafts are being saved, or are left of those, which another reading would take away. */
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
          {held
            ? 'Save or discard the tasks below first; what you type here is kept.'
            : 'One task a line; Shift+Enter begins a new one. You look them over before they are saved.'}
        </small>
        <button type="submit" className="button primary" disabled={!ready}>
          {block ? `Turn into tasks in ${wait(block.seconds)}` : busy ? 'Reading…' : 'Turn into tasks'}
        </button>
      </div>
    </form>
  );
}
