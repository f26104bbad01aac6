// What an administrator is told of the process, as files.
import { gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { Stage } from './stage';

const stage = new Stage();
let root: Page;

beforeEach(async () => {
  root = await stage.open('Root');
});

describe('the process', () => {
  async function take(action: string): Promise<{ name: string; content: Buffer }> {
    await root.goto('/admin/process');
    await root.getByRole('button', { name: action }).click();
    const dialog = root.getByRole('dialog');
    await dialog.getByLabel('Reason, for the audit').fill('An end-to-end test');
    const download = root.waitForEvent('download');
    await dialog.getByRole('button', { name: action }).click();
    const file = await download;
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk);
    return { name: file.suggestedFilename(), content: Buffer.concat(chunks) };
  }

  test('gives its stacks', async () => {
    const { name, content } = await take('Get the stacks');
    expect(name).toBe('goroutines.txt');
    expect(content.toString()).toMatch(/^goroutine \d+ \[/);
    await root.getByText(/^Read \d+ goroutines here$/).click();
    await root
      .getByRole('region', { name: 'Stacks, as text' })
      .getByText(/main\.main/)
      .waitFor();
  });

  test('gives a profile of its heap, and the audit says who took it', async () => {
    const { name, content } = await take('Get the heap profile');
    expect(name).toBe('heap.pb.gz');
    expect(gunzipSync(content).length).toBeGreaterThan(1000);
    await root.getByRole('link', { name: 'Audit', exact: true }).click();
    await root.getByRole('heading', { name: 'admin.heapdump process' }).first().waitFor();
  });
});

test('on a phone the tabs of administration show where one is', async () => {
  await root.setViewportSize({ width: 390, height: 844 });
  await root.goto('/admin/audit');
  const tab = root.getByRole('link', { name: 'Audit', exact: true });
  await tab.waitFor();
  const { left, right } = await tab.evaluate((element) => element.getBoundingClientRect().toJSON());
  expect(left).toBeGreaterThan(0);
  expect(right).toBeLessThanOrEqual(390);
});
