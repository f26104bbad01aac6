// Draws the dashboard of deploy/grafana from what Prometheus saw of a flood, an outage of Redis and the recovery, into
// docs/images. The queries are the dashboard's own; Grafana is not needed.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { launch } from './browser';
import { draw, type Panel, type Span } from './panels';
import { freePort, startRedis } from './redis';

const root = fileURLToPath(new URL('../../', import.meta.url));
const step = 2; // seconds between two points of a line
const sleep = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** A panel as the dashboard's file has it. */
interface Definition {
  type: Panel['kind'] | 'row';
  title: string;
  description: string;
  fieldConfig: {
    defaults: {
      unit: string;
      custom?: { stacking: { mode: string } };
      mappings?: { options: Record<string, { text: string; color: string }> }[];
    };
  };
  targets: { expr: string; legendFormat: string }[];
}

test('the dashboard shows a flood, an outage and the recovery', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
  const running: ChildProcess[] = [];
  const browser = await launch();
  try {
    const { prometheus, began, spans } = await record(folder, running);
    const length = Date.now() / 1000 - began;
    const { panels } = JSON.parse(readFileSync(join(root, 'deploy/grafana/dashboards/server.json'), 'utf8')) as {
      panels: Definition[];
    };
    const page = await browser.newPage({ viewport: { width: 1080, height: 400 } });
    const times = Array.from({ length: Math.floor(length / step) }, (_, i) => i * step);
    for (const row of ['Requests', 'Limits', 'Outages']) {
      const first = panels.findIndex((panel) => panel.type === 'row' && panel.title === row);
      const next = panels.findIndex((panel, i) => i > first && panel.type === 'row');
      const drawn = panels.slice(first + 1, next).map((panel) => ask(prometheus, panel, began, times));
      await draw(page, await Promise.all(drawn), times, spans);
      const path = join(root, `docs/images/dashboard-${row.toLowerCase()}.png`);
      await page.locator('body').screenshot({ path });
      expect(statSync(path).size).toBeLessThan(80_000);
    }
  } finally {
    await browser.close();
    for (const child of running.reverse()) await end(child);
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Runs a server through it all; answers where Prometheus is, when it began, and what was when since then. */
async function record(folder: string, running: ChildProcess[]) {
  const [redisPort, port, adminPort, prometheusPort] = await Promise.all([1, 2, 3, 4].map(freePort));
  const redis = await startRedis(Number(redisPort));
  running.push(redis);
  const url = `http://127.0.0.1:${port}`;
  const binary = join(folder, 'server');
  execFileSync('go', ['build', '-buildvcs=false', '-o', binary, './cmd/server'], { cwd: root, stdio: 'inherit' });
  const env = {
    PATH: process.env.PATH ?? '',
    APP_ENV: 'development',
    HTTP_ADDR: `127.0.0.1:${port}`,
    ADMIN_ADDR: `127.0.0.1:${adminPort}`,
    DATA_DIR: join(folder, 'data'),
    REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    // The flood claims many addresses, as through a proxy.
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'error',
  };
  running.push(spawn(binary, ['serve'], { cwd: folder, env, stdio: 'inherit' }));
  running.push(startPrometheus(folder, Number(prometheusPort), `127.0.0.1:${adminPort}`));
  await answers(`${url}/readyz`);
  await answers(`http://127.0.0.1:${prometheusPort}/-/ready`);

  const spans: Span[] = [];
  const began = Date.now() / 1000;
  const during = async (name: string, seconds: number) => {
    const from = Date.now() / 1000 - began;
    await sleep(seconds);
    spans.push({ name, from, to: Date.now() / 1000 - began });
  };
  const people = ['alice', 'bob', 'carol', 'dave'].map((person) =>
    execFileSync(binary, ['token', person, '-url', url], { encoding: 'utf8' }).trim(),
  );
  let calm = true;
  const usual = Promise.all(people.map((token, i) => call(url, token, i, () => calm)));
  await sleep(30);
  let flooding = true;
  const flood = Promise.all(Array.from({ length: 8 }, (_, i) => spray(url, i, () => flooding)));
  await during('flood', 30);
  flooding = false;
  await flood;
  await sleep(30);
  await end(redis);
  await during('Redis away', 30);
  running.push(await startRedis(Number(redisPort)));
  await sleep(30);
  calm = false;
  await usual;
  return { prometheus: `http://127.0.0.1:${prometheusPort}`, began, spans };
}

function startPrometheus(folder: string, port: number, target: string): ChildProcess {
  const config = join(folder, 'prometheus.yml');
  const jobs = `scrape_configs: [{job_name: server, static_configs: [{targets: ["${target}"], labels: {instance: server-1}}]}]`;
  writeFileSync(config, `global: {scrape_interval: 1s}\n${jobs}\n`);
  const data = `--storage.tsdb.path=${join(folder, 'prometheus')}`;
  const args = [`--config.file=${config}`, data, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'];
  return spawn('prometheus', args, { stdio: 'inherit' });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function answers(url: string): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(0.2);
  }
  throw new Error(`${url} did not answer in time`);
}

/** A person at work: about three requests in two seconds. */
async function call(url: string, token: string, person: number, goesOn: () => boolean): Promise<void> {
  const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': `198.51.100.${person + 1}` };
  for (let n = 0; goesOn(); n++) {
    const path = ['/api/v1/org', '/api/v1/me', '/api/v1/limits'][n % 3];
    await (await fetch(url + path, { headers })).arrayBuffer();
    if (n % 9 === 4) await write(url, headers); // example:line
    await sleep(0.5 + Math.random() / 3);
  }
}

// example:begin
/** One of ten requests is a new task. */
async function write(url: string, from: Record<string, string>): Promise<void> {
  const headers = { ...from, 'Content-Type': 'application/json' };
  const response = await fetch(`${url}/api/v1/tasks`, { method: 'POST', headers, body: '{"title":"A task"}' });
  await response.arrayBuffer();
}

// example:end
/** One of eight who try credentials, each from an address of its own. */
async function spray(url: string, who: number, goesOn: () => boolean): Promise<void> {
  for (let n = 0; goesOn(); n++) {
    const headers = { Authorization: `Bearer guess-${n}`, 'X-Forwarded-For': `203.0.113.${who + 1}` };
    await (await fetch(`${url}/api/v1/me`, { headers })).arrayBuffer();
    await sleep(0.03);
  }
}

/** What a panel's queries answer. */
async function ask(prometheus: string, panel: Definition, began: number, times: number[]): Promise<Panel> {
  const { unit, custom, mappings } = panel.fieldConfig.defaults;
  const kind = panel.type as Panel['kind'];
  const series = (await Promise.all(panel.targets.map((target) => range(prometheus, target, began, times)))).flat();
  // What stayed at nothing only crowds a small picture.
  const moved = series.filter(({ values }) => kind === 'state-timeline' || values.some((value) => value));
  return {
    title: panel.title,
    description: panel.description,
    unit,
    kind,
    stacked: custom?.stacking.mode === 'normal',
    states: mappings?.[0]?.options ?? {},
    series: moved.length > 0 ? moved : series.slice(0, 1),
  };
}

interface Answer {
  data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
}

async function range(prometheus: string, target: Definition['targets'][0], began: number, times: number[]) {
  const query = target.expr.replaceAll('$__rate_interval', '8s');
  const [start, end] = [began, began + (times.at(-1) ?? 0)];
  const parameters = new URLSearchParams({ query, start: String(start), end: String(end), step: String(step) });
  const response = await fetch(`${prometheus}/api/v1/query_range?${parameters}`);
  if (!response.ok) throw new Error(`${query}: ${await response.text()}`);
  const { data } = (await response.json()) as Answer;
  return data.result.map(({ metric, values }) => {
    const at = new Map(values.map(([time, value]) => [Math.round((time - began) / step), Number(value)]));
    const name = target.legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '');
    return { name, values: times.map((time) => finite(at.get(time / step))) };
  });
}

const finite = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : value;
