// A server for the tests of the page: it answers in the contract's shapes, and remembers what it was asked.
import type { LimitStatus, Limits, Me, Problem } from '../api/contract';

type Handler = (request: Request, body: unknown) => Response | Promise<Response>;

export class FakeServer {
  /** What was asked, such as "GET /api/v1/admin/orgs?limit=25", with the body and the idempotency key that came along. */
  readonly asked: { what: string; body: unknown; key: string | undefined }[] = [];
  private readonly handlers = new Map<string, Handler>();

  /** Sets what answers a route, such as "GET /api/v1/me"; a later handler takes the place of an earlier one. */
  on(route: string, handler: Handler): this {
    this.handlers.set(route, handler);
    return this;
  }

  /** The idempotency keys that a route was asked with. */
  keys(route: string): (string | undefined)[] {
    return this.asked.filter(({ what }) => what.split('?')[0] === route).map(({ key }) => key);
  }

  /** How often a route was asked. */
  count(route: string): number {
    return this.asked.filter(({ what }) => what.split('?')[0] === route).length;
  }

  fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const text = await request.text();
    const body: unknown = text === '' ? null : JSON.parse(text);
    const key = request.headers.get('Idempotency-Key') ?? undefined;
    this.asked.push({ what: `${request.method} ${pathname}${search}`, body, key });
    const handler = this.handlers.get(`${request.method} ${pathname}`);
    return handler ? handler(request, body) : problem(404, 'NOT_FOUND', 'There is nothing here.');
  };
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } });
}

export function problem(status: number, code: Problem['code'], detail: string, more: Partial<Problem> = {}): Response {
  const body: Problem = {
    type: 'about:blank',
    title: 'Title',
    status,
    detail,
    instance: '/somewhere',
    requestId: 'REQ123',
    error: 'Title',
    code,
    message: detail,
    ...more,
  };
  return json(body, status, { 'Content-Type': 'application/problem+json' });
}

export function refusal(budget: string, retryAfter: number): Response {
  return problem(429, 'RATE_LIMIT_EXCEEDED', 'Rate limit exceeded.', {
    'violated-policies': [budget],
    retryAfter,
    retryAfterSeconds: Math.ceil(retryAfter / 1000),
  });
}

export function budget(name: string, more: Partial<LimitStatus> = {}): LimitStatus {
  return {
    name,
    per: 'user',
    algorithm: 'sliding-window',
    limit: 10,
    windowSeconds: 60,
    remaining: 10,
    resetMs: 0,
    enforced: true,
    source: 'table',
    store: 'memory',
    degraded: false,
    routes: [],
    ...more,
  };
}

export const anonymous: Limits = {
  caller: { kind: 'address' },
  budgets: [budget('edge', { per: 'address', limit: 100, remaining: 97, resetMs: 4000 })],
};

export const alice: Me = {
  id: '0199aaaa-0000-7000-8000-000000000001',
  name: 'Alice Archer',
  email: 'alice@acme.example',
  organisation: { id: '0199aaaa-0000-7000-8000-000000000002', name: 'Acme', plan: 'team' },
  roles: [],
  via: 'session',
};

export const aliceLimits: Limits = {
  caller: { kind: 'user', userId: alice.id, orgId: alice.organisation.id, plan: 'team' },
  budgets: [
    budget('user', { limit: 100, remaining: 88 }),
    budget('auth.refresh', { per: 'session', limit: 30, remaining: 30 }),
    budget('org', { per: 'organisation', algorithm: 'token-bucket', limit: 600, remaining: 600, refillPerSecond: 10 }),
    // example:begin
    budget('tasks.write', { limit: 30, remaining: 30 }),
    budget('tasks.parse'),
    // example:end
  ],
};

/** A server at which alice is signed in. */
export function signedIn(): FakeServer {
  return new FakeServer()
    .on('GET /api/v1/limits', () => json(aliceLimits))
    .on('GET /api/v1/tasks', () => json({ items: [] })) // example:line
    .on('GET /api/v1/me', () => json(alice))
    .on('GET /api/v1/org', () =>
      json({ ...alice.organisation, memberCount: 3, createdAt: '2026-11-29T09:00:00.000Z' }),
    );
}

/** A server to which the browser is a stranger. */
export function signedOut(): FakeServer {
  return new FakeServer().on('GET /api/v1/limits', () => json(anonymous));
}
