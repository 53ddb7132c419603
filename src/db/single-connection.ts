import PQueue from 'p-queue';
import { redact } from '../model/redact.js';
import type { Secret } from '../model/secret.js';

/** One connection for one task after the other. It is opened when it is first needed, and again after a failure. */
export abstract class SingleConnection<Connection> {
  readonly #queue = new PQueue({ concurrency: 1 });
  #connection: Connection | null = null;

  protected abstract readonly password: Secret | undefined;
  protected abstract open(): Promise<Connection>;
  /** Asks an idle connection for an answer. @throws when the server has closed it, or was restarted */
  protected abstract ping(connection: Connection): Promise<unknown>;
  protected abstract end(connection: Connection): Promise<unknown>;
  /** Cuts the connection at once, with all that is open on it. */
  protected abstract destroy(connection: Connection): void;

  /** Runs the task when those before it are done. A failed task drops the connection with all that is open on it. */
  protected run<T>(task: (connect: () => Promise<Connection>) => Promise<T>): Promise<T> {
    return this.#queue.add(async () => {
      try {
        return await task(() => this.#connect());
      } catch (error) {
        this.#drop();
        throw error;
      }
    });
  }

  /** A failure whose words, which the server chose, are free of our password. */
  protected withoutPassword(failure: unknown): unknown {
    if (!(failure instanceof Error) || !this.password) return failure;
    const words = failure as Error & { hint?: string };
    for (const part of ['message', 'hint'] as const)
      if (words[part] !== undefined) words[part] = redact(words[part], [this.password.reveal()]);
    return failure;
  }

  close(): Promise<void> {
    return this.#queue.add(async () => {
      const connection = this.#connection;
      this.#connection = null;
      if (connection !== null) await this.end(connection).catch(() => this.destroy(connection));
    });
  }

  async #connect(): Promise<Connection> {
    try {
      if (this.#connection !== null) await this.ping(this.#connection);
    } catch {
      this.#drop();
    }
    this.#connection ??= await this.open();
    return this.#connection;
  }

  #drop(): void {
    if (this.#connection !== null) this.destroy(this.#connection);
    this.#connection = null;
  }
}
