import { defineConfig } from 'vitest/config';

// Pictures of the dashboard, from Prometheus and a server of their own: `npm run dashboard`.
export default defineConfig({
  test: { environment: 'node', include: ['e2e/dashboard.ts'], testTimeout: 600_000 },
});
