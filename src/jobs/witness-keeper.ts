import type { Logger } from 'winston';
import type { Store } from '../store/store.js';
import { checkWitness, renewWitness } from './store-witness.js';

/** What is committed later than this before a power cut may be missing from the witness, and so from a restored copy unseen. */
const everyMs = 3_000;

/** Compares the store with its witness when a process begins, and keeps the witness up to date until it ends. */
export class WitnessKeeper {
  readonly #store: Store;
  readonly #file: string;
  readonly #log: Logger;
  #renewing: Promise<void> = Promise.resolve();
  #failed = false;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;

  private constructor(store: Store, file: string, log: Logger) {
    this.#store = store;
    this.#file = file;
    this.#log = log;
  }

  /** @throws StoreError when there is a witness that can't be read */
  static async start(store: Store, file: string, log: Logger): Promise<WitnessKeeper> {
    const hold = await checkWitness(store, file, Date.now());
    if (hold) log.info('Delivery is held until `waybill recover`', { reason: hold.reason });
    const keeper = new WitnessKeeper(store, file, log);
    keeper.#schedule();
    return keeper;
  }

  /** Tells the witness the last word and ends. Never throws: a witness that is a little behind is no fault. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#renewing;
    await this.#renew();
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew().then(() => {
        if (!this.#stopped) this.#schedule();
      });
    }, everyMs);
    this.#timer.unref();
  }

  async #renew(): Promise<void> {
    try {
      await renewWitness(this.#store, this.#file, Date.now());
      this.#failed = false;
    } catch (error) {
      if (!this.#failed)
        this.#log.warn('The witness of the store could not be renewed', {
          file: this.#file,
          error: (error as Error).message,
        });
      this.#failed = true;
    }
  }
}
