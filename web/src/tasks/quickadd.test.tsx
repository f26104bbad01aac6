// @vitest-environment happy-dom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import { alice, aliceLimits, type FakeServer, json, problem, refusal, signedIn } from '../testing/fakeserver';
import { advance, click, open, settle, stopClock, write } from '../testing/page';
import { signedInWith, task } from './fake';

stopClock();

const parsed = {
  parser: 'local',
  drafts: [
    {
      title: 'Buy milk',
      notes: '',
      dueAt: null,
      priority: 'none',
      tags: ['home'],
      spans: [{ start: 9, end: 14, kind: 'tag' }],
    },
    {
      title: 'Call Ann',
      notes: '',
      dueAt: null,
      priority: 'high',
      tags: [],
      spans: [{ start: 24, end: 29, kind: 'priority' }],
    },
  ],
};

const label = 'What is to be done?';

// Has that many tasks saved, and then refuses.
function savesOnly(server: FakeServer, count: number): void {
  let left = count;
  server.on('POST /api/v1/tasks', (_, body) =>
    left-- > 0 ? json(task((body as { title: string }).title), 201) : refusal('tasks.write', 1000),
  );
}

// The page while the one draft of a text is being saved, which is answered when the test says so.
async function savingOne(): Promise<{ server: FakeServer; answer: () => void }> {
  let answer = () => {};
  const server = signedInWith()
    .on('POST /api/v1/tasks/parse', () => json({ parser: 'local', drafts: [parsed.drafts[0]] }))
    .on('POST /api/v1/tasks', () => new Promise((resolve) => (answer = () => resolve(json(task('Buy milk'), 201)))));
  await open(server);
  await write(label, 'Buy milk #home');
  await click('button', 'Turn into tasks');
  await click('button', 'Save the task');
  return { server, answer: () => answer() };
}

test('the page shows the tasks beside the budgets that they spend, each asked for once', async () => {
  const server = signedInWith(task('Write the release notes'));
  await open(server);
  expect(screen.getByLabelText('Write the release notes')).toBeTruthy();
  expect(screen.getByRole('meter', { name: 'All your requests' }).getAttribute('aria-valuenow')).toBe('88');
  expect(server.count('GET /api/v1/limits')).toBe(1);
});

test('a text is turned into drafts, one is put right, and they are saved', async () => {
  const server = signedIn()
    .on('POST /api/v1/tasks/parse', () => json(parsed))
    .on('POST /api/v1/tasks', (_, body) => json(task((body as { title: string }).title), 201));
  await open(server);
  await write(label, 'Buy milk #home\nCall Ann !high');
  await click('button', 'Turn into tasks');
  expect(screen.getByText('#home', { selector: 'mark' }).textContent).toContain('tag');
  const [first] = screen.getAllByLabelText('Title');
  expect(first).toHaveProperty('value', 'Buy milk');
  if (first) fireEvent.change(first, { target: { value: 'Buy oat milk' } });
  await click('button', 'Save 2 tasks');
  const created = server.asked.filter(({ what }) => what === 'POST /api/v1/tasks').map(({ body }) => body);
  expect(created).toMatchObject([
    { title: 'Call Ann', priority: 'high' },
    { title: 'Buy oat milk', tags: ['home'] },
  ]);
  expect(screen.getAllByRole('checkbox').map((box) => box.closest('li')?.textContent)).toEqual([
    expect.stringContaining('Buy oat milk'),
    expect.stringContaining('Call Ann'),
  ]);
  expect(screen.getByLabelText(label)).toHaveProperty('value', '');
});

test('whoever is refused sees until when, may not press till then, and then succeeds', async () => {
  const server = signedIn().on('POST /api/v1/tasks/parse', () => refusal('tasks.parse', 3000));
  await open(server);
  await write(label, 'Buy milk #home\nCall Ann !high');
  await click('button', 'Turn into tasks');
  expect(screen.getByText('Reading free text', { selector: '.notice b' })).toBeTruthy();
  expect(screen.getByText('REQ123')).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Turn into tasks in 3 s' })).toHaveProperty('disabled', true);
  await advance(2000);
  expect(screen.getByRole('button', { name: 'Turn into tasks in 1 s' })).toHaveProperty('disabled', true);
  expect(server.count('POST /api/v1/tasks/parse')).toBe(1);
  server.on('POST /api/v1/tasks/parse', () => json(parsed));
  await advance(1000);
  await click('button', 'Turn into tasks');
  expect(screen.getByRole('button', { name: 'Save 2 tasks' })).toBeTruthy();
});

