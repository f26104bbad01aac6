// @vitest-environment happy-dom
import { fireEvent, screen, within } from '@testing-library/react';
import { describe, expect, test, vi } from 'vitest';
import { alice, aliceLimits, budget, type FakeServer, json, problem, refusal, signedIn } from '../testing/fakeserver';
import { advance, click, open, settle, stopClock, write } from '../testing/page';
import { bodyOf, formOf, newForm, overridable } from './overridedialog';

stopClock();

const root = { ...alice, name: 'Root', roles: ['admin'] };
const person = { id: alice.id, name: 'Alice Archer', email: 'alice@acme.example' };
const override = {
  scope: 'user',
  id: alice.id,
  name: 'Alice Archer',
  budget: 'user',
  limit: 40,
  unlimited: false,
  refillPerSecond: null,
  enforce: false,
  expiresAt: null,
  expired: false,
  reason: 'A large import',
  author: { ...person, name: 'Root' },
  createdAt: '2026-11-29T09:00:00.000Z',
} as const;
const overridePath = `/api/v1/admin/overrides/user/${alice.id}/user`;

function asRoot(): FakeServer {
  return signedIn()
    .on('GET /api/v1/limits', () => json(aliceLimits))
    .on('GET /api/v1/me', () => json(root))
    .on('GET /api/v1/admin/overrides', () => json({ items: [override] }));
}

describe('a stranger to administration', () => {
  test('finds nothing, and nothing is asked for', async () => {
    const server = signedIn();
    await open(server, '/admin');
    expect(screen.getByRole('heading', { name: 'There is nothing here' })).toBeTruthy();
    expect(screen.queryByRole('link', { name: 'Admin' })).toBeNull();
    expect(server.asked.filter(({ what }) => what.includes('admin'))).toEqual([]);
  });
});

describe('plans', () => {
  test('say which of their numbers does not hold, and why', async () => {
    const numbers = [
      { budget: 'user', limit: 5000, fault: 'must be at most 1000, the limit of edge.caller' },
      { budget: 'org', limit: 900, refillPerSecond: 15 },
    ];
    const server = asRoot()
      .on('GET /api/v1/admin/orgs', () => json({ items: [] }))
      .on('GET /api/v1/admin/plans', () => json({ items: [{ name: 'team', organisations: 2, budgets: numbers }] }));
    await open(server, '/admin/organisations');
    expect(screen.getAllByText('does not hold')).toHaveLength(1);
    expect(screen.getByText(/As the settings are now/).textContent).toContain(
      'the number for All requests must be at most 1000, the limit of edge.caller.',
    );
  });
});

