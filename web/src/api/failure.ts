import type { FieldError, Problem } from './contract';

/**
 * What went wrong with a call: the envelope's code, NETWORK without an answer, UNREADABLE for one that is no envelope,
 * OTHER_PERSON for one that was not sent, since it would be somebody else's.
 */
export type FailureCode = Problem['code'] | 'NETWORK' | 'UNREADABLE' | 'OTHER_PERSON';

interface Facts {
  code: FailureCode;
  status?: number;
  requestId?: string | null;
  fields?: FieldError[];
  violated?: string[];
  retryAt?: number | null;
  local?: boolean;
  cause?: unknown;
}

/** A call that did not succeed. Its message is a sentence to show, in this page's words or the server's. */
export class Failure extends Error {
  readonly code: FailureCode;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** Names the request in the server's log; null without an answer. */
  readonly requestId: string | null;
  readonly fields: FieldError[];
  /** The budgets that refused. */
  readonly violated: string[];
  /** When the same call would be admitted, on the clock of now(); null where no wait is known to help. */
  readonly retryAt: number | null;
  /** The call was not sent: this page knew that it would be refused. */
  readonly local: boolean;

  constructor(message: string, facts: Facts) {
    super(message, { cause: facts.cause });
    this.name = 'Failure';
    this.code = facts.code;
    this.status = facts.status ?? 0;
    this.requestId = facts.requestId ?? null;
    this.fields = facts.fields ?? [];
    this.violated = facts.violated ?? [];
    this.retryAt = facts.retryAt ?? null;
    this.local = facts.local ?? false;
  }

  /** Whether the same call may succeed another time: not where what was sent is at fault, or who sent it. */
  get mayPass(): boolean {
    if (this.code === 'RATE_LIMIT_EXCEEDED') return this.retryAt !== null;
    if (this.status === 0) return this.code !== 'OTHER_PERSON';
    return this.status >= 500 || passing.includes(this.status);
  }
}

// A body that was slow, something that is at work already, too many calls.
const passing: readonly number[] = [408, 409, 429];

const otherVersion = 'The server does not take what this page sends: it may be of another version. Load the page anew.';

// What the server's sentence would not tell people, since it is for who writes a client.
const inOwnWords: Partial<Record<FailureCode, string>> = {
  AUTH_FAILED: 'Your session has ended.',
  FORBIDDEN:
    'This is not yours to do. Roles are read at sign-in and count for an hour: if it should be yours, sign in anew.',
  NOT_FOUND: 'This is not there, or no longer.',
  CONFLICT: 'The same is being done at this moment. Try again to see what has come of it.',
  VALIDATION_FAILED: 'Something is to be put right first.',
  REQUEST_TIMEOUT: 'It took too long to send.',
  PAYLOAD_TOO_LARGE: 'This is more than can be sent at once.',
  UPSTREAM_FAILED: 'A service that this needs gave no usable answer.',
  BAD_REQUEST: otherVersion,
  INVALID_JSON: otherVersion,
  METHOD_NOT_ALLOWED: otherVersion,
  UNSUPPORTED_MEDIA_TYPE: otherVersion,
  IDEMPOTENCY_KEY_REUSED: otherVersion,
};

/** Reads an answer that is no success. at is when it arrived. */
export function failureOf(response: Response, body: unknown, at: number): Failure {
  if (!isProblem(body)) {
    return new Failure(`The server answered ${response.status} in a way that this page does not understand.`, {
      code: 'UNREADABLE',
      status: response.status,
      requestId: response.headers.get('X-Request-ID'),
      retryAt: retryHeader(response, at),
    });
  }
  return new Failure(inOwnWords[body.code] ?? body.detail, {
    code: body.code,
    status: body.status,
    requestId: body.requestId,
    fields: body.fields ?? [],
    violated: body['violated-policies'] ?? [],
    retryAt: body.retryAfter ? at + body.retryAfter : null,
  });
}

/** A call that got no answer. */
export function networkFailure(cause: unknown): Failure {
  return new Failure('The server could not be reached. Check the connection, then try again.', {
    code: 'NETWORK',
    cause,
  });
}

/** A call that was not sent, since the browser's session is another person's by now. */
export function otherPerson(): Failure {
  return new Failure('Somebody else is signed in in this browser by now, so this was not sent.', {
    code: 'OTHER_PERSON',
    local: true,
  });
}

/** An answer that shows that the session is over, though it is no refusal. */
export function sessionOver(): Failure {
  return new Failure('Your session has ended.', { code: 'AUTH_FAILED', status: 401 });
}

/** Anything thrown, as a Failure. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  return new Failure('Something went wrong in this page.', { code: 'UNREADABLE', cause: thrown });
}

/** How many milliseconds a refusal says to wait; null if it does not. */
export function waitOf(body: unknown): number | null {
  return isProblem(body) && body.retryAfter ? body.retryAfter : null;
}

function isProblem(body: unknown): body is Problem {
  if (typeof body !== 'object' || body === null) return false;
  const { code, detail, status } = body as Partial<Problem>;
  return typeof code === 'string' && typeof detail === 'string' && typeof status === 'number';
}

// A proxy in front of the server answers without an envelope, but may say how long to wait.
function retryHeader(response: Response, at: number): number | null {
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return seconds > 0 ? at + seconds * 1000 : null;
}
