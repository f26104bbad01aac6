import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Action } from '../api/action';
import { asFailure } from '../api/failure';
import { useApi, useBlock, useStandings } from '../app/context';
import { FailureNotice } from '../app/notice';
import { wait } from '../app/time';
import { trial } from './trial';
import { number } from './words';

/** Spends a budget on purpose, so that a visitor sees what happens at its end. Nothing is saved. */
export function TryIt() {
  const api = useApi();
  const block = useBlock(trial.route);
  const [action] = useState(() => new Action());
  const spend = useMutation({ mutationFn: () => trial.send(api, action) });
  return (
    <section className="panel" aria-labelledby="try-it">
      <h2 id="try-it">Try it</h2>
      <p className="quiet">{trial.words} At the end this page holds back what the server would refuse.</p>
      <div className="row">
        <button
          type="button"
          className="button primary"
          disabled={block !== null || spend.isPending}
          onClick={() => spend.mutate()}
        >
          {block ? `Spend one in ${wait(block.seconds)}` : 'Spend one'}
        </button>
        <Left />
      </div>
      {spend.error && <FailureNotice failure={asFailure(spend.error)} />}
    </section>
  );
}

// On a phone the gauge itself is out of sight by then.
function Left() {
  const standing = useStandings().find(({ name }) => name === trial.budget);
  if (!standing || standing.limit === null || standing.remaining === null) return null;
  return (
    <span className="quiet">
      {number(standing.remaining)} of {number(standing.limit)} left
    </span>
  );
}