describe('overrides', () => {
  test('are listed with what they allow, and why', async () => {
    await open(asRoot(), '/admin/overrides');
    const item = screen.getByText('A large import').closest('li');
    expect(item?.textContent).toContain('40 a minute');
    expect(item?.textContent).toContain('in shadow');
    expect(item?.textContent).toContain('somebody removes it');
  });

  test('that do not hold by the settings of now say why', async () => {
    const fault = 'is ignored: the budget is counted per organisation: change it for the organisation';
    const server = asRoot().on('GET /api/v1/admin/overrides', () =>
      json({ items: [{ ...override, budget: 'org', fault }] }),
    );
    await open(server, '/admin/overrides');
    const item = screen.getByText('A large import').closest('li');
    expect(item?.textContent).toContain('does not hold');
    expect(item?.textContent).toContain(`As the settings are now, it ${fault}.`);
  });

  test('leave the shadow with a reason', async () => {
    const server = asRoot().on(`PUT ${overridePath}`, () => json({ ...override, enforce: true }));
    await open(server, '/admin/overrides');
    await click('button', 'Enforce All requests of Alice Archer');
    expect(screen.getByLabelText('Enforce it')).toHaveProperty('checked', true);
    await write('Reason, for the audit', 'Nobody was hurt by it');
    await click('button', 'Set override');
    expect(server.asked.find(({ what }) => what === `PUT ${overridePath}`)?.body).toEqual({
      limit: 40,
      enforce: true,
      reason: 'Nobody was hurt by it',
    });
    expect(screen.queryByRole('dialog')).toBeNull();
    expect(server.count('GET /api/v1/admin/overrides')).toBe(2);
  });

  test('that the server does not take say why, where they are set', async () => {
    const fields = [{ field: 'limit', message: 'must be at most 1000, the limit of edge.caller' }];
    const server = asRoot().on(`PUT ${overridePath}`, () =>
      problem(422, 'VALIDATION_FAILED', 'Some fields.', { fields }),
    );
    await open(server, '/admin/overrides');
    await click('button', 'Change All requests of Alice Archer');
    await write('Reason, for the audit', 'x');
    await click('button', 'Set override');
    const alert = within(screen.getByRole('dialog')).getByRole('alert');
    expect(alert.textContent).toContain('must be at most 1000');
    expect(alert.textContent).toContain('REQ123');
  });

  test('are removed with a reason', async () => {
    const server = asRoot().on(`DELETE ${overridePath}`, () => new Response(null, { status: 204 }));
    await open(server, '/admin/overrides');
    await click('button', 'Remove All requests of Alice Archer');
    await write('Reason, for the audit', 'It is over');
    await click('button', 'Remove override');
    expect(server.asked.map(({ what }) => what)).toContain(`DELETE ${overridePath}?reason=It%20is%20over`);
  });

  test('begin in shadow, for a week', () => {
    const form = newForm({ id: 'x' }, new Date('2026-11-29T09:00:00Z'));
    expect(bodyOf({ ...form, limit: '7' }, 'why')).toEqual({
      limit: 7,
      enforce: false,
      expiresAt: '2026-12-06T09:00:00.000Z',
      reason: 'why',
    });
  });

  test.each([
    [
      { unlimited: true, limit: '' },
      { unlimited: true, enforce: false, reason: 'why' },
    ],
    [
      { budget: 'org', limit: '9', refill: '2' },
      { limit: 9, refillPerSecond: 2, enforce: false, reason: 'why' },
    ],
    [
      { limit: '9', refill: '2' },
      { limit: 9, enforce: false, reason: 'why' },
    ],
    [{ mode: 'unchanged' as const }, { limit: 40, reason: 'why' }],
  ])('are sent as they were put: %j', (change, want) => {
    expect(bodyOf({ ...formOf(override), ...change }, 'why')).toEqual(want);
  });

  test('are of budgets that belong to somebody', () => {
    expect(overridable('user')).toContain('user');
    expect(overridable('user')).not.toContain('org');
    expect(overridable('organisation')).toContain('org');
    for (const name of ['edge', 'edge.caller', 'auth.login', 'admin.heapdump'])
      expect(overridable('plan')).not.toContain(name);
  });
});

test('a budget is explained, and forgotten with a reason', async () => {
  const explained = {
    name: 'user',
    per: 'user',
    algorithm: 'sliding-window',
    limit: 15,
    windowSeconds: 60,
    source: 'plan',
    used: 12,
    remaining: 3,
    nextMs: 100,
    store: 'redis',
    mode: 'open',
    degraded: false,
    epoch: 0,
    enforced: true,
    denied: 4,
    wouldDeny: 0,
    bound: 'never over 15 in any 1m0s',
  };
  const path = `/api/v1/admin/limits/user/${alice.id}`;
  const server = asRoot()
    .on(`GET ${path}`, () =>
      json({
        scope: 'user',
        id: alice.id,
        name: 'Alice Archer',
        organisation: null,
        plan: 'team',
        budgets: [explained],
      }),
    )
    .on(`DELETE ${path}/user`, () => new Response(null, { status: 204 }));
  await open(server, '/admin/people');
  fireEvent.change(screen.getByLabelText('Id'), { target: { value: alice.id } });
  await click('button', 'Explain');
  expect(screen.getByText('3 of 15')).toBeTruthy();
  expect(screen.getByText('15 a minute · from the plan')).toBeTruthy();
  await click('button', 'Forget All requests');
  await write('Reason, for the audit', 'A mistake of ours');
  await click('button', 'Forget it');
  expect(server.asked.map(({ what }) => what)).toContain(`DELETE ${path}/user?reason=A%20mistake%20of%20ours`);
});

test('who was refused is listed apart from whom shadows would have refused, and leads to why', async () => {
  const key = { budget: 'user', per: 'user', id: alice.id, name: 'Alice Archer', overcounted: 0 };
  const lastAt = '2026-11-29T09:00:00.000Z';
  const items = [
    { ...key, denied: 7, overcounted: 2, lastAt },
    { ...key, budget: 'admin.heapdump', per: 'global', id: 'global', name: '', denied: 1, lastAt },
  ];
  const shadows = [{ ...key, wouldDeny: 4, lastAt }];
  await open(
    asRoot().on('GET /api/v1/admin/throttled', () => json({ since: lastAt, items, shadows })),
    '/admin/throttled',
  );
  const refused = within(screen.getByRole('region', { name: 'Keys refused most' }));
  expect(refused.getByText('5 to 7')).toBeTruthy();
  expect(refused.getByRole('link', { name: 'Everyone together' }).getAttribute('href')).toBe(
    '/admin/people?scope=global&id=global',
  );
  const shadow = within(screen.getByRole('region', { name: 'In shadow' }));
  expect(shadow.getByText('Would have been refused').closest('div')?.textContent).toContain('4');
});

