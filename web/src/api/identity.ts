/** Where the browser keeps the note. */
export const identityKey = 'signed-in-as';

/** Whether this page may go on sending: for the person it was loaded for, and not once it is somebody else who is signed in. */
export type Holder = 'same' | 'other';

/**
 * For whom this page was loaded. A browser has one session for all its tabs: where somebody else signs in in another tab,
 * what this one sent would be done in their name. So each page leaves a note of its person in the browser, looks at it
 * before each call, and stops for good once it names another.
 */
export class Identity {
  private person: string | null = null;
  private holder: Holder = 'same';
  private readonly listeners = new Set<() => void>();

  constructor(private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>) {}

  /** Is told when another holds the session. */
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

  /** Whether what is sent now would be sent as the person that this page is for. */
  stillSame(): boolean {
    return this.heard(this.keep(() => this.storage.getItem(identityKey)) ?? null);
  }

  /** Takes in who holds the session; null says nothing, since nobody's session is refused by the server anyway. */
  heard(person: string | null): boolean {
    if (this.person !== null && person !== null && person !== this.person && this.holder === 'same') {
      this.holder = 'other';
      for (const listener of this.listeners) listener();
    }
    return this.holder === 'same';
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
