import { type ReactNode, useEffect, useRef } from 'react';
import { asFailure, type Failure } from '../api/failure';
import { budgetLabel } from '../budgets/words';
import { useSignInURL } from './signin';
import { useSecondsUntil, wait } from './time';

type Tone = 'wait' | 'fault' | 'plain';

/** A calm box beside what it is about. */
export function Notice({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className="notice" data-tone={tone} role={tone === 'fault' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

interface Props {
  failure: Failure;
  /** What a button tries again, where none is there already. It is offered only where that may help. */
  onRetry?: () => void;
  /** Which fields' faults are shown beside the fields themselves. */
  beside?: (field: string) => boolean;
}

/** What went wrong, with the fields at fault, the wait if there is one, and the request's id. */
export function FailureNotice({ failure, onRetry, beside = () => false }: Props) {
  const signInURL = useSignInURL();
  const retry = failure.mayPass ? onRetry : undefined;
  if (failure.code === 'RATE_LIMIT_EXCEEDED') return <Refusal failure={failure} onRetry={retry} />;
  const fields = failure.fields.filter(({ field }) => !beside(field));
  return (
    <Notice tone="fault">
      <p>{failure.message}</p>
      {fields.length > 0 && (
        <ul>
          {fields.map(({ field, message }) => (
            <li key={field + message}>
              {field && <b>{fieldLabel(field)}</b>} {message}
            </li>
          ))}
        </ul>
      )}
      <div className="row">
        {failure.code === 'AUTH_FAILED' && <a href={signInURL}>Sign in again</a>}
        {retry ? <RetryButton retryAt={failure.retryAt} onRetry={retry} /> : <Advice retryAt={failure.retryAt} />}
        <RequestId id={failure.requestId} />
      </div>
    </Notice>
  );
}

/** The path of a field as people read it: dueAt is "Due at", tags[2] is "Tags, no. 3". */
export function fieldLabel(path: string): string {
  const words = path
    .replace(/\[(\d+)\]/g, (_, index) => `, no. ${Number(index) + 1}`)
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

interface QueryProps {
  query: { error: Error | null; isSuccess: boolean; refetch: () => unknown };
  /** What is tried again, where it is not the whole query. */
  onRetry?: () => void;
}

/**
 * Why something could not be loaded, with a button that tries again. What was refused is asked for once more by itself
 * when its time is up, and not a second time: where that is refused too, many wait, and somebody has to press the button.
 * It is to stay where it is while the query runs, so that it remembers.
 */
export function QueryNotice({ query, onRetry = () => void query.refetch() }: QueryProps) {
  const failure = query.error ? asFailure(query.error) : null;
  useOneRetry(failure, query.isSuccess, onRetry);
  return failure && <FailureNotice failure={failure} onRetry={onRetry} />;
}

function useOneRetry(failure: Failure | null, succeeded: boolean, retry: () => void): void {
  const tried = useRef(false);
  const latest = useRef(retry);
  const due = failure?.code === 'RATE_LIMIT_EXCEEDED' ? failure.retryAt : null;
  const over = useSecondsUntil(due) === 0 && due !== null;
  useEffect(() => {
    latest.current = retry;
    if (succeeded) tried.current = false;
  });
  useEffect(() => {
    if (!over || tried.current) return;
    tried.current = true;
    latest.current();
  }, [over]);
}

// A refusal is no fault: it says which budget is spent, and until when.
function Refusal({ failure, onRetry }: { failure: Failure; onRetry: (() => void) | undefined }) {
  const seconds = useSecondsUntil(failure.retryAt);
  const over = failure.retryAt !== null && seconds === 0;
  const spent = failure.violated.map(budgetLabel);
  return (
    <Notice tone={over ? 'plain' : 'wait'}>
      <p>
        {spent.length > 1 ? 'The budgets' : 'The budget'} <b>{spent.join(' and ') || 'of this call'}</b>{' '}
        {over ? (spent.length > 1 ? 'have room again.' : 'has room again.') : spentBecause(failure)}{' '}
        {seconds > 0 && !onRetry && <Countdown seconds={seconds} />}
        {failure.retryAt === null && 'This request is larger than the whole budget, so waiting does not help.'}
      </p>
      <div className="row">
        {onRetry && <RetryButton retryAt={failure.retryAt} onRetry={onRetry} />}
        <RequestId id={failure.requestId} />
      </div>
    </Notice>
  );
}

function spentBecause({ local, violated }: Failure): string {
  const are = violated.length > 1 ? 'are' : 'is';
  return local ? `${are} spent for now, so this page did not even ask.` : `${are} spent for now. Nothing was lost.`;
}

/** Seconds that run down. They are read out once, by the text around them, and not each second. */
export function Countdown({ seconds }: { seconds: number }) {
  return (
    <span className="countdown" aria-hidden="true">
      Try again in {wait(seconds)}.
    </span>
  );
}

// Where the button that failed is still there, the notice only says when pressing it is worth while.
function Advice({ retryAt }: { retryAt: number | null }) {
  const seconds = useSecondsUntil(retryAt);
  return seconds > 0 && <Countdown seconds={seconds} />;
}

function RetryButton({ retryAt, onRetry }: { retryAt: number | null; onRetry: () => void }) {
  const seconds = useSecondsUntil(retryAt);
  return (
    <button type="button" className="button" disabled={seconds > 0} onClick={onRetry}>
      {seconds > 0 ? `Try again in ${wait(seconds)}` : 'Try again'}
    </button>
  );
}

function RequestId({ id }: { id: string | null }) {
  if (!id) return null;
  return (
    <small className="request-id">
      Request <code>{id}</code>
    </small>
  );
}