test('drafts that could not be saved are kept, and none is saved twice', async () => {
  let tries = 0;
  const server = signedIn()
    .on('POST /api/v1/tasks/parse', () => json(parsed))
    .on('POST /api/v1/tasks', (_, body) =>
      ++tries === 2 ? refusal('tasks.write', 1000) : json(task((body as { title: string }).title), 201),
    );
  await open(server);
  await write(label, 'Buy milk #home\nCall Ann !high');
  await click('button', 'Turn into tasks');
  await click('button', 'Save 2 tasks');
  expect(screen.getByLabelText('Title')).toHaveProperty('value', 'Buy milk');
  await advance(1000);
  await click('button', 'Save the task');
  const titles = server.asked
    .filter(({ what }) => what === 'POST /api/v1/tasks')
    .map(({ body }) => (body as { title: string }).title);
  expect(titles).toEqual(['Call Ann', 'Buy milk', 'Buy milk']);
});

test('what was read leaves the text once a draft of it is saved; the rest is saved or discarded before another reading', async () => {
  const server = signedIn().on('POST /api/v1/tasks/parse', () => json(parsed));
  savesOnly(server, 1);
  await open(server);
  await write(label, 'Buy milk #home\nCall Ann !high');
  await click('button', 'Turn into tasks');
  await write(label, 'Buy milk #home\nCall Ann !high\nRest');
  await click('button', 'Save 2 tasks');
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Rest');
  expect(screen.queryByRole('button', { name: 'Back to the text' })).toBeNull();
  expect(screen.getByRole('button', { name: 'Turn into tasks' })).toHaveProperty('disabled', true);
  await click('button', 'Discard the rest (1)');
  expect(screen.queryByLabelText('Title')).toBeNull();
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Rest');
  await advance(1000);
  await click('button', 'Turn into tasks');
  expect(server.asked.at(-1)?.body).toMatchObject({ text: 'Rest' });
});

test('a reload after a save in part shows the drafts that are left, as they were put right', async () => {
  const server = signedInWith().on('POST /api/v1/tasks/parse', () => json(parsed));
  savesOnly(server, 1);
  await open(server);
  await write(label, 'Buy milk #home\nCall Ann !high');
  await click('button', 'Turn into tasks');
  const [first] = screen.getAllByLabelText('Title');
  if (first) fireEvent.change(first, { target: { value: 'Buy oat milk' } });
  await click('button', 'Save 2 tasks');
  cleanup();
  const again = signedInWith();
  savesOnly(again, 9);
  await open(again);
  expect(screen.getByLabelText(label)).toHaveProperty('value', '');
  expect(screen.getByLabelText('Title')).toHaveProperty('value', 'Buy oat milk');
  expect(screen.getByRole('button', { name: 'Discard the rest (1)' })).toBeTruthy();
  await click('button', 'Save the task');
  expect(again.asked.filter(({ what }) => what === 'POST /api/v1/tasks').map(({ body }) => body)).toMatchObject([
    { title: 'Buy oat milk', tags: ['home'] },
  ]);
  expect(again.keys('POST /api/v1/tasks')).toEqual(server.keys('POST /api/v1/tasks').slice(1));
  expect(screen.queryByLabelText('Title')).toBeNull();
});

test('drafts of which none is saved are there after a reload, and the text to go back to', async () => {
  await open(signedInWith().on('POST /api/v1/tasks/parse', () => json(parsed)));
  await write(label, 'Buy milk #home\nCall Ann !high');
  await click('button', 'Turn into tasks');
  cleanup();
  await open(signedInWith());
  expect(screen.getAllByLabelText('Title')).toHaveLength(2);
  expect(screen.getByText('#home', { selector: 'mark' })).toBeTruthy();
  await click('button', 'Back to the text');
  expect(screen.queryByLabelText('Title')).toBeNull();
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Buy milk #home\nCall Ann !high');
});

test('who leaves during a save and comes back before its answer finds it running, and its end', async () => {
  const answers: (() => void)[] = [];
  const server = signedInWith()
    .on('POST /api/v1/tasks/parse', () => json(parsed))
    .on('POST /api/v1/tasks', (_, body) => {
      const { title } = body as { title: string };
      return new Promise((resolve) => answers.push(() => resolve(json(task(title), 201))));
    });
  await open(server);
  await write(label, 'Buy milk #home\nCall Ann !high');
  await click('button', 'Turn into tasks');
  await click('button', 'Save 2 tasks');
  await click('link', 'Budgets');
  await click('link', 'Tasks');
  expect(screen.getByRole('button', { name: 'Turn into tasks' })).toHaveProperty('disabled', true);
  expect(screen.getByRole('button', { name: 'Saving…' })).toHaveProperty('disabled', true);
  await write(label, 'Buy milk #home\nCall Ann !high\nWater the plants');
  answers[0]?.();
  await settle();
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Water the plants');
  await write(label, 'Water the plants today');
  answers[1]?.();
  await settle();
  expect(screen.queryByLabelText('Title')).toBeNull();
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Water the plants today');
  expect(screen.getByRole('button', { name: 'Turn into tasks' })).toHaveProperty('disabled', false);
  const titles = server.asked
    .filter(({ what }) => what === 'POST /api/v1/tasks')
    .map(({ body }) => (body as { title: string }).title);
  expect(titles).toEqual(['Call Ann', 'Buy milk']);
  cleanup();
  await open(signedInWith());
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Water the plants today');
});

