import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { asFailure } from '../api/failure';
import { useBlock } from '../app/context';
import { FailureNotice } from '../app/notice';
import { saveFile } from '../app/savefile';
import { wait } from '../app/time';
import { fileSize } from '../budgets/words';
import { useTasksApi } from './api';

/** Saves all tasks as a CSV file. How large it becomes is not known beforehand, so progress is what has come so far. */
export function Export() {
  const api = useTasksApi();
  const block = useBlock('tasks.export');
  const [bytes, setBytes] = useState(0);
  const [saved, setSaved] = useState<string | null>(null);
  const abort = useRef<AbortController | null>(null);
  const run = useMutation({
    mutationFn: async () => {
      setBytes(0);
      setSaved(null);
      abort.current = new AbortController();
      const stream = await api.export(abort.current.signal);
      const file = await collect(stream, setBytes);
      saveFile(file, 'tasks.csv');
      setSaved(fileSize(file.size));
    },
  });
  const failed = run.error && run.error.name !== 'AbortError';
  return (
    <div className="export">
      <div className="row">
        <button
          type="button"
          className="button"
          disabled={run.isPending || block !== null}
          onClick={() => run.mutate()}
        >
          {block ? `Export in ${wait(block.seconds)}` : run.isPending ? `${fileSize(bytes)}…` : 'Export CSV'}
        </button>
        {run.isPending && (
          <button type="button" className="button quiet" onClick={() => abort.current?.abort()}>
            Cancel
          </button>
        )}
      </div>
      {saved && (
        <small className="quiet" role="status">
          tasks.csv is saved, {saved}.
        </small>
      )}
      {failed && <FailureNotice failure={asFailure(run.error)} />}
    </div>
  );
}

// The file is saved only once it is whole: a stream that breaks off throws.
async function collect(stream: ReadableStream<Uint8Array>, onBytes: (count: number) => void): Promise<Blob> {
  const chunks: BlobPart[] = [];
  let count = 0;
  const reader = stream.getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    chunks.push(chunk.value as Uint8Array<ArrayBuffer>);
    count += chunk.value.length;
    onBytes(count);
  }
  return new Blob(chunks, { type: 'text/csv' });
}
