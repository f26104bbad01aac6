import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { type Minute, outcomes } from '../api/history';
import 'uplot/dist/uPlot.min.css';

interface Props {
  /** Without a gap, the present one last. */
  minutes: readonly Minute[];
  /** Is told which minute is pointed at, by its index; null for none. */
  onPoint: (index: number | null) => void;
}

const height = 180;

/** A bar a minute, its outcomes on top of each other. The words around it have the numbers, so it is drawn for eyes only. */
export function Plot({ minutes, onPoint }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = useRef<uPlot.AlignedData>([[]]);
  useEffect(() => {
    data.current = stacked(minutes);
    plot.current?.setData(data.current);
  }, [minutes]);
  useEffect(() => {
    const place = box.current;
    if (!place || !canDraw()) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(place, onPoint), data.current, place);
    };
    draw();
    const watching = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height }));
    watching.observe(place);
    const theme = globalThis.matchMedia('(prefers-color-scheme: dark)');
    theme.addEventListener('change', draw);
    return () => {
      theme.removeEventListener('change', draw);
      watching.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [onPoint]);
  return <div ref={box} className="plot" aria-hidden="true" />;
}

// Sums from the bottom up, the tallest first.
function stacked(minutes: readonly Minute[]): uPlot.AlignedData {
  const sums = outcomes.map((_, top) =>
    minutes.map((row) => outcomes.slice(0, top + 1).reduce((sum, outcome) => sum + row[outcome], 0)),
  );
  return [minutes.map((row) => row.minute * 60), ...sums.reverse()];
}

function options(place: HTMLElement, onPoint: Props['onPoint']): uPlot.Options {
  const ink = colourOf(place, 'var(--ink-quiet)');
  const line = colourOf(place, 'var(--line)');
  const axis: uPlot.Axis = {
    stroke: ink,
    font: '12px system-ui, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  };
  return {
    width: place.clientWidth,
    height,
    padding: [8, 22, 0, 0], // Room for half of the last time below the axis.
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    // Half a minute on either side, so that the first and the last bar are whole.
    scales: {
      x: { time: true, range: (_, first, last) => [first - 30, last + 30] },
      y: { range: (_, __, most) => [0, Math.max(10, most * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 80, values: (_, times) => times.map(hourAndMinute) },
      { ...axis, size: 36, space: 30, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    ],
    series: [
      {},
      ...outcomes.toReversed().map((outcome) => ({
        fill: colourOf(place, `var(--outcome-${outcome})`),
        width: 0,
        points: { show: false },
        paths: bars,
      })),
    ],
    hooks: { setCursor: [(u) => onPoint(u.cursor.idx ?? null)] },
  };
}

// Each part of a bar stands on the next, which is lower, and covers nothing: at an edge between two pixels no other colour
// shines through. Heights are whole pixels, so that nothing does between the parts.
function bars(u: uPlot, series: number, first: number, last: number): uPlot.Series.Paths {
  const x = (seconds: number) => u.valToPos(seconds, 'x', true);
  const y = (count: number | null | undefined) => Math.round(u.valToPos(count ?? 0, 'y', true));
  const [times, tops, floors] = [u.data[0], u.data[series], u.data[series + 1]];
  const width = Math.min(0.8 * (x(60) - x(0)), 14 * devicePixelRatio);
  const fill = new Path2D();
  for (let i = first; i <= last; i++) {
    const [top, bottom] = [y(tops?.[i]), y(floors?.[i])];
    fill.rect(x(times[i] ?? 0) - width / 2, top, width, bottom - top);
  }
  return { fill };
}

function hourAndMinute(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
}

// A canvas takes no variables and no light-dark(): what they come to is asked of an element.
function colourOf(place: HTMLElement, colour: string): string {
  const probe = document.createElement('span');
  probe.style.color = colour;
  place.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

// A browser that gives no canvas has the numbers and the table.
function canDraw(): boolean {
  return document.createElement('canvas').getContext('2d') !== null;
}
