// Builds and starts one server for all end-to-end tests, on a free port, with a folder of its own for its data and a Redis
// of its own for its counters. The variable SERVER_BINARY names one that is built already, with the page in it; SERVER_URL
// one that runs already, for the smoke test alone: the others want more people and budgets than such a server may have left.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { freePort, startRedis } from './redis';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the server under test is. */
    url: string;
    /** The Redis that counts for it. */
    redis: { port: number; pid: number };
  }
}

const root = fileURLToPath(new URL('../../', import.meta.url));
// A first start makes a database, which takes a while on a busy machine.
const startWithin = 90_000;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.env.SERVER_URL) {
    project.provide('url', process.env.SERVER_URL);
    project.provide('redis', { port: 0, pid: 0 });
    return async () => {};
  }
  const folder = mkdtempSync(join(tmpdir(), 'e2e-'));
  const binary = process.env.SERVER_BINARY ?? build(folder);
  const port = await freePort();
  const redis = await startRedis(port);
  project.provide('redis', { port, pid: redis.pid ?? 0 });
  const server = spawn(binary, ['serve'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      APP_ENV: 'development',
      HTTP_ADDR: '127.0.0.1:0',
      ADMIN_ADDR: '127.0.0.1:0',
      DATA_DIR: join(folder, 'data'),
      // A machine that is busy is no outage.
      REDIS_URL: `redis://127.0.0.1:${port}?read_timeout=2s`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  try {
    project.provide('url', await ready(server));
  } catch (fault) {
    server.kill();
    redis.kill();
    throw fault;
  }
  return async () => {
    server.kill('SIGTERM');
    await ended;
    redis.kill();
    rmSync(folder, { recursive: true, force: true });
  };
}

// The page is embedded, so it is built first: for production, whatever the tests themselves run as.
function build(folder: string): string {
  const binary = join(folder, 'server');
  const env = { ...process.env, NODE_ENV: 'production' };
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: join(root, 'web'), env, stdio: 'inherit' });
  execFileSync('go', ['build', '-buildvcs=false', '-o', binary, './cmd/server'], { cwd: root, stdio: 'inherit' });
  return binary;
}

// The log says where the server listens, and when it is ready.
function ready(server: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    const fail = (why: string) => reject(new Error(`${why}:\n${lines.join('\n')}`));
    const timer = setTimeout(() => fail('the server was not ready in time'), startWithin);
    server.once('exit', (code) => fail(`the server ended with ${code}`));
    for (const stream of [server.stdout, server.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        const url = /msg=ready .*?url=(\S+)/.exec(line)?.[1];
        if (!url) return;
        clearTimeout(timer);
        resolve(url);
      });
    }
  });
}
