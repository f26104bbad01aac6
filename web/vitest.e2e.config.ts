import { defineConfig } from 'vitest/config';

// The page in a real browser, against a real server with a database of its own: `npm run e2e`.
export default defineConfig({
  test: {
    environment: 'node',
    include: ['e2e/**/*.test.ts'],
    globalSetup: ['e2e/server.ts'],
    // One server and one person's budgets: one test at a time.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
