/** What an action was last sent with. */
export interface Try {
  /** As JSON. */
  content: string;
  key: string;
  /** In milliseconds, on the clock that people read. */
  at: number;
}

/**
 * One thing that a person does, however often it has to be sent: every try of it bears the same Idempotency-Key, so that
 * a try whose answer was lost is answered again and not done again. What was put right meanwhile is another action, since
 * the server takes a key for one content only.
 */
export class Action {
  private last: Try | null = null;

  /** An answer that is true only for so long is asked for anew after that, on the clock that people read. */
  constructor(
    private readonly trueForMs = Number.POSITIVE_INFINITY,
    private readonly now = () => Date.now(),
  ) {}

  /** The action whose last try this was, such as one from before a reload; null for one that was never sent. */
  static resumed(tried: Try | null): Action {
    const action = new Action();
    action.last = tried;
    return action;
  }

  /** What it was last sent with; null if it was not, or is done. */
  get tried(): Try | null {
    return this.last;
  }

  /** The key to send a content with. */
  keyFor(content: unknown): string {
    const text = JSON.stringify(content);
    if (this.last?.content !== text || this.now() - this.last.at >= this.trueForMs) {
      this.last = { content: text, key: newKey(), at: this.now() };
    }
    return this.last.key;
  }

  /** Says that it was done: the same again is another action. */
  done(): void {
    this.last = null;
  }
}

// 128 random bits. crypto.randomUUID is not there for a page that came over plain http.
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
