import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { QueryNotice } from '../app/notice';
import { allowance, budgetLabelOfOthers, number } from '../budgets/words';
import { budgets } from '../contract/budgets';
import { type Organisation, type Plan, useAdmin } from './api';
import { ReasonDialog } from './dialog';
import { explainHref } from './links';
import { Facts, PagedList, When } from './list';

/** Every organisation with its plan, and what the plans are. */
export function OrganisationsPage() {
  const admin = useAdmin();
  const plans = useQuery({ queryKey: ['admin', 'plans'], queryFn: admin.plans });
  const [changing, setChanging] = useState<Organisation | null>(null);
  return (
    <>
      <section className="panel organisations" aria-label="Every organisation">
        <PagedList
          route="admin.orgs.list"
          load={admin.organisations}
          keyOf={(org) => org.id}
          empty="No organisation yet."
        >
          {(org) => <Row org={org} onChange={() => setChanging(org)} />}
        </PagedList>
      </section>
      <section className="panel" aria-labelledby="plans">
        <h2 id="plans">Plans</h2>
        <p className="quiet">What a plan does not name is as the table has it.</p>
        <QueryNotice query={plans} />
        <ul className="plans">
          {plans.data?.items.map((plan) => (
            <PlanCard key={plan.name} plan={plan} />
          ))}
        </ul>
      </section>
      {changing && <PlanDialog org={changing} plans={plans.data?.items ?? []} onClose={() => setChanging(null)} />}
    </>
  );
}

function Row({ org, onChange }: { org: Organisation; onChange: () => void }) {
  return (
    <>
      <div className="row between head">
        <h2 className="record-title">
          <Link href={explainHref('organisation', org.id)}>{org.name}</Link>
        </h2>
        <button type="button" className="button small" onClick={onChange}>
          Change plan<span className="hidden"> of {org.name}</span>
        </button>
      </div>
      <Facts
        aligned
        facts={{ Plan: <b>{org.plan}</b>, Members: number(org.memberCount), Since: <When at={org.createdAt} /> }}
      />
    </>
  );
}

function PlanCard({ plan }: { plan: Plan }) {
  return (
    <li className="card">
      <h3>
        {plan.name}{' '}
        <small className="quiet">
          {plan.organisations === 1 ? 'one organisation' : `${number(plan.organisations)} organisations`}
        </small>
      </h3>
      {plan.budgets.length === 0 && <p className="quiet">The table’s own numbers.</p>}
      <Facts
        facts={Object.fromEntries(plan.budgets.map((own) => [budgetLabelOfOthers(own.budget), allowanceOf(own)]))}
      />
      {plan.budgets
        .filter(({ fault }) => fault)
        .map(({ budget, fault }) => (
          <p key={budget} className="words">
            <span className="badge" data-tone="bad">
              does not hold
            </span>{' '}
            As the settings are now, the number for {budgetLabelOfOthers(budget)} {fault}.
          </p>
        ))}
    </li>
  );
}

function allowanceOf({ budget, limit, refillPerSecond }: Plan['budgets'][number]): string {
  const windowSeconds = budgets.find(({ name }) => name === budget)?.windowSeconds ?? 0;
  return allowance({ limit, windowSeconds, refillPerSecond });
}

function PlanDialog({ org, plans, onClose }: { org: Organisation; plans: readonly Plan[]; onClose: () => void }) {
  const [plan, setPlan] = useState(org.plan);
  return (
    <ReasonDialog
      title={`The plan of ${org.name}`}
      description="Everybody in it has the plan’s budgets within a second. What is spent stays spent."
      action="Change plan"
      route="admin.orgs.plan"
      run={(admin, reason) => admin.changePlan(org.id, plan, reason)}
      onClose={onClose}
    >
      <label>
        Plan
        <select value={plan} onChange={(event) => setPlan(event.target.value)}>
          {plans.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </ReasonDialog>
  );
}
