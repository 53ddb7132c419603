import { setMaxListeners } from 'node:events';
import PQueue from 'p-queue';
import { type Clock, systemClock } from '../store/clock.js';

export interface PacerLimit {
  requests: number;
  windowMs: number;
}

export interface PacerOptions {
  /** Requests under way at once. */
  concurrency: number;
  /** Most requests in any window; null when no limit is known. */
  limit: PacerLimit | null;
  clock?: Clock;
}

/** Node runs a timer that is longer at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Spaces requests so that a service which counts a sliding window has no cause to answer 429.
 *
 * A slot is free again one window after its *answer*, not after its start: whatever time the request took on the way, the
 * service counted it no later than that (field notes, p-queue: 0 answers of 429 at 98.9 % of the limit). So the slots are
 * a queue whose concurrency is the limit, and a task keeps its place for a window while its caller has the answer already.
 */
export class Pacer {
  readonly #slots: PQueue | null;
  readonly #connections: PQueue;
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #wakeUp = new AbortController();

  constructor(options: PacerOptions) {
    // Every slot that rests listens; ten would be taken for a leak.
    setMaxListeners(0, this.#wakeUp.signal);
    this.#connections = new PQueue({ concurrency: options.concurrency });
    this.#slots = options.limit ? new PQueue({ concurrency: options.limit.requests }) : null;
    this.#windowMs = options.limit?.windowMs ?? 0;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Runs `task` when its turn has come. The promise settles with the task, before the slot is free again.
   * @param isUsed whether a result took a slot at the service; a request that we held back did not
   * @param priority higher goes first
   */
  run<T>(task: () => Promise<T>, isUsed: (result: T) => boolean = () => true, priority = 0): Promise<T> {
    // First a connection, then a slot: a slot that waited for a connection would be idle at the service's expense.
    const inSlot = this.#slots ? () => this.#takeSlot(task, isUsed, priority) : task;
    return this.#connections.add(inSlot, { priority }) as Promise<T>;
  }

  /** Requests that wait for a slot or are under way. */
  get waiting(): number {
    return (this.#slots?.size ?? 0) + this.#connections.size;
  }

  /** Lets the slots go that only wait for their window to end, so that the process can end. */
  close(): void {
    this.#wakeUp.abort();
  }

  #takeSlot<T>(task: () => Promise<T>, isUsed: (result: T) => boolean, priority: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const inSlot = async (): Promise<void> => {
        let used = true;
        try {
          const result = await task();
          used = isUsed(result);
          resolve(result);
        } catch (error) {
          reject(error);
        }
        if (used) await this.#passWindow();
      };
      void this.#slots?.add(inSlot, { priority });
    });
  }

  /** A timer counts from the beginning of its turn of the event loop: on a busy one it ends early, and so is asked again. */
  async #passWindow(): Promise<void> {
    const endsAt = this.#clock.monotonicMs() + this.#windowMs;
    const { signal } = this.#wakeUp;
    for (let restMs = this.#windowMs; restMs > 0 && !signal.aborted; restMs = endsAt - this.#clock.monotonicMs())
      await this.#clock.sleep(Math.min(Math.ceil(restMs), longestTimerMs), signal);
  }
}
