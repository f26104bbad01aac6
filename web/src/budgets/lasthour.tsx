import { useSyncExternalStore } from 'react';
import { type Minute, minutesKept, type Outcome } from '../api/history';
import { useApi } from '../app/context';
import { number } from './words';

const outcomes: { outcome: Outcome; label: string }[] = [
  { outcome: 'admitted', label: 'let in' },
  { outcome: 'refused', label: 'refused' },
  { outcome: 'local', label: 'held back here' },
];

/** What this browser saw in the last hour, as a plot and in numbers. */
export function LastHour() {
  const { history } = useApi();
  const minutes = useSyncExternalStore(history.subscribe, history.snapshot);
  return (
    <figure className="last-hour">
      <figcaption>
        <h3>The last hour, in this browser</h3>
        <ul className="legend">
          {outcomes.map(({ outcome, label }) => (
            <li key={outcome} data-outcome={outcome}>
              <b>{number(minutes.reduce((sum, row) => sum + row[outcome], 0))}</b> {label}
            </li>
          ))}
        </ul>
      </figcaption>
      <Plot minutes={minutes} last={Math.floor(Date.now() / 60_000)} />
      <div className="row between quiet axis" aria-hidden="true">
        <span>{minutesKept} min ago</span>
        <span>now</span>
      </div>
    </figure>
  );
}

// The plot's own units: 4 across for each minute, 60 up.
const step = 4;
const height = 60;

/** A bar a minute, its outcomes on top of each other. The caption has the numbers, so it is drawn for eyes only. */
function Plot({ minutes, last }: { minutes: readonly Minute[]; last: number }) {
  const tallest = Math.max(10, ...minutes.map(total));
  return (
    <svg
      className="plot"
      viewBox={`0 0 ${minutesKept * step} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      {minutes.map((row) => (
        <Bar key={row.minute} row={row} x={(minutesKept - 1 - (last - row.minute)) * step} scale={height / tallest} />
      ))}
    </svg>
  );
}

function Bar({ row, x, scale }: { row: Minute; x: number; scale: number }) {
  let top = height;
  return outcomes.map(({ outcome }) => {
    const size = row[outcome] * scale;
    top -= size;
    return size > 0 && <rect key={outcome} data-outcome={outcome} x={x} y={top} width={step - 1} height={size} />;
  });
}

function total(row: Minute): number {
  return row.admitted + row.refused + row.local;
}
