import createClient, { type Client } from 'openapi-fetch';
import type { paths } from '../contract/schema';
import type { Action } from './action';
import { now } from './clock';
import type { Limits, Me, RouteId } from './contract';
import { asFailure, failureOf, networkFailure, otherPerson, sessionOver, waitOf } from './failure';
import { parseQuotas } from './headers';
import { History } from './history';
import { Identity } from './identity';
import { Ledger } from './ledger';
import { Limiter, localRefusal, type Snapshot, type Ticket } from './limiter';

interface Answer<T> {
  data?: T | undefined;
  error?: unknown;
  response: Response;
}

interface Key {
  'Idempotency-Key': string;
}

/** The two answers to "who is this", each with the caller's budgets. ended says that the browser sent a session that is over. */
export type Session =
  | { kind: 'anonymous'; limits: Limits; ended: boolean }
  | { kind: 'member'; limits: Limits; me: Me };

/** The way of every call that the page makes, and those that no part of the app has to itself. Each throws a Failure and nothing else, but for a call that was aborted. */
export class Api {
  readonly ledger = new Ledger();
  readonly history = new History(globalThis.localStorage);
  readonly identity = new Identity(globalThis.localStorage);
  private readonly limiter = new Limiter();
  private readonly client: Client<paths>;
  // A session that is over is not sent any more: the server would refuse even what anybody may ask.
  private credentials: RequestCredentials = 'same-origin';

  constructor(fetch: typeof globalThis.fetch = (...args) => globalThis.fetch(...args)) {
    this.client = createClient<paths>({ baseUrl: globalThis.location.origin, fetch });
  }

  /** Who is calling. It asks limits.get first, which anybody may: so a visitor's first load has no refusal in it. */
  async session(): Promise<Session> {
    const before = this.limiter.snapshot();
    const answer = await this.client.GET('/api/v1/limits').catch(rejectNetwork);
    if (answer.response.status === 401) return this.anonymousAfterSession();
    const limits = this.learn(this.settle(answer), before);
    if (limits.caller.kind === 'address') return this.anonymous(limits, false);
    const me = await this.me();
    this.identity.claim(me.id);
    this.history.belongTo(me.id);
    return { kind: 'member', limits, me };
  }

  private anonymous(limits: Limits, ended: boolean): Session {
    this.identity.release();
    return { kind: 'anonymous', limits, ended };
  }

  private async anonymousAfterSession(): Promise<Session> {
    this.credentials = 'omit';
    return this.anonymous(await this.limits(), true);
  }

  async limits(signal?: AbortSignal): Promise<Limits> {
    const { credentials } = this;
    const options = { credentials, ...(signal ? { signal } : {}) };
    const before = this.limiter.snapshot();
    return this.learn(await this.call('limits.get', () => this.client.GET('/api/v1/limits', options)), before);
  }

  // An address's budgets are not those of the person whose page this is: their session is over.
  private learn(limits: Limits, before: Snapshot): Limits {
    if (!this.identity.heard(limits.caller.userId ?? null)) {
      throw this.identity.snapshot() === 'other' ? otherPerson() : sessionOver();
    }
    this.ledger.learn(limits, now());
    this.limiter.learn(limits, before);
    return limits;
  }

  /** The API's own description, an OpenAPI document. It is everybody's, so no session is sent along. */
  async openapi(): Promise<unknown> {
    return this.call('openapi.get', () => this.client.GET('/api/v1/openapi.json', { credentials: 'omit' }));
  }

  me(): Promise<Me> {
    return this.call('me.get', () => this.client.GET('/api/v1/me'));
  }

  /** Ends the session; gives the issuer's own page for that, or null if it has none. */
  async signOut(everywhere: boolean): Promise<string | null> {
    const query = everywhere ? { everywhere } : {};
    const result = await this.call('auth.logout', () => this.client.POST('/api/v1/auth/logout', { params: { query } }));
    this.identity.release();
    return result.endSessionUrl;
  }

  /** A call of a part of the app that brings its own, on the same ledger and mirror. */
  send<T>(route: RouteId, send: (client: Client<paths>) => Promise<Answer<T>>): Promise<T> {
    return this.call(route, () => send(this.client));
  }

  /** As send, for what makes something: it bears the key of its action, so that a try without an answer can be made again. */
  async act<T>(
    route: RouteId,
    action: Action,
    body: object,
    send: (client: Client<paths>, params: { header: Key }) => Promise<Answer<T>>,
  ): Promise<T> {
    const header = { 'Idempotency-Key': action.keyFor(body) };
    const result = await this.call(route, () => send(this.client, { header }));
    action.done();
    return result;
  }

  // A call that would be refused does not leave: by what this page has sent itself, or by what the server has said. Nor
  // does one that would be somebody else's; the API's description is everybody's.
  private async call<T>(route: RouteId, send: () => Promise<Answer<T>>): Promise<T> {
    if (!this.identity.stillSame() && route !== 'openapi.get') throw otherPerson();
    const ticket = this.admit(route);
    let answer: Answer<T>;
    try {
      answer = await send();
    } catch (thrown) {
      ticket.failed();
      rejectNetwork(thrown);
    }
    ticket.answered(answer.response, waitOf(answer.error));
    return this.settle(answer);
  }

  private admit(route: RouteId): Ticket {
    try {
      const block = this.ledger.refusing(route, now());
      if (block) throw localRefusal([block.budget], this.longest(route, block.until), now());
      return this.limiter.acquire(route);
    } catch (thrown) {
      const failure = asFailure(thrown);
      this.history.record('local');
      this.ledger.refused(failure);
      throw failure;
    }
  }

  // The mirror holds a unit a little longer than the server: the wait is the longer one, so that at its end the call leaves.
  private longest(route: RouteId, until: number): number {
    return Math.max(until, now() + this.limiter.wait(route));
  }

  // Every answer passes here: its headers keep the ledger current, and a refusal is remembered.
  private settle<T>({ data, error, response }: Answer<T>): T {
    const at = now();
    this.history.record(response.status === 429 ? 'refused' : 'admitted');
    this.ledger.hear(parseQuotas(response.headers), at);
    if (response.ok) return data as T;
    const failure = failureOf(response, error, at);
    this.ledger.refused(failure);
    if (failure.status === 401) this.identity.heard(null);
    throw failure;
  }
}

// fetch rejects with a TypeError when no answer came. openapi-fetch throws a SyntaxError for a body that is not JSON.
function rejectNetwork(thrown: unknown): never {
  if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
  throw thrown instanceof TypeError ? networkFailure(thrown) : asFailure(thrown);
}
