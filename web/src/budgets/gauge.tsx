import { useId } from 'react';
import type { Standing } from '../api/ledger';
import { useSecondsUntil, wait } from '../app/time';
import { allowance, budgetLabel, budgetReason, number, sourceLabel } from './words';

/** One budget: what is left, of how much, and when more comes. */
export function Gauge({ standing }: { standing: Standing }) {
  const label = useId();
  const { name, limit, remaining } = standing;
  return (
    <li className="gauge" data-level={level(standing)} title={budgetReason(name)}>
      <div className="gauge-head">
        <span id={label} className="gauge-label">
          {budgetLabel(name)}
        </span>
        <span className="gauge-left">
          {remaining === null ? '–' : number(remaining)}
          {limit !== null && <small> of {number(limit)}</small>}
        </span>
      </div>
      <Bar standing={standing} labelledBy={label} />
      <div className="gauge-foot">
        <span>
          {allowance(standing)} · {sourceLabel(standing.source)}
        </span>
        <State standing={standing} />
      </div>
    </li>
  );
}

function Bar({ standing, labelledBy }: { standing: Standing; labelledBy: string }) {
  const { limit, remaining } = standing;
  if (limit === null || remaining === null) return null;
  const left = limit > 0 ? remaining / limit : 0;
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers give no common way to style a meter element
    <div
      className="gauge-bar"
      role="meter"
      aria-labelledby={labelledBy}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={Math.min(remaining, limit)}
      aria-valuetext={`${remaining} of ${limit} left`}
    >
      <div className="gauge-fill" style={{ transform: `scaleX(${Math.min(left, 1)})` }} />
    </div>
  );
}

// What is worth saying of a budget beyond its numbers, the most important first.
function State({ standing }: { standing: Standing }) {
  const seconds = useSecondsUntil(standing.moreAt);
  if (standing.degraded) return <span className="gauge-state">its counter is down</span>;
  if (!standing.enforced) return <span className="gauge-state">counted only</span>;
  if (seconds > 0) return <span className="gauge-state countdown">more in {wait(seconds)}</span>;
  return null;
}

// Below a fifth a budget is low.
function level({ limit, remaining }: Standing): 'full' | 'low' | 'spent' | 'unknown' {
  if (limit === null || remaining === null) return 'unknown';
  if (remaining === 0) return 'spent';
  return remaining / limit < 0.2 ? 'low' : 'full';
}