test('what everybody spends together is explained without an id to look up', async () => {
  const server = asRoot().on('GET /api/v1/admin/limits/global/global', () =>
    json({ scope: 'global', id: 'global', name: '', organisation: null, plan: '', budgets: [] }),
  );
  await open(server, '/admin/people');
  fireEvent.change(screen.getByRole('combobox'), { target: { value: 'global' } });
  await click('button', 'Explain');
  expect(screen.getByRole('heading', { name: 'Everyone together' })).toBeTruthy();
});

test('a network is shown as people write it, and an id that is not known offers no other try', async () => {
  const server = asRoot();
  await open(server, '/admin/people?scope=address&id=2001%3Adb8%3A%3A%2F64');
  expect(screen.getByLabelText('Address')).toHaveProperty('value', '2001:db8::/64');
  expect(server.asked.map(({ what }) => what)).toContain('GET /api/v1/admin/limits/address/2001%3Adb8%3A%3A%2F64');
  expect(screen.getByRole('alert').textContent).toContain('This is not there, or no longer.');
  expect(screen.queryByRole('button', { name: 'Try again' })).toBeNull();
});

test('a person is signed out everywhere with a reason', async () => {
  const server = asRoot()
    .on(`GET /api/v1/admin/limits/user/${alice.id}`, () =>
      json({ scope: 'user', id: alice.id, name: 'Alice Archer', organisation: null, plan: 'team', budgets: [] }),
    )
    .on(`POST /api/v1/admin/users/${alice.id}/revoke`, () => new Response(null, { status: 204 }));
  await open(server, `/admin/people?scope=user&id=${alice.id}`);
  await click('button', 'Sign this person out');
  await write('Reason, for the audit', 'A lost phone');
  fireEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Sign out everywhere' }));
  await settle();
  expect(server.asked.at(-1)?.body ?? server.asked.at(-2)?.body).toEqual({ reason: 'A lost phone' });
});

test('a store that fails is seen, with what its budgets do meanwhile', async () => {
  const budget = { name: 'user', store: 'redis', mode: 'open', source: 'table', enforced: true };
  const status = (breakerOpen: boolean) => ({
    tableHash: 'abc',
    stores: [{ store: 'redis', breakerOpen, epoch: 0 }],
    budgets: [
      { ...budget, outage: breakerOpen ? { since: '2026-11-29T09:00:00.000Z', decisions: 7, error: 'refused' } : null },
    ],
    memory: { keys: 3, evictions: 0 },
  });
  const server = asRoot().on('GET /api/v1/admin/limiter', () => json(status(false)));
  await open(server, '/admin/limiter');
  expect(screen.getByText('Every budget is counted by its store.')).toBeTruthy();
  server.on('GET /api/v1/admin/limiter', () => json(status(true)));
  await advance(5100);
  expect(screen.getByText('lets requests through now')).toBeTruthy();
  expect(screen.getByText('not asked for the moment: it failed')).toBeTruthy();
});

