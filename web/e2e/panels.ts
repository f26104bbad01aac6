// Draws panels of the dashboard from what their queries answered.
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import type uPlot from 'uplot';

/** A panel with its data: a value of each series for each time, in seconds; null where there was none. */
export interface Panel {
  title: string;
  description: string;
  unit: string;
  kind: 'timeseries' | 'state-timeline';
  stacked: boolean;
  /** What a value is called and coloured, for state-timeline. */
  states: Record<string, { text: string; color: string }>;
  series: { name: string; values: (number | null)[] }[];
}

/** A span of time that all panels show shaded. */
export interface Span {
  name: string;
  from: number;
  to: number;
}

const style = `
  body { margin: 0; padding: 8px; width: 1064px; display: grid; grid-template-columns: repeat(3, 1fr); gap: 8px;
    font: 11px system-ui, sans-serif; color: #222; background: #fff; }
  section { border: 1px solid #ddd; border-radius: 3px; padding: 6px; overflow: hidden; }
  h2 { font-size: 12px; margin: 0 0 4px; }
  ul { list-style: none; display: flex; flex-wrap: wrap; gap: 0 10px; margin: 4px 0 0; padding: 0; font-size: 10px; }
  li::before { content: ''; display: inline-block; width: 8px; height: 3px; margin-right: 4px; background: var(--of); vertical-align: middle; }
  .state { display: grid; grid-template-columns: 132px 1fr; align-items: center; height: 16px; font-size: 10px; white-space: nowrap; }
  .bar { position: relative; height: 12px; }
  .bar i { position: absolute; height: 100%; }
  .marks { position: relative; height: 13px; margin-left: 132px; color: #666; font-size: 10px; }
  .marks span { position: absolute; border-left: 1px dashed #888; padding-left: 2px; }`;

/** Fills a page with panels, three in a line. */
export async function draw(page: Page, panels: Panel[], times: number[], spans: Span[]): Promise<void> {
  const folder = createRequire(import.meta.url)
    .resolve('uplot/dist/uPlot.min.css')
    .replace('uPlot.min.css', '');
  await page.setContent('<!doctype html><meta charset="utf-8"><body></body>');
  await page.addStyleTag({ path: `${folder}uPlot.min.css` });
  await page.addStyleTag({ content: style });
  await page.addScriptTag({ path: `${folder}uPlot.iife.min.js` });
  await page.evaluate(drawInPage, { panels, times, spans });
}

// This runs in the page, so it may use nothing from outside of itself.
function drawInPage({ panels, times, spans }: { panels: Panel[]; times: number[]; spans: Span[] }): void {
  const Plot = (globalThis as unknown as { uPlot: typeof uPlot }).uPlot;
  const colours = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f', '#bcbd22'];
  const colour = (i: number): string => colours[i % colours.length] ?? '#000';
  const [first = 0, last = 1] = [times[0], times.at(-1)];
  const units: Record<string, (n: number) => string> = {
    s: (n) => `${+(n * 1000).toPrecision(3)} ms`,
    percentunit: (n) => `${+(n * 100).toPrecision(3)} %`,
    bytes: (n) => `${Math.round(n / 2 ** 20)} MiB`,
    reqps: (n) => `${+n.toPrecision(3)}/s`,
    ops: (n) => `${+n.toPrecision(3)}/s`,
  };
  const node = (parent: HTMLElement, tag: string, text = '', css = ''): HTMLElement => {
    const made = document.createElement(tag);
    made.textContent = text;
    made.style.cssText = css;
    parent.append(made);
    return made;
  };
  const share = (at: number): string => `${(100 * (at - first)) / (last - first)}%`;

  // Each series lies on those before it; the uppermost is drawn first, so that its colour shows above the next alone.
  const stacked = (series: Panel['series']): Panel['series'] => {
    let sum = times.map(() => 0);
    const sums = series.map(({ name, values }) => {
      sum = sum.map((n, i) => n + (values[i] ?? 0));
      return { name, values: sum };
    });
    return sums.reverse();
  };

  const shade = (plot: uPlot): void => {
    plot.ctx.save();
    plot.ctx.font = `${10 * devicePixelRatio}px sans-serif`;
    for (const { name, from, to } of spans) {
      const [x, end] = [plot.valToPos(from, 'x', true), plot.valToPos(to, 'x', true)];
      plot.ctx.fillStyle = '#f0f0f0';
      plot.ctx.fillRect(x, plot.bbox.top, end - x, plot.bbox.height);
      plot.ctx.fillStyle = '#666';
      plot.ctx.fillText(name, x + 3, plot.bbox.top + 11 * devicePixelRatio);
    }
    plot.ctx.restore();
  };

  const lines = (place: HTMLElement, panel: Panel): void => {
    const shown = panel.stacked ? stacked(panel.series) : panel.series;
    const value = units[panel.unit] ?? ((n: number) => String(+n.toPrecision(4)));
    const axis = { font: '10px sans-serif', grid: { width: 1, stroke: '#eee' }, ticks: { show: false } };
    new Plot(
      {
        width: 336,
        height: 150,
        pxAlign: 1,
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: false, range: [first, last] }, y: { range: (_, __, most) => [0, (most || 1) * 1.15] } },
        axes: [
          { ...axis, size: 20, values: (_, at) => at.map((n) => `${n} s`) },
          { ...axis, size: 56, values: (_, at) => at.map(value) },
        ],
        series: [
          {},
          ...shown.map((_, i) => {
            const stroke = colour(panel.stacked ? shown.length - 1 - i : i);
            const dense = panel.stacked ? { fill: stroke } : {};
            return { stroke, width: 1.5, points: { show: false }, ...dense };
          }),
        ],
        hooks: { drawClear: [shade] },
      },
      [times, ...shown.map(({ values }) => values)],
      place,
    );
    const legend = node(place, 'ul');
    panel.series.forEach(({ name }, i) => {
      node(legend, 'li', name, `--of: ${colour(i)}`);
    });
  };

  const states = (place: HTMLElement, panel: Panel): void => {
    const marks = node(place, 'div');
    marks.className = 'marks';
    for (const { name, from } of spans) node(marks, 'span', name, `left: ${share(from)}`);
    for (const { name, values } of panel.series) {
      const line = node(place, 'div');
      line.className = 'state';
      node(line, 'span', name);
      const bar = node(line, 'div');
      bar.className = 'bar';
      let began = 0;
      for (let i = 1; i <= values.length; i++) {
        if (i < values.length && values[i] === values[began]) continue;
        const [from, to] = [times[began] ?? first, times[i] ?? last];
        const width = `${(100 * (to - from)) / (last - first)}%`;
        const state = panel.states[String(values[began])];
        node(bar, 'i', '', `left: ${share(from)}; width: ${width}; background: ${state?.color ?? '#ddd'}`);
        began = i;
      }
    }
    const legend = node(place, 'ul');
    for (const { text, color } of Object.values(panel.states)) node(legend, 'li', text, `--of: ${color}`);
  };

  for (const panel of panels) {
    const place = node(document.body, 'section');
    node(place, 'h2', panel.title).title = panel.description;
    (panel.kind === 'timeseries' ? lines : states)(place, panel);
  }
}
