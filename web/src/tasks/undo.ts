import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { now } from '../api/clock';
import { asFailure, type Failure } from '../api/failure';
import { useTasksApi } from './api';
import { dropTask } from './cache';

// How long a delete waits in the browser for second thoughts.
const undoFor = 5_000;

/** A delete that waits until a time, on its way, or refused. */
export type Deletion = { state: 'waiting'; until: number } | { state: 'sent' } | { state: 'failed'; failure: Failure };

/** Deletes that can be taken back. One that still waits when the page is left is sent then: nobody took it back. */
export function useDeletions() {
  const api = useTasksApi();
  const client = useQueryClient();
  const [deletions, setDeletions] = useState<ReadonlyMap<string, Deletion>>(new Map());
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());

  const mark = useCallback((id: string, deletion: Deletion | null) => {
    setDeletions((present) => {
      const next = new Map(present);
      if (deletion) next.set(id, deletion);
      else next.delete(id);
      return next;
    });
  }, []);

  const send = useCallback(
    async (id: string) => {
      clearTimeout(timers.current.get(id));
      timers.current.delete(id);
      mark(id, { state: 'sent' });
      try {
        await api.delete(id);
      } catch (thrown) {
        const failure = asFailure(thrown);
        if (failure.code !== 'NOT_FOUND') return mark(id, { state: 'failed', failure }); // Gone already is as good.
      }
      dropTask(client, id);
      mark(id, null);
    },
    [api, client, mark],
  );

  const remove = useCallback(
    (id: string) => {
      mark(id, { state: 'waiting', until: now() + undoFor });
      timers.current.set(
        id,
        setTimeout(() => void send(id), undoFor),
      );
    },
    [mark, send],
  );

  const undo = useCallback(
    (id: string) => {
      clearTimeout(timers.current.get(id));
      timers.current.delete(id);
      mark(id, null);
    },
    [mark],
  );

  useEffect(() => {
    const waiting = timers.current;
    const flush = () => {
      for (const id of waiting.keys()) void send(id);
    };
    globalThis.addEventListener('pagehide', flush);
    return () => {
      globalThis.removeEventListener('pagehide', flush);
      flush();
    };
  }, [send]);

  return { deletions, remove, undo };
}
