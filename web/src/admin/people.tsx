import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { QueryNotice } from '../app/notice';
import { allowance, budgetLabelOfOthers, number, sourceLabelOfOthers } from '../budgets/words';
import {
  type ExplainedBudget,
  type ExplainedScope,
  type Explanation,
  explainedScopes,
  type OverrideScope,
  overrideScopes,
  useAdmin,
} from './api';
import { ReasonDialog } from './dialog';
import { explainHref } from './links';
import { Facts } from './list';
import { newForm, OverrideDialog, overridable } from './overridedialog';

// The one id of the scope of everybody, which is its name too.
const everyone = 'global';

/** What one person, organisation, address or session may spend, or everybody together, and why. */
export function PeoplePage() {
  const asked = useAsked();
  const admin = useAdmin();
  const query = useQuery({
    queryKey: ['admin', 'explain', asked.scope, asked.id],
    queryFn: () => admin.explain(asked.scope, asked.id),
    enabled: asked.id !== '',
  });
  return (
    <>
      <section className="panel" aria-label="Whom to explain">
        <AskForm key={`${asked.scope} ${asked.id}`} {...asked} />
        <QueryNotice query={query} />
        {query.isFetching && !query.data && <p className="quiet">Loading…</p>}
        {asked.id === '' && (
          <p className="quiet">
            People and organisations are linked from every other list here. An id stands in the menu of who is signed
            in.
          </p>
        )}
      </section>
      {query.data && <Explained of={query.data} />}
    </>
  );
}

// Whom the address of the page names.
function useAsked(): { scope: ExplainedScope; id: string } {
  const query = new URLSearchParams(useSearch());
  const scope = explainedScopes.find((s) => s === query.get('scope')) ?? 'user';
  return { scope, id: query.get('id') ?? '' };
}

function AskForm(asked: { scope: ExplainedScope; id: string }) {
  const [scope, setScope] = useState(asked.scope);
  const [id, setId] = useState(asked.id);
  const [, navigate] = useLocation();
  return (
    <form
      className="ask"
      onSubmit={(event) => {
        event.preventDefault();
        navigate(explainHref(scope, id.trim()));
      }}
    >
      <label>
        Explain
        <select
          value={scope}
          onChange={(event) => {
            setScope(event.target.value as ExplainedScope);
            if (event.target.value === everyone) setId(everyone);
            else if (id === everyone) setId('');
          }}
        >
          {explainedScopes.map((name) => (
            <option key={name} value={name}>
              {name === everyone ? 'everyone together' : name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {scope === 'address' ? 'Address' : 'Id'}
        <input
          required
          readOnly={scope === everyone}
          autoComplete="off"
          spellCheck={false}
          value={id}
          onChange={(event) => setId(event.target.value)}
        />
      </label>
      <button type="submit" className="button primary">
        Explain
      </button>
    </form>
  );
}

type Open = { kind: 'override' | 'reset'; budget: string } | { kind: 'revoke' };

function Explained({ of }: { of: Explanation }) {
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const name = of.name || (of.scope === everyone ? 'Everyone together' : of.id);
  const scope = of.scope as ExplainedScope;
  return (
    <section className="panel" aria-labelledby="explained">
      <div className="row between">
        <h2 id="explained">{name}</h2>
        {scope === 'user' && (
          <button type="button" className="button" onClick={() => setOpen({ kind: 'revoke' })}>
            Sign this person out
          </button>
        )}
      </div>
      <Facts
        facts={{
          Organisation: scope === 'user' ? (of.organisation?.name ?? null) : null,
          Plan: of.plan || null,
          Id: <code>{of.id}</code>,
        }}
      />
      <ul className="records">
        {of.budgets.map((budget) => (
          <li key={budget.name} className="record">
            <BudgetRow budget={budget} scope={scope} onOpen={setOpen} />
          </li>
        ))}
      </ul>
      {open?.kind === 'override' && (
        <OverrideDialog
          name={name}
          initial={newForm({ scope: scope as OverrideScope, id: of.id, budget: open.budget }, new Date())}
          onClose={close}
        />
      )}
      {open?.kind === 'reset' && (
        <ReasonDialog
          title={`Forget what ${name} spent of ${budgetLabelOfOthers(open.budget)}`}
          description="The whole budget is there again."
          action="Forget it"
          route="admin.limits.reset"
          run={(admin, reason) => admin.reset(scope, of.id, open.budget, reason)}
          onClose={close}
        />
      )}
      {open?.kind === 'revoke' && (
        <ReasonDialog
          title={`Sign ${name} out everywhere`}
          description="Every session ends, and every token issued so far is refused, on all servers within a second."
          action="Sign out everywhere"
          route="admin.users.revoke"
          run={(admin, reason) => admin.revoke(of.id, reason)}
          onClose={close}
        />
      )}
    </section>
  );
}

interface RowProps {
  budget: ExplainedBudget;
  scope: ExplainedScope;
  onOpen: (open: Open) => void;
}

function BudgetRow({ budget, scope, onOpen }: RowProps) {
  const label = budgetLabelOfOthers(budget.name);
  const owner = overrideScopes.find((s) => s === scope);
  const canOverride = owner !== undefined && overridable(owner).includes(budget.name);
  return (
    <>
      <div className="row between head">
        <span className="row">
          <h3 className="record-title">
            {label}{' '}
            <small className="quiet">
              {allowance(budget)} · {sourceLabelOfOthers(budget.source)}
            </small>
          </h3>
          {!budget.enforced && <span className="badge">in shadow</span>}
          {budget.degraded && (
            <span className="badge" data-tone="bad">
              its store fails
            </span>
          )}
        </span>
        <span className="row">
          {canOverride && (
            <button
              type="button"
              className="button small"
              onClick={() => onOpen({ kind: 'override', budget: budget.name })}
            >
              Override<span className="hidden"> {label}</span>
            </button>
          )}
          <button type="button" className="button small" onClick={() => onOpen({ kind: 'reset', budget: budget.name })}>
            Forget<span className="hidden"> {label}</span>
          </button>
        </span>
      </div>
      <Facts
        aligned
        facts={{
          Left: leftOf(budget),
          'Refused in an hour': number(budget.denied),
          'Counted in': budget.store,
          Promise: budget.bound,
          'In shadow': budget.wouldDeny > 0 ? `${number(budget.wouldDeny)} would have been refused` : null,
        }}
      />
    </>
  );
}

function leftOf({ limit, remaining }: ExplainedBudget): string {
  if (limit === null) return 'unlimited';
  return remaining === null ? `not known of ${number(limit)}` : `${number(remaining)} of ${number(limit)}`;
}
