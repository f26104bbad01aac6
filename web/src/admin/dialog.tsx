import { type ReactNode, useId, useState } from 'react';
import type { RouteId } from '../api/contract';
import { asFailure } from '../api/failure';
import { useBlock } from '../app/context';
import { CancelButton, Dialog } from '../app/dialog';
import { FailureNotice } from '../app/notice';
import { wait } from '../app/time';
import { type AdminApi, useChange } from './api';

interface Props {
  title: string;
  /** What it does, for somebody who is about to. */
  description: string;
  /** The button's own words. */
  action: string;
  route: RouteId;
  run: (admin: AdminApi, reason: string) => Promise<unknown>;
  onClose: () => void;
  children?: ReactNode;
}

/** A change that an administrator gives a reason for, which the audit keeps. */
export function ReasonDialog({ title, description, action, route, run, onClose, children }: Props) {
  const change = useChange(run, onClose);
  const [reason, setReason] = useState('');
  const block = useBlock(route);
  const id = useId();
  return (
    <Dialog title={title} description={description} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!change.isPending && !block) change.mutate(reason.trim());
        }}
      >
        {children}
        <label htmlFor={id}>
          Reason, for the audit
          <textarea
            id={id}
            required
            rows={2}
            maxLength={1000}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        {change.error && <FailureNotice failure={asFailure(change.error)} />}
        <div className="row end">
          <CancelButton />
          <button type="submit" className="button primary" disabled={change.isPending || block !== null}>
            {block ? `${action} in ${wait(block.seconds)}` : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
