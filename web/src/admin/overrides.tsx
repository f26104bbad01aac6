import { useState } from 'react';
import { Link } from 'wouter';
import { allowance, budgetLabelOfOthers } from '../budgets/words';
import { budgets } from '../contract/budgets';
import { type Override, type Target, useAdmin } from './api';
import { ReasonDialog } from './dialog';
import { explainHref, Person } from './links';
import { Facts, PagedList, When } from './list';
import { type Form, formOf, newForm, OverrideDialog } from './overridedialog';

type Open = { kind: 'set'; form: Form; name?: string } | { kind: 'remove'; override: Override };

/** Every override: whose budget is another than its plan's, until when, and why. */
export function OverridesPage() {
  const admin = useAdmin();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  return (
    <section className="panel" aria-label="Every override">
      <div className="row between">
        <p className="quiet">A person’s goes before their organisation’s, and that before the plan’s.</p>
        <button
          type="button"
          className="button primary"
          onClick={() => setOpen({ kind: 'set', form: newForm({}, new Date()) })}
        >
          New override
        </button>
      </div>
      <PagedList
        route="admin.overrides.list"
        load={admin.overrides}
        keyOf={({ scope, id, budget }) => `${scope} ${id} ${budget}`}
        empty="No override: everybody has what their plan gives."
      >
        {(override) => <Row override={override} onOpen={setOpen} />}
      </PagedList>
      {open?.kind === 'set' && (
        <OverrideDialog initial={open.form} {...(open.name ? { name: open.name } : {})} onClose={close} />
      )}
      {open?.kind === 'remove' && <RemoveDialog override={open.override} onClose={close} />}
    </section>
  );
}

function Row({ override, onOpen }: { override: Override; onOpen: (open: Open) => void }) {
  const name = override.name || override.id;
  const whose = `${budgetLabelOfOthers(override.budget)} of ${name}`;
  const change = (more: Partial<Form>) => onOpen({ kind: 'set', form: { ...formOf(override), ...more }, name });
  return (
    <>
      <div className="row between">
        <span className="row">
          <h2 className="record-title">
            <Whose override={override} /> <small className="quiet">{budgetLabelOfOthers(override.budget)}</small>
          </h2>
          {override.expired && <span className="badge">expired</span>}
          {override.fault && (
            <span className="badge" data-tone="bad">
              does not hold
            </span>
          )}
          {override.enforce === false && !override.expired && <span className="badge">in shadow</span>}
        </span>
        <span className="row">
          {override.enforce === false && (
            <button type="button" className="button small" onClick={() => change({ mode: 'enforce' })}>
              Enforce<span className="hidden"> {whose}</span>
            </button>
          )}
          <button type="button" className="button small" onClick={() => change({})}>
            Change<span className="hidden"> {whose}</span>
          </button>
          <button type="button" className="button small" onClick={() => onOpen({ kind: 'remove', override })}>
            Remove<span className="hidden"> {whose}</span>
          </button>
        </span>
      </div>
      {override.fault && <p className="words">As the settings are now, it {override.fault}.</p>}
      <p className="words">{override.reason}</p>
      <Facts
        facts={{
          For: `${override.scope}`,
          Allows: allowanceOf(override),
          Until: override.expiresAt ? <When at={override.expiresAt} /> : 'somebody removes it',
          By: <Person person={override.author} />,
        }}
      />
    </>
  );
}

function Whose({ override: { scope, id, name } }: { override: Override }) {
  if (scope !== 'user' && scope !== 'organisation') return <>plan {name || id}</>;
  return <Link href={explainHref(scope, id)}>{name || id}</Link>;
}

function allowanceOf({ budget, limit, refillPerSecond }: Override): string {
  const row = budgets.find(({ name }) => name === budget);
  return allowance({ limit, windowSeconds: row?.windowSeconds ?? 0, refillPerSecond: refillPerSecond ?? undefined });
}

function RemoveDialog({ override, onClose }: { override: Override; onClose: () => void }) {
  const { scope, id, budget } = override;
  return (
    <ReasonDialog
      title={`Remove the override for ${override.name || id}`}
      description="What weaker sources say counts again within a second."
      action="Remove override"
      route="admin.overrides.delete"
      run={(admin, reason) => admin.deleteOverride({ scope, id, budget } as Target, reason)}
      onClose={onClose}
    />
  );
}
