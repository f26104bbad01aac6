// A server under test, on a free port, with a folder of its own for its data and a Redis of its own for its counters. The
// variable SERVER_URL names one that runs already, for the smoke test alone: the others want more people and budgets than
// such a server may have left.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import { freePort, startRedis } from './redis';

export interface Server {
  url: string;
  /** The Redis that counts for it; kill ends it as a crash would. */
  redis: { port: number; kill: () => void };
  stop: () => Promise<void>;
}

/** Numbers of budgets that are other than the table's, as BUDGETS_FILE has them. */
export type Numbers = Record<string, { limit: number }>;

// A first start makes a database, which takes a while on a busy machine.
const startWithin = 90_000;

export async function startServer(numbers: Numbers = {}): Promise<Server> {
  const { SERVER_URL } = process.env;
  if (SERVER_URL) return { url: SERVER_URL, redis: { port: 0, kill: () => {} }, stop: async () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'e2e-'));
  const port = await freePort();
  const redis = await startRedis(port);
  const kill = () => void redis.kill('SIGKILL');
  const program = spawn(inject('binary'), ['serve'], {
    cwd: folder,
    env: environment(folder, port, numbers),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => program.once('exit', () => resolve()));
  const stop = async () => {
    program.kill('SIGTERM');
    await ended;
    kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { url: await ready(program), redis: { port, kill }, stop };
  } catch (fault) {
    await stop();
    throw fault;
  }
}

function environment(folder: string, redisPort: number, numbers: Numbers): Record<string, string> {
  const budgets = join(folder, 'budgets.json');
  writeFileSync(budgets, JSON.stringify(numbers));
  return {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    APP_ENV: 'development',
    HTTP_ADDR: '127.0.0.1:0',
    ADMIN_ADDR: '127.0.0.1:0',
    DATA_DIR: join(folder, 'data'),
    BUDGETS_FILE: budgets,
    // A machine that is busy is no outage.
    REDIS_URL: `redis://127.0.0.1:${redisPort}?read_timeout=2s`,
  };
}

// The log says where the server listens, and when it is ready.
function ready(program: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    const fail = (why: string) => reject(new Error(`${why}:\n${lines.join('\n')}`));
    const timer = setTimeout(() => fail('the server was not ready in time'), startWithin);
    program.once('exit', (code) => fail(`the server ended with ${code}`));
    for (const stream of [program.stdout, program.stderr]) {
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
