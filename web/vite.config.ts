import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The server to talk to while developing: `make run` serves there.
const server = process.env.SERVER ?? 'http://localhost:8080';

export default defineConfig({
  plugins: [react()],
  build: {
    // The page's policy forbids scripts and styles inline, and data: but for images: everything is a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'baseline-widely-available',
  },
  server: {
    proxy: { '/api': server, '/dev/idp': server },
  },
  test: {
    // A test that shows the page says so in its first line, and gets a document; making one takes a second.
    environment: 'node',
    include: ['src/**/*.test.{ts,tsx}'],
    // Far more than any test takes: a machine that is busy with other things is no fault.
    testTimeout: 30_000,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