describe('the process', () => {
  const limits = { ...aliceLimits, budgets: [budget('admin.threaddump', { limit: 20, remaining: 20 })] };

  // What the browser is given to save.
  function keepFiles(): Blob[] {
    const files: Blob[] = [];
    vi.spyOn(URL, 'createObjectURL').mockImplementation((file) => `blob:${files.push(file as Blob)}`);
    vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {});
    return files;
  }

  async function take(action: string): Promise<void> {
    await click('button', action);
    await write('Reason, for the audit', 'It hangs');
    fireEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: action }));
    await settle();
  }

  test('tells its stacks, as a file and to be read at once, with a reason', async () => {
    const files = keepFiles();
    const stacks = 'goroutine 1 [running]:\nmain.main()\n\ngoroutine 7 [select]:\nnet/http.(*Server).Serve()\n';
    const server = asRoot()
      .on('GET /api/v1/limits', () => json(limits))
      .on('GET /api/v1/admin/threaddump', () => new Response(stacks));
    await open(server, '/admin/process');
    expect(screen.getByRole('meter', { name: 'Stacks of the server' })).toBeTruthy();
    await take('Get the stacks');
    expect(server.asked.map(({ what }) => what)).toContain('GET /api/v1/admin/threaddump?reason=It%20hangs');
    expect(await files[0]?.text()).toBe(stacks);
    expect(screen.getByText('goroutines.txt').closest('p')?.textContent).toBe('goroutines.txt is saved, 1 kB.');
    expect(screen.getByText('Read 2 goroutines here')).toBeTruthy();
  });

  test('tells its heap as a file, byte for byte', async () => {
    const files = keepFiles();
    const bytes = Uint8Array.from([0x1f, 0x8b, 0xff, 0x00]);
    const server = asRoot().on('POST /api/v1/admin/heapdump', () => new Response(bytes));
    await open(server, '/admin/process');
    await take('Get the heap profile');
    expect(server.asked.map(({ what }) => what)).toContain('POST /api/v1/admin/heapdump?reason=It%20hangs');
    expect(new Uint8Array((await files[0]?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(bytes);
    expect(screen.getByText('heap.pb.gz').closest('p')?.textContent).toBe('heap.pb.gz is saved, 1 kB.');
  });

  test('whose profiles are spent says until when', async () => {
    const server = asRoot().on('POST /api/v1/admin/heapdump', () => refusal('admin.heapdump', 200_000));
    await open(server, '/admin/process');
    await take('Get the heap profile');
    const button = within(screen.getByRole('dialog')).getByRole('button', { name: /^Get the heap profile in / });
    expect(button).toHaveProperty('disabled', true);
    expect(button.textContent).toContain('3 min 20 s');
  });
});

test('a budget longer than a minute that others have spent is told with the time of the server', async () => {
  vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:1');
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {});
  const headers = { 'RateLimit-Policy': '"admin.heapdump";q=3;w=300', RateLimit: '"admin.heapdump";r=0;t=280' };
  const server = asRoot().on('POST /api/v1/admin/heapdump', () => new Response('x', { headers }));
  await open(server, '/admin/process');
  const take = async () => {
    await click('button', 'Get the heap profile');
    await write('Reason, for the audit', 'It grows');
    fireEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Get the heap profile' }));
    await settle();
  };
  await take();
  await take();
  expect(server.count('POST /api/v1/admin/heapdump')).toBe(1);
  expect(within(screen.getByRole('dialog')).getByRole('status').textContent).toContain('did not even ask');
  expect(screen.getByRole('button', { name: 'Get the heap profile in 4 min 40 s' })).toHaveProperty('disabled', true);
});

test('the audit says in words what was changed', async () => {
  const entry = {
    id: 'x',
    action: 'admin.overrides.put',
    target: `user/${alice.id}/org`,
    reason: 'They grew',
    actor: person,
    at: '2026-11-29T09:00:00.000Z',
    before: null,
    after: { enforce: false, limit: 1200, refillPerSecond: 20, unlimited: false, expiresAt: null, reason: 'They grew' },
    requestId: 'REQ7',
  };
  await open(
    asRoot().on('GET /api/v1/admin/audit', () => json({ items: [entry] })),
    '/admin/audit',
  );
  const item = screen.getByText('They grew').closest('li');
  expect(item?.textContent).toContain('in shadow, limit 1,200, 20/s');
  expect(item?.textContent).not.toContain('Before');
});

test.each([
  [`user/${alice.id}`, `user ${alice.id}`, `?scope=user&id=${alice.id}`],
  [`organisation/${alice.id}/org`, `organisation ${alice.id} · The organisation`, `?scope=organisation&id=${alice.id}`],
  ['address/2001:db8::/64/edge', 'address 2001:db8::/64 · The address', '?scope=address&id=2001%3Adb8%3A%3A%2F64'],
  ['global/global/admin.heapdump', 'everyone together · Heap of the server', '?scope=global&id=global'],
  ['plan/team/user', 'plan team · All requests', null],
  ['process', 'process', null],
])('the audit says what was changed, and leads to it: %s', async (target, words, link) => {
  const entry = { id: 'x', action: 'something', target, reason: '', actor: person, at: '2026-11-29T09:00:00.000Z' };
  await open(
    asRoot().on('GET /api/v1/admin/audit', () =>
      json({ items: [{ ...entry, before: null, after: null, requestId: 'REQ7' }] }),
    ),
    '/admin/audit',
  );
  const heading = screen.getByRole('heading', { name: `something ${words}` });
  expect(heading.querySelector('a')?.getAttribute('href') ?? null).toBe(link && `/admin/people${link}`);
});

test('a list that cannot be had says so, and is asked for again by hand', async () => {
  const server = asRoot().on('GET /api/v1/admin/audit', () =>
    problem(503, 'UNAVAILABLE', 'Revocations are not known.'),
  );
  await open(server, '/admin/audit');
  expect(screen.getByRole('alert').textContent).toContain('Revocations are not known.');
  server.on('GET /api/v1/admin/audit', () => json({ items: [] }));
  await click('button', 'Try again');
  expect(screen.getByText('No administrator has done anything.')).toBeTruthy();
});
