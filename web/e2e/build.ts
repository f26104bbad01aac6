// What all end-to-end tests share: the server, built once with the page in it, and one browser. Each file of tests starts
// servers of its own, so that what one spends, breaks or signs out is not another's.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { launchServer } from './browser';

declare module 'vitest' {
  interface ProvidedContext {
    /** The program under test. */
    binary: string;
    /** Where the browser takes orders. */
    browser: string;
  }
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The variable SERVER_BINARY names a server that is built already, with the page in it; SERVER_URL one that runs. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const browser = await launchServer(); // First, since it is there or not at once.
  const folder = mkdtempSync(join(tmpdir(), 'e2e-'));
  const tearDown = async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { SERVER_URL, SERVER_BINARY } = process.env;
    project.provide('binary', SERVER_URL ? '' : (SERVER_BINARY ?? build(folder)));
  } catch (fault) {
    await tearDown();
    throw fault;
  }
  project.provide('browser', browser.wsEndpoint());
  return tearDown;
}

// Make builds the page before, if it is older than its sources: for production, whatever the tests themselves run as.
function build(folder: string): string {
  const binary = join(folder, 'server');
  const env = { ...process.env, NODE_ENV: 'production' };
  execFileSync('make', ['--silent', '--no-print-directory', 'web'], { cwd: root, env, stdio: 'inherit' });
  execFileSync('go', ['build', '-buildvcs=false', '-o', binary, './cmd/server'], { cwd: root, stdio: 'inherit' });
  return binary;
}
