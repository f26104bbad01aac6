import { useEffect, useState, useSyncExternalStore } from 'react';
import { type Minute, minutesKept, type Outcome, outcomes, perMinute } from '../api/history';
import { useApi } from '../app/context';
import { Plot } from './plot';
import { number } from './words';

const labels: Record<Outcome, string> = { admitted: 'let in', refused: 'refused', local: 'held back here' };

/** What this browser saw in the last hour: as a plot, in numbers, and as a table. */
export function LastHour() {
  const { history } = useApi();
  const kept = useSyncExternalStore(history.subscribe, history.snapshot);
  const minutes = perMinute(kept, useMinute());
  const [pointed, setPointed] = useState<number | null>(null);
  const shown = pointed === null ? minutes : minutes.slice(pointed, pointed + 1);
  return (
    <section className="panel" aria-labelledby="last-hour">
      <div className="row between">
        <h2 id="last-hour">The last hour, in this browser</h2>
        <span className="quiet" aria-hidden="true">
          {pointed === null ? `${minutesKept} minutes` : clockTime(minutes[pointed])}
        </span>
      </div>
      <ul className="legend">
        {outcomes.map((outcome) => (
          <li key={outcome} data-outcome={outcome}>
            <b>{number(shown.reduce((sum, row) => sum + row[outcome], 0))}</b> {labels[outcome]}
          </li>
        ))}
      </ul>
      <Plot minutes={minutes} onPoint={setPointed} />
      <Table minutes={minutes.filter((row) => row.admitted + row.refused + row.local > 0)} />
    </section>
  );
}

function Table({ minutes }: { minutes: readonly Minute[] }) {
  if (minutes.length === 0) return null;
  return (
    <details>
      <summary>As a table</summary>
      <table className="numbers">
        <thead>
          <tr>
            <th scope="col">Minute</th>
            {outcomes.map((outcome) => (
              <th key={outcome} scope="col">
                {labels[outcome]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {minutes.toReversed().map((row) => (
            <tr key={row.minute}>
              <th scope="row">{clockTime(row)}</th>
              {outcomes.map((outcome) => (
                <td key={outcome}>{number(row[outcome])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

// The present minute, numbered from 1970: the plot moves on although nothing is called.
function useMinute(): number {
  const [minute, setMinute] = useState(() => Math.floor(Date.now() / 60_000));
  useEffect(() => {
    const untilNext = (minute + 1) * 60_000 - Date.now();
    const timer = setTimeout(() => setMinute(Math.floor(Date.now() / 60_000)), Math.max(untilNext, 0) + 5);
    return () => clearTimeout(timer);
  }, [minute]);
  return minute;
}

function clockTime(row: Minute | undefined): string {
  if (!row) return '';
  return new Date(row.minute * 60_000).toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
}
