import { mergeConfig } from 'vitest/config';
import e2e from './vitest.e2e.config';

// Pictures of every page, by the server and the scenes of the end-to-end tests: `npm run screenshots`.
export default mergeConfig(
  { ...e2e, test: { ...e2e.test, include: [] } },
  { test: { include: ['e2e/screenshots.ts'] } },
);
