import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { localInput } from '../app/time';
import { budgetLabelOfOthers } from '../budgets/words';
import { budgets } from '../contract/budgets';
import { type Override, type OverridePut, type OverrideScope, overrideScopes, type Target, useAdmin } from './api';
import { ReasonDialog } from './dialog';

// Long enough to see what an override does, and short enough that a forgotten one ends.
const expiresAfterDays = 7;

/** What the form holds: all text, as its fields do. */
export interface Form extends Target {
  limit: string;
  unlimited: boolean;
  refill: string;
  mode: 'shadow' | 'enforce' | 'unchanged';
  expires: string;
}

/** What an override begins with: in shadow, so that its effect is seen before anybody is refused. */
export function newForm(target: Partial<Target>, now: Date): Form {
  const expires = new Date(now.getTime() + expiresAfterDays * 86_400_000);
  return {
    scope: target.scope ?? 'user',
    id: target.id ?? '',
    budget: target.budget ?? 'user',
    limit: '',
    unlimited: false,
    refill: '',
    mode: 'shadow',
    expires: localInput(expires.toISOString()),
  };
}

/** An override that is there, to be changed. */
export function formOf(override: Override): Form {
  return {
    scope: override.scope as OverrideScope,
    id: override.id,
    budget: override.budget,
    limit: override.limit === null ? '' : String(override.limit),
    unlimited: override.unlimited,
    refill: override.refillPerSecond === null ? '' : String(override.refillPerSecond),
    mode: override.enforce === null ? 'unchanged' : override.enforce ? 'enforce' : 'shadow',
    expires: localInput(override.expiresAt),
  };
}

export function bodyOf(form: Form, reason: string): OverridePut {
  return {
    ...(form.unlimited ? { unlimited: true } : { limit: Number(form.limit) }),
    ...(refills(form.budget) && form.refill !== '' && !form.unlimited ? { refillPerSecond: Number(form.refill) } : {}),
    ...(form.mode === 'unchanged' ? {} : { enforce: form.mode === 'enforce' }),
    ...(form.expires === '' ? {} : { expiresAt: new Date(form.expires).toISOString() }),
    reason,
  };
}

/** The budgets that can be changed for a scope: the others are decided before it is known who calls, or shared. */
export function overridable(scope: OverrideScope): string[] {
  return budgets
    .filter(({ name, per }) => !name.startsWith('edge') && per !== 'address' && (per as string) !== 'global')
    .filter(({ per }) => scope !== 'user' || per !== 'organisation')
    .map(({ name }) => name);
}

function refills(budget: string): boolean {
  return budgets.find(({ name }) => name === budget)?.algorithm === 'token-bucket';
}

interface Props {
  initial: Form;
  /** Whom it is for, where that is settled. */
  name?: string;
  onClose: () => void;
}

/** Sets an override, or changes one. */
export function OverrideDialog({ initial, name, onClose }: Props) {
  const [form, setForm] = useState(initial);
  const set = (change: Partial<Form>) => setForm({ ...form, ...change });
  return (
    <ReasonDialog
      title={name ? `An override for ${name}` : 'A new override'}
      description="It counts within a second. What is spent stays spent."
      action="Set override"
      route="admin.overrides.put"
      run={(admin, reason) => {
        const { scope, id, budget } = form;
        return admin.putOverride({ scope, id: id.trim(), budget }, bodyOf(form, reason));
      }}
      onClose={onClose}
    >
      {!name && <Whom form={form} set={set} />}
      <div className="pair">
        <label>
          Budget
          <select value={form.budget} onChange={(event) => set({ budget: event.target.value })}>
            {overridable(form.scope).map((budget) => (
              <option key={budget} value={budget}>
                {budgetLabelOfOthers(budget)}
              </option>
            ))}
          </select>
        </label>
        <label>
          Until
          <input
            type="datetime-local"
            max="9999-12-31T23:59"
            value={form.expires}
            onChange={(event) => set({ expires: event.target.value })}
          />
        </label>
      </div>
      <Numbers form={form} set={set} />
      <Mode form={form} set={set} />
    </ReasonDialog>
  );
}

interface PartProps {
  form: Form;
  set: (change: Partial<Form>) => void;
}

function Whom({ form, set }: PartProps) {
  const admin = useAdmin();
  const list = useId();
  const plans = useQuery({ queryKey: ['admin', 'plans'], queryFn: admin.plans, enabled: form.scope === 'plan' });
  const orgs = useQuery({
    queryKey: ['admin', 'first organisations'],
    queryFn: () => admin.organisations(null),
    enabled: form.scope === 'organisation',
  });
  const known = {
    user: [],
    organisation: orgs.data?.items.map(({ id, name }) => ({ id, name })) ?? [],
    plan: plans.data?.items.map(({ name }) => ({ id: name, name })) ?? [],
  }[form.scope];
  return (
    <div className="pair">
      <label>
        For a
        <select
          value={form.scope}
          onChange={(event) => {
            const scope = event.target.value as OverrideScope;
            const budget = overridable(scope).includes(form.budget) ? form.budget : 'user';
            set({ scope, budget, id: '' });
          }}
        >
          {overrideScopes.map((scope) => (
            <option key={scope}>{scope}</option>
          ))}
        </select>
      </label>
      <label>
        {form.scope === 'plan' ? 'Name' : 'Id'}
        <input
          required
          list={list}
          autoComplete="off"
          spellCheck={false}
          value={form.id}
          onChange={(event) => set({ id: event.target.value })}
        />
        <datalist id={list}>
          {known.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </datalist>
      </label>
    </div>
  );
}

function Numbers({ form, set }: PartProps) {
  return (
    <div className="pair">
      <label>
        Limit
        <input
          type="number"
          min={0}
          required={!form.unlimited}
          disabled={form.unlimited}
          value={form.limit}
          onChange={(event) => set({ limit: event.target.value })}
        />
      </label>
      {refills(form.budget) && (
        <label>
          Refill, each second
          <input
            type="number"
            min={1}
            disabled={form.unlimited}
            value={form.refill}
            onChange={(event) => set({ refill: event.target.value })}
          />
        </label>
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={form.unlimited}
          onChange={(event) => set({ unlimited: event.target.checked })}
        />
        Unlimited
      </label>
    </div>
  );
}

const modes: { mode: Form['mode']; label: string }[] = [
  { mode: 'shadow', label: 'In shadow first: count, and refuse nobody, not by the present limit either' },
  { mode: 'enforce', label: 'Enforce it' },
  { mode: 'unchanged', label: 'As it is without this override' },
];

function Mode({ form, set }: PartProps) {
  return (
    <fieldset className="modes">
      <legend>What it does</legend>
      {modes.map(({ mode, label }) => (
        <label key={mode} className="check">
          <input type="radio" name="mode" checked={form.mode === mode} onChange={() => set({ mode })} />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
