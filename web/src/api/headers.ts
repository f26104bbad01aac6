// Reads RateLimit-Policy and RateLimit as api/headers.go does, and is tested with the same cases: the draft's present
// spelling, its dictionary form, and the three-header form with and without "X-". A header that is malformed or holds a
// negative number is ignored as a whole: what a client does not understand must not steer it.

/** One item of RateLimit-Policy: quota units in any window. windowSeconds is 0 where the header does not say. */
export interface Policy {
  name: string;
  quota: number;
  windowSeconds: number;
}

/** One item of RateLimit: what is left of a policy, and the whole seconds until more is, or null. */
export interface Service {
  name: string;
  remaining: number;
  resetSeconds: number | null;
}

/** What the rate-limit headers of one response say. The two lists are joined by name. */
export interface Quotas {
  policies: Policy[];
  services: Service[];
}

// maxItems bounds what is read of one header; maxSeconds is far beyond any sensible window.
const maxItems = 64;
const maxSeconds = 2 ** 33;
const daySeconds = 86_400;

export function parseQuotas(headers: Headers): Quotas {
  const policies = readList(headers.get('RateLimit-Policy'), policyOf);
  const services = readList(headers.get('RateLimit'), serviceOf);
  if (services.length > 0) return { policies, services };
  const old =
    parseDictionary(headers.get('RateLimit')) ??
    parseTriple(headers, 'RateLimit-') ??
    parseTriple(headers, 'X-RateLimit-');
  return old ? joined(policies, old) : { policies, services };
}

// An older spelling has one unnamed quota; its name and window come from a policy of the same size.
interface OldQuota {
  limit: number;
  remaining: number;
  resetSeconds: number | null;
}

function joined(policies: Policy[], old: OldQuota): Quotas {
  const policy = policies.find((p) => p.quota === old.limit) ?? { name: '', quota: old.limit, windowSeconds: 0 };
  return {
    policies: [policy],
    services: [{ name: policy.name, remaining: old.remaining, resetSeconds: old.resetSeconds }],
  };
}

/** Reads `limit=100, remaining=42, reset=13`. */
function parseDictionary(header: string | null): OldQuota | null {
  const values = new Map<string, number>();
  for (const member of (header ?? '').split(',')) {
    const [key = '', text = ''] = split(member.trim(), '=');
    const value = parseInteger(text);
    if (value === null) return null;
    values.set(key, value);
  }
  return oldQuota(values.get('limit'), values.get('remaining'), values.get('reset'));
}

function parseTriple(headers: Headers, prefix: string): OldQuota | null {
  const first = (headers.get(`${prefix}Limit`) ?? '').split(/[,;]/)[0] ?? '';
  const read = (name: string) => parseInteger((headers.get(prefix + name) ?? '').trim()) ?? undefined;
  return oldQuota(parseInteger(first.trim()) ?? undefined, read('Remaining'), read('Reset'));
}

// A reset of over a day is, in many servers, a point in time. Those need a clock that agrees with the server's, so it
// is left out.
function oldQuota(limit?: number, remaining?: number, reset?: number): OldQuota | null {
  if (limit === undefined || remaining === undefined || limit < 0 || remaining < 0 || (reset ?? 0) < 0) return null;
  return { limit, remaining, resetSeconds: reset !== undefined && reset <= daySeconds ? reset : null };
}

function policyOf(item: Item): Policy | null {
  // `100;w=60`: in an older spelling the quota itself is the item.
  const quota = item.params.get('q') ?? item.integer;
  const window = item.params.get('w') ?? 0;
  if (quota === null || quota < 0 || window < 0 || window > maxSeconds) return null;
  return { name: item.name, quota, windowSeconds: window };
}

function serviceOf(item: Item): Service | null {
  const remaining = item.params.get('r');
  const reset = item.params.get('t') ?? null;
  if (remaining === undefined || remaining < 0 || (reset ?? 0) < 0 || (reset ?? 0) > maxSeconds) return null;
  return { name: item.name, remaining, resetSeconds: reset };
}

function readList<T>(header: string | null, read: (item: Item) => T | null): T[] {
  const items = new Scanner(header ?? '').list();
  const values = items?.map(read) ?? [];
  return values.every((value) => value !== null) ? values : [];
}

// One member of a structured-field list (RFC 9651): a string, token or integer, with its integer parameters.
interface Item {
  name: string;
  integer: number | null;
  params: Map<string, number>;
}

interface Value {
  text: string;
  integer: number | null;
}

class SyntaxFault extends Error {}

class Scanner {
  private rest: string;

  constructor(text: string) {
    this.rest = text.replace(/^[ \t]+|[ \t]+$/g, '');
  }

  /** All members, or null if any of them is malformed. */
  list(): Item[] | null {
    try {
      return this.items();
    } catch (fault) {
      if (fault instanceof SyntaxFault) return null;
      throw fault;
    }
  }

  private items(): Item[] {
    const items: Item[] = [];
    while (this.rest !== '') {
      items.push(this.item());
      if (items.length > maxItems) throw new SyntaxFault('too many items');
      this.comma();
    }
    return items;
  }

  // A list may not end with its separator.
  private comma(): void {
    this.take(/^[ \t]*/);
    if (this.rest === '') return;
    this.expect(/^,[ \t]*/);
    if (this.rest === '') throw new SyntaxFault('ends with a comma');
  }

  private item(): Item {
    const { text, integer } = this.bare();
    const params = new Map<string, number>();
    while (this.rest.startsWith(';')) {
      this.take(/^; */);
      this.param(params);
      if (params.size > maxItems) throw new SyntaxFault('too many parameters');
    }
    return { name: text, integer, params };
  }

  // Parameters that are no integers are read and dropped; a bare key is true.
  private param(into: Map<string, number>): void {
    const key = this.expect(/^[a-z_.*-][a-z0-9_.*-]*/);
    if (!this.rest.startsWith('=')) return;
    this.take(/^=/);
    const { integer } = this.bare();
    if (integer !== null) into.set(key, integer);
  }

  private bare(): Value {
    if (this.rest.startsWith('"')) return { text: this.quoted(), integer: null };
    if (/^[-0-9]/.test(this.rest)) return { text: '', integer: this.number() };
    if (/^[*A-Za-z]/.test(this.rest)) return { text: this.take(/^[A-Za-z0-9:/!#$%&'*+.^_`|~-]+/), integer: null };
    this.expect(/^(:[^:]*:|\?[01])/); // A byte sequence or a boolean is dropped.
    return { text: '', integer: null };
  }

  private quoted(): string {
    const text = this.expect(/^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/);
    return text.slice(1, -1).replace(/\\(.)/g, '$1');
  }

  // A decimal is no count, and is dropped.
  private number(): number | null {
    const text = this.expect(/^[-.0-9]+/);
    if (/^-?\d+\.\d+$/.test(text)) return null;
    const value = parseInteger(text);
    if (value === null) throw new SyntaxFault('not a number');
    return value;
  }

  private expect(pattern: RegExp): string {
    const text = this.take(pattern);
    if (text === '') throw new SyntaxFault(`nothing that matches ${pattern}`);
    return text;
  }

  private take(pattern: RegExp): string {
    const text = pattern.exec(this.rest)?.[0] ?? '';
    this.rest = this.rest.slice(text.length);
    return text;
  }
}

/** What RFC 9651 calls an integer: a sign and up to 15 digits; null for anything else. */
function parseInteger(text: string): number | null {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : null;
}

function split(text: string, at: string): [string, string] | [string] {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + at.length)];
}
