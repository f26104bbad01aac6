import type { Standing } from '../api/ledger';
import { Gauge } from './gauge';

/** Budgets as a list of gauges. */
export function Gauges({ standings }: { standings: readonly Standing[] }) {
  return (
    <ul className="gauges">
      {standings.map((standing) => (
        <Gauge key={standing.name} standing={standing} />
      ))}
    </ul>
  );
}
