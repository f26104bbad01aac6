// @vitest-environment happy-dom
import { fireEvent, screen } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import { json, problem, refusal, signedIn } from '../testing/fakeserver';
import { advance, click, open, settle, stopClock, write } from '../testing/page';
import { signedInWith, task } from './fake';

stopClock();

const notes = task('Write the release notes');
const path = `/api/v1/tasks/${notes.id}`;

describe('done', () => {
  test('shows at once and is sent', async () => {
    const server = signedInWith(notes).on(`PATCH ${path}`, () => json({ ...notes, done: true }));
    await open(server);
    await click('checkbox', notes.title);
    expect(screen.getByRole('checkbox')).toHaveProperty('checked', true);
    expect(server.asked.at(-1)).toEqual({ what: `PATCH ${path}`, body: { done: true } });
  });

  test('goes back when it is refused, and says why beside the task', async () => {
    const server = signedInWith(notes).on(`PATCH ${path}`, () =>
      problem(503, 'UNAVAILABLE', 'Not for the moment.', { retryAfter: 5000 }),
    );
    await open(server);
    await click('checkbox', notes.title);
    expect(screen.getByRole('checkbox')).toHaveProperty('checked', false);
    expect(screen.getByRole('alert').textContent).toContain('Not for the moment.');
    expect(screen.getByRole('alert').textContent).toContain('Try again in 5 s.');
    expect(screen.getByRole('alert').closest('li')).toBe(screen.getByRole('checkbox').closest('li'));
  });
});

describe('a tick whose answer takes a while', () => {
  const no = () => problem(503, 'UNAVAILABLE', 'Not for the moment.');

  async function refusedLater() {
    const answers: (() => void)[] = [];
    const server = signedInWith(notes).on(
      `PATCH ${path}`,
      () => new Promise((resolve) => answers.push(() => resolve(no()))),
    );
    await open(server);
    return { server, answers };
  }

  test('goes back when it is refused, whatever was shown meanwhile', async () => {
    const { answers } = await refusedLater();
    await click('checkbox', notes.title);
    expect(screen.getByRole('checkbox')).toHaveProperty('checked', true);
    answers[0]?.();
    await settle();
    expect(screen.getByRole('checkbox')).toHaveProperty('checked', false);
  });

  test('goes back to what the server has, where two are refused', async () => {
    const { server, answers } = await refusedLater();
    await click('checkbox', notes.title);
    await click('checkbox', notes.title);
    answers[0]?.();
    await settle();
    answers[1]?.();
    await settle();
    expect(server.count(`PATCH ${path}`)).toBe(2);
    expect(screen.getByRole('checkbox')).toHaveProperty('checked', false);
  });
});

test('what is done is under Done at once, though that list was seen a moment ago', async () => {
  const server = signedInWith(notes).on(`PATCH ${path}`, () => json({ ...notes, done: true }));
  server.on('GET /api/v1/tasks', (request) => {
    const done = new URL(request.url).searchParams.get('done') === 'true';
    const ticked = server.count(`PATCH ${path}`) > 0;
    return json({ items: done === ticked ? [{ ...notes, done }] : [] });
  });
  await open(server);
  await click('radio', 'Done');
  expect(screen.getByText('Nothing is done yet.')).toBeTruthy();
  await click('radio', 'Open');
  await click('checkbox', notes.title);
  await click('radio', 'Done');
  expect(screen.getByRole('checkbox', { name: notes.title })).toHaveProperty('checked', true);
});

test('ticks of one task are sent one after the other, and the last one counts', async () => {
  const answers: (() => void)[] = [];
  const server = signedInWith(notes).on(
    `PATCH ${path}`,
    (_, body) =>
      new Promise((resolve) => {
        answers.push(() => resolve(json({ ...notes, ...(body as object) })));
      }),
  );
  await open(server);
  await click('checkbox', notes.title);
  await click('checkbox', notes.title);
  expect(answers).toHaveLength(1);
  answers[0]?.();
  await settle();
  answers[1]?.();
  await settle();
  expect(server.asked.filter(({ what }) => what === `PATCH ${path}`).map(({ body }) => body)).toEqual([
    { done: true },
    { done: false },
  ]);
  expect(screen.getByRole('checkbox')).toHaveProperty('checked', false);
});

