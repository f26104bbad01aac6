import type { Budget } from '../api/contract';
import { Gauges } from '../budgets/gauges';
import { useLimits } from '../budgets/limits';
import { allowance, budgetLabel, isForAdmins, perWhom } from '../budgets/words';
import { budgets } from '../contract/budgets';
import { useBlock, useStandings } from './context';
import { Notice, QueryNotice } from './notice';
import { product, useTitle } from './page';
import { useSignInURL } from './signin';
import { wait } from './time';

interface Props {
  /** Why signing in failed a moment ago, if it did. */
  failure: string | null;
  /** Whether the browser sent a session that is over. */
  ended: boolean;
  /** Whether the server could be asked who this is: where it could not, what is left is not known either. */
  asked?: boolean;
}

/** What a visitor sees: what this is, the way in, and what the limits are. It is the whole of a main element. */
export function SignedOut({ failure, ended, asked = true }: Props) {
  useTitle(product);
  return (
    <>
      <section className="hero">
        <h1>The gate is checked before the papers.</h1>
        <p className="lead">
          Gatehouse counts a request before it asks who sent it, so that a flood of bad credentials never buys a
          look-up. Behind the gate every person and every organisation has budgets of its own, and this page shows them
          being spent.
        </p>
        <SignInFailure failure={failure} ended={ended} />
        <SignInButton />
      </section>
      {asked && <YourAddress />}
      <section className="panel" aria-labelledby="limits">
        <h2 id="limits">What the limits are</h2>
        <ul className="allowances">
          {budgets
            .filter(({ name }) => !isForAdmins(name))
            .map((budget) => (
              <Row key={budget.name} budget={budget} />
            ))}
        </ul>
      </section>
    </>
  );
}

function SignInFailure({ failure, ended }: { failure: string | null; ended: boolean }) {
  const text = failure ?? (ended ? 'Your session has ended. Sign in again to go on.' : null);
  return text && <Notice tone={failure ? 'fault' : 'plain'}>{text}</Notice>;
}

function SignInButton() {
  const block = useBlock('auth.login');
  const signInURL = useSignInURL();
  if (block) {
    return (
      <button type="button" className="button primary" disabled>
        Sign in in {wait(block.seconds)}
      </button>
    );
  }
  return (
    <a className="button primary" href={signInURL}>
      Sign in
    </a>
  );
}

function YourAddress() {
  const standings = useStandings();
  const query = useLimits();
  return (
    <section className="panel" aria-labelledby="address">
      <h2 id="address">Before sign-in</h2>
      <p className="quiet">
        Until somebody is known, their address pays. Everyone who is signed in pays from a budget of their own instead.
      </p>
      <QueryNotice query={query} />
      <Gauges standings={standings} />
    </section>
  );
}

function Row({ budget }: { budget: Budget }) {
  return (
    <li>
      <div className="allowance-head">
        <h3>{budgetLabel(budget.name)}</h3>
        <code>{budget.name}</code>
      </div>
      <p>
        <b>{allowance(budget)}</b> for {perWhom(budget.per)}
      </p>
      <p className="quiet">{budget.description}</p>
    </li>
  );
}
