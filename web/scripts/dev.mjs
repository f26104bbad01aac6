// Runs the server and Vite's development server together: `make dev`. A change of the page shows without a reload; a change
// of Go or SQL builds the server anew and starts it again, and one that does not build leaves the old one running.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));
const binary = join(root, 'bin/server-dev');
const port = 5173;
// Long enough for an editor, or a checkout of another branch, to write all of its files.
const settleMs = 150;

const vite = await createServer({ root: join(root, 'web'), server: { port, strictPort: true } });
await vite.listen();
let server = null;
let building = false;
let changed = true;
let timer = null;

vite.watcher.add(['api', 'cmd', 'db', 'internal', 'go.mod'].map((name) => join(root, name)));
vite.watcher.on('all', (_, file) => {
  if (!/^(api|cmd|db|internal)\/.*\.(go|sql|lua|css|json)$|^go\.mod$/.test(relative(root, file))) return;
  if (/_test\.go$/.test(file)) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    changed = true;
    void renew();
  }, settleMs);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);

await renew();
console.log(`\n  The page: http://localhost:${port} (the server behind it: http://127.0.0.1:8080)\n`);

// One build at a time; what changes meanwhile is in the next.
async function renew() {
  if (building) return;
  building = true;
  while (changed) {
    changed = false;
    if (await build()) await restart();
  }
  building = false;
}

async function build() {
  const contract = run('node', ['scripts/contract.mjs'], join(root, 'web'));
  const program = run('go', ['build', '-o', binary, './cmd/server'], root);
  return (await contract) && (await program);
}

async function run(name, args, cwd) {
  const [code] = await once(spawn(name, args, { cwd, stdio: 'inherit' }), 'exit');
  return code === 0;
}

async function restart() {
  await end();
  const env = {
    ...process.env,
    APP_ENV: 'development',
    HTTP_ADDR: '127.0.0.1:8080',
    // Signing in comes back to Vite's address, which hands it on.
    PUBLIC_URL: `http://localhost:${port}`,
  };
  server = spawn(binary, ['serve'], { cwd: root, env, stdio: 'inherit' });
}

async function end() {
  if (!server || server.exitCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}

async function stop() {
  await Promise.all([end(), vite.close()]);
  process.exit(0);
}