test('what is saved after the page was left is not in the text of who comes back', async () => {
  const { answer } = await savingOne();
  await click('link', 'Budgets');
  answer();
  await settle();
  await click('link', 'Tasks');
  expect(screen.getByLabelText(label)).toHaveProperty('value', '');
});

test('a save without an answer is sent again with the same key, and makes no task twice', async () => {
  let tries = 0;
  const server = signedIn()
    .on('POST /api/v1/tasks/parse', () => json({ parser: 'local', drafts: [parsed.drafts[0]] }))
    .on('POST /api/v1/tasks', (_, body) => {
      if (++tries === 1) throw new TypeError('Failed to fetch');
      return json(task((body as { title: string }).title), 201);
    });
  await open(server);
  await write(label, 'Buy milk #home');
  await click('button', 'Turn into tasks');
  await click('button', 'Save the task');
  expect(screen.getByRole('alert').textContent).toContain('could not be reached');
  await click('button', 'Save the task');
  const [first, second] = server.keys('POST /api/v1/tasks');
  expect(first).toBeTruthy();
  expect(second).toBe(first);
});

test('the end of a session leaves the page and what was typed, and nothing is asked any more', async () => {
  const server = signedIn().on('POST /api/v1/tasks/parse', () => problem(401, 'AUTH_FAILED', 'Authentication failed.'));
  await open(server);
  await write(label, 'Buy milk');
  await click('button', 'Turn into tasks');
  expect(screen.getAllByRole('link', { name: 'Sign in again' }).length).toBeGreaterThan(0);
  expect(screen.getByText('What you typed above the list is kept.')).toBeTruthy();
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Buy milk');
  const asked = server.asked.length;
  await advance(120_000);
  expect(server.asked.length).toBe(asked);
});

test('whoever is offline is told at once that nothing was reached, and nothing waits without a word', async () => {
  const server = signedIn().on('POST /api/v1/tasks/parse', () => {
    throw new TypeError('Failed to fetch');
  });
  await open(server);
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false);
  globalThis.dispatchEvent(new Event('offline'));
  await write(label, 'Buy milk');
  await click('button', 'Turn into tasks');
  expect(screen.getByRole('alert').textContent).toContain('could not be reached');
  const asked = server.count('GET /api/v1/tasks');
  vi.restoreAllMocks();
  globalThis.dispatchEvent(new Event('online'));
  await settle();
  expect(server.count('POST /api/v1/tasks/parse')).toBe(1);
  expect(server.count('GET /api/v1/tasks')).toBe(asked); // It is fresh still.
});

test('a gauge falls with the headers of any answer', async () => {
  const server = signedIn().on('POST /api/v1/tasks/parse', () =>
    json(parsed, 200, { RateLimit: '"user";r=3;t=40', 'RateLimit-Policy': '"user";q=100;w=60' }),
  );
  await open(server);
  await write(label, 'x');
  await click('button', 'Turn into tasks');
  const meter = screen.getByRole('meter', { name: 'All your requests' });
  expect(meter.getAttribute('aria-valuetext')).toBe('3 of 100 left');
  expect(screen.getByText('more in 40 s')).toBeTruthy();
  await advance(40_000);
  expect(server.count('GET /api/v1/limits')).toBeGreaterThan(1);
  expect(meter.getAttribute('aria-valuenow')).toBe(String(aliceLimits.budgets[0]?.remaining));
});

test('what was typed comes back to the same person, and to nobody else', async () => {
  await open(signedInWith());
  await write(label, 'Buy a ring');
  cleanup();
  await open(signedInWith().on('GET /api/v1/me', () => json({ ...alice, id: alice.organisation.id })));
  expect(screen.getByLabelText(label)).toHaveProperty('value', '');
  cleanup();
  await open(signedInWith());
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Buy a ring');
});

test('while drafts are saved they cannot be changed, and what is typed meanwhile stays', async () => {
  const { server, answer } = await savingOne();
  expect(screen.getByLabelText('Title').closest('fieldset')).toHaveProperty('disabled', true);
  expect(screen.getByRole('button', { name: 'Back to the text' })).toHaveProperty('disabled', true);
  expect(screen.getByRole('button', { name: 'Turn into tasks' })).toHaveProperty('disabled', true);
  fireEvent.keyDown(screen.getByLabelText(label), { key: 'Enter' });
  await settle();
  expect(server.count('POST /api/v1/tasks/parse')).toBe(1);
  await write(label, 'Buy milk #home\nCall Ann');
  answer();
  await settle();
  expect(screen.getByLabelText(label)).toHaveProperty('value', 'Call Ann');
});
