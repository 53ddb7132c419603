import { createHash, createHmac, randomBytes } from 'node:crypto';

interface Session {
  name: string;
  /** The proof by which the person signed in: another password ends the session. */
  proof: string;
  endsAtMs: number;
}

/** The oldest make room: a person may have left many browsers signed in. */
const most = 500;

const digest = (id: string) => createHash('sha256').update(id).digest('base64url');

/** The person who is signed in. Kept in memory, so that a restart signs everyone out; an id is kept as its hash alone. */
export class Sessions {
  readonly #open = new Map<string, Session>();
  readonly #secret = randomBytes(32);

  constructor(
    private readonly lastMs: number,
    private readonly nowMs: () => number,
  ) {}

  /** @returns the id, for the cookie */
  begin(name: string, proof: string): string {
    const id = randomBytes(32).toString('base64url');
    const [oldest] = this.#open.keys();
    if (this.#open.size >= most && oldest !== undefined) this.#open.delete(oldest);
    this.#open.set(digest(id), { name, proof, endsAtMs: this.nowMs() + this.lastMs });
    return id;
  }

  find(id: string): Session | null {
    const session = this.#open.get(digest(id));
    if (session === undefined || session.endsAtMs > this.nowMs()) return session ?? null;
    this.end(id);
    return null;
  }

  end(id: string): void {
    this.#open.delete(digest(id));
  }

  /**
   * The token that a form has to send: another site can't know it. @param whose a session’s id, or the name that a
   * proxy gives
   */
  csrfToken(whose: string): string {
    return createHmac('sha256', this.#secret).update(whose).digest('base64url');
  }
}
