/** Where the browser keeps the note. */
export const identityKey = 'signed-in-as';

/** Whose session the browser has, as far as this page knows: that of the person it was loaded for, nobody's any more, or another's. */
export type Holder = 'same' | 'nobody' | 'other';

/**
 * For whom this page was loaded. A browser has one session for all its tabs: where somebody else signs in in another tab,
 * what this one sent would be done in their name. So each page leaves a note of its person in the browser, looks at it
 * before each call, and stops for good once it names another. That nobody is signed in any more is no reason to stop, since
 * the server refuses what is sent then: it is said, and the page goes on once the same person is back.
 */
export class Identity {
  private person: string | null = null;
  private holder: Holder = 'same';
  private readonly listeners = new Set<() => void>();

  constructor(private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>) {}

  /** Is told when another holds the session, or nobody, or the person is back. */
  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): Holder => this.holder;

  /** The id of the person that this page is for; null for a visitor. */
  whose(): string | null {
    return this.person;
  }

  /** Says that this page is a person's, to the browser's other tabs too. */
  claim(person: string): void {
    this.person = person;
    this.keep(() => this.storage.setItem(identityKey, person));
  }

  /** Says that nobody is signed in. */
  release(): void {
    this.person = null;
    this.keep(() => this.storage.removeItem(identityKey));
  }

  /** Whether what is sent now would be sent as the person that this page is for. A missing note says nothing: it may never have been kept. */
  stillSame(): boolean {
    const person = this.note();
    if (person !== null && person !== this.person) this.heard(person);
    return this.holder !== 'other';
  }

  /** Another tab has changed the note: that it took it away says that nobody is signed in. */
  noted(): void {
    this.heard(this.note());
  }

  /** Takes in who holds the session, null for nobody; says whether it is still who this page is for. */
  heard(person: string | null): boolean {
    if (this.person !== null && this.holder !== 'other') this.turn(this.holderOf(person));
    return this.holder === 'same';
  }

  private holderOf(person: string | null): Holder {
    if (person === null) return 'nobody';
    return person === this.person ? 'same' : 'other';
  }

  private turn(holder: Holder): void {
    if (holder === this.holder) return;
    this.holder = holder;
    for (const listener of this.listeners) listener();
  }

  private note(): string | null {
    return this.keep(() => this.storage.getItem(identityKey)) ?? null;
  }

  // A browser that lets nothing be kept still learns it from the server's answers.
  private keep<T>(access: () => T): T | undefined {
    try {
      return access();
    } catch {
      return undefined;
    }
  }
}
