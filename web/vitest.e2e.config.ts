import { defineConfig } from 'vitest/config';

// The page in a real browser, against real servers with databases of their own: `npm run e2e`.
export default defineConfig({
  test: {
    environment: 'node',
    include: ['e2e/**/*.test.ts'],
    globalSetup: ['e2e/build.ts'],
    // The tests of a file are about one server's people and budgets, one at a time. While one file waits for its page,
    // another's can work.
    maxWorkers: 2,
    // Far more than any test takes: a machine that is busy with other things is no fault.
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