describe('editing', () => {
  test('sends only what was changed', async () => {
    const server = signedInWith(notes).on(`PATCH ${path}`, () => json({ ...notes, title: 'Write them' }));
    await open(server);
    await click('button', /^Edit/);
    await write('Title', 'Write them');
    await click('button', 'Save');
    expect(server.asked.at(-1)).toEqual({ what: `PATCH ${path}`, body: { title: 'Write them' } });
    expect(screen.getByLabelText('Write them')).toBeTruthy();
    expect(document.activeElement?.textContent).toBe('Edit Write them');
  });

  test('names the field at fault and keeps the form', async () => {
    const fields = [{ field: 'tags[0]', message: 'must have at most 32 characters' }];
    const server = signedInWith(notes).on(`PATCH ${path}`, () =>
      problem(422, 'VALIDATION_FAILED', 'Some fields break a rule.', { fields }),
    );
    await open(server);
    await click('button', /^Edit/);
    await write('Tags', 'x'.repeat(40));
    await click('button', 'Save');
    const tags = screen.getByLabelText('Tags');
    expect(tags.getAttribute('aria-invalid')).toBe('true');
    const said = document.getElementById(tags.getAttribute('aria-describedby') ?? '')?.textContent;
    expect(said).toBe('Tags, no. 1 must have at most 32 characters.');
    expect(screen.getByRole('alert').textContent).toBe('Something is to be put right first.Request REQ123');
  });

  test('is left with Escape', async () => {
    await open(signedInWith(notes));
    await click('button', /^Edit/);
    fireEvent.keyDown(screen.getByLabelText('Title'), { key: 'Escape' });
    await settle();
    expect(screen.getByRole('checkbox', { name: notes.title })).toBeTruthy();
  });
});

describe('deleting', () => {
  test('waits five seconds, and is sent once', async () => {
    const server = signedInWith(notes).on(`DELETE ${path}`, () => new Response(null, { status: 204 }));
    await open(server);
    await click('button', /^Delete/);
    expect(screen.getByRole('button', { name: /^Undo/ })).toBeTruthy();
    await advance(4900);
    expect(server.count(`DELETE ${path}`)).toBe(0);
    await advance(200);
    expect(server.count(`DELETE ${path}`)).toBe(1);
    expect(screen.queryByText(/release notes/)).toBeNull();
  });

  test('can be taken back', async () => {
    const server = signedInWith(notes);
    await open(server);
    await click('button', /^Delete/);
    await click('button', /^Undo/);
    await advance(10_000);
    expect(server.count(`DELETE ${path}`)).toBe(0);
    expect(screen.getByRole('checkbox', { name: notes.title })).toBeTruthy();
  });

  test('keeps the focus where the reader is: on the task that is back, or on the list it has left', async () => {
    const other = task('Another one');
    const server = signedInWith(notes, other).on(`DELETE ${path}`, () => new Response(null, { status: 204 }));
    await open(server);
    await click('button', `Delete ${notes.title}`);
    expect(document.activeElement?.textContent).toContain('Undo');
    await click('button', /^Undo/);
    expect(document.activeElement?.textContent).toBe(`Delete ${notes.title}`);
    await click('button', `Delete ${notes.title}`);
    await advance(5100);
    expect(document.activeElement).toBe(screen.getByRole('list', { name: 'Tasks' }));
  });

  test('is sent at once when the page is left', async () => {
    const server = signedInWith(notes).on(`DELETE ${path}`, () => new Response(null, { status: 204 }));
    await open(server);
    await click('button', /^Delete/);
    globalThis.dispatchEvent(new Event('pagehide'));
    await settle();
    expect(server.count(`DELETE ${path}`)).toBe(1);
  });

  test('that is refused brings the task back, with the reason', async () => {
    const server = signedInWith(notes).on(`DELETE ${path}`, () => refusal('tasks.write', 9000));
    await open(server);
    await click('button', /^Delete/);
    await advance(5100);
    expect(screen.getByRole('checkbox', { name: notes.title })).toBeTruthy();
    const row = screen.getByRole('checkbox', { name: notes.title }).closest('li');
    expect(row?.querySelector('.notice')?.textContent).toContain('Changing tasks');
  });
});

