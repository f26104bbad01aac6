// A Redis of the tests' own, without a file.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

/** Starts a Redis on a port of this machine, and waits until it takes connections. */
export function startRedis(port: number): Promise<ChildProcess> {
  const options = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--daemonize', 'no'];
  const redis = spawn(program(), ['--port', String(port), ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    redis.once('error', reject);
    redis.once('exit', (code) => reject(new Error(`Redis ended with ${code}`)));
    createInterface({ input: redis.stdout }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve(redis);
    });
  });
}

/** A port that nothing listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const listener = createServer().once('error', reject);
    listener.listen(0, '127.0.0.1', () => {
      const address = listener.address();
      listener.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

function program(): string {
  for (const name of ['redis-server', 'valkey-server']) {
    try {
      execFileSync(name, ['--version'], { stdio: 'ignore' });
      return name;
    } catch {
      // It is the other one, or there is none.
    }
  }
  throw new Error('no Redis found: run `scripts/setup redis`');
}
