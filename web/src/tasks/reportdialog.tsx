import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { Action } from '../api/action';
import { asFailure } from '../api/failure';
import { useBlock } from '../app/context';
import { CancelButton, Dialog } from '../app/dialog';
import { FailureNotice } from '../app/notice';
import { wait } from '../app/time';
import { useTasksApi } from './api';
import type { Task } from './contract';

interface Props {
  task: Task;
  onSent: () => void;
  onClose: () => void;
}

/** Tells the administrators what is wrong with a task. */
export default function ReportDialog({ task, onSent, onClose }: Props) {
  const api = useTasksApi();
  const [action] = useState(() => new Action());
  const [reason, setReason] = useState('');
  const report = useMutation({ mutationFn: () => api.report(action, task.id, reason.trim()), onSuccess: onSent });
  const block = useBlock('reports.create');
  const id = useId();
  const ready = reason.trim() !== '' && !report.isPending && !block;
  return (
    <Dialog
      title={`Report “${task.title}”`}
      description="The administrators read it, with your name and the title of the task. The task stays as it is."
      onClose={onClose}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) report.mutate();
        }}
      >
        <label htmlFor={id}>
          What is wrong with it?
          <textarea
            id={id}
            required
            rows={4}
            maxLength={1000}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        {report.error && <FailureNotice failure={asFailure(report.error)} />}
        <div className="row end">
          <CancelButton />
          <button type="submit" className="button primary" disabled={!ready}>
            {block ? `Send in ${wait(block.seconds)}` : report.isPending ? 'Sending…' : 'Send the report'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