test('boxes that cannot be ticked for a while say why and until when, once for the list', async () => {
  const server = signedInWith(notes, task('Another one')).on(`PATCH ${path}`, () => refusal('tasks.write', 9000));
  await open(server);
  expect(screen.queryByText(/nothing can be ticked/)).toBeNull();
  await click('checkbox', notes.title);
  for (const box of screen.getAllByRole('checkbox')) expect(box).toHaveProperty('disabled', true);
  const said = screen.getByText(/nothing can be ticked/);
  expect(said.textContent).toContain('The budget Changing tasks is spent for now');
  expect(said.textContent).toContain('Try again in 9 s.');
  expect(screen.queryByText(/Nothing was lost/)).toBeNull();
  await advance(9010);
  expect(screen.queryByText(/nothing can be ticked/)).toBeNull();
  for (const box of screen.getAllByRole('checkbox')) expect(box).toHaveProperty('disabled', false);
});

test('a long list comes page by page', async () => {
  const server = signedIn().on('GET /api/v1/tasks', (request) =>
    new URL(request.url).searchParams.get('cursor') === 'next'
      ? json({ items: [task('Second page')] })
      : json({ items: [task('First')], nextCursor: 'next' }),
  );
  await open(server);
  await click('button', 'Show more');
  expect(screen.getAllByRole('checkbox')).toHaveLength(2);
  expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
});

test('a list that cannot be had says so, and is asked for again by hand', async () => {
  const server = signedIn().on('GET /api/v1/tasks', () =>
    problem(500, 'INTERNAL', 'Something went wrong on the server.'),
  );
  await open(server);
  expect(screen.getByRole('alert').textContent).toContain('REQ123');
  server.on('GET /api/v1/tasks', () => json({ items: [notes] }));
  await click('button', 'Try again');
  expect(screen.getByRole('checkbox', { name: notes.title })).toBeTruthy();
});

test('a list that is refused comes by itself when its time is up', async () => {
  const server = signedIn().on('GET /api/v1/tasks', () => refusal('user', 2000));
  await open(server);
  expect(screen.getByRole('button', { name: 'Try again in 2 s' })).toHaveProperty('disabled', true);
  server.on('GET /api/v1/tasks', () => json({ items: [notes] }));
  await advance(1010);
  await advance(1010);
  await settle();
  expect(screen.getByRole('checkbox', { name: notes.title })).toBeTruthy();
  expect(server.count('GET /api/v1/tasks')).toBe(2);
});

test('an export that is refused says until when', async () => {
  await open(signedIn().on('GET /api/v1/tasks/export', () => refusal('tasks.export', 30_000)));
  await click('button', 'Export CSV');
  expect(screen.getByRole('button', { name: 'Export in 30 s' })).toHaveProperty('disabled', true);
});

test('an export that breaks off saves no file', async () => {
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('id,title\r\n'));
      controller.error(new TypeError('network error'));
    },
  });
  await open(
    signedIn().on('GET /api/v1/tasks/export', () => new Response(broken, { headers: { 'Content-Type': 'text/csv' } })),
  );
  await click('button', 'Export CSV');
  expect(screen.getByRole('alert')).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Export CSV' })).toHaveProperty('disabled', false);
});
