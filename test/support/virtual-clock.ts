import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MachineClock } from '../../src/store/clock.js';

/** Turns of the event loop in which nothing may be left to do before time goes on. */
const quietTurns = 4;

/**
 * Time that passes only when nothing else happens: then it jumps to the next moment that somebody waits for. Good for whatever
 * waits for nothing but this clock, so not for sockets or for a database server.
 */
export class VirtualClock implements MachineClock {
  #nowMs: number;
  #timers: { atMs: number; run: () => void }[] = [];

  /** @param startMs milliseconds since 1970 */
  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  readonly nowMs = (): number => this.#nowMs;

  monotonicMs(): number {
    return this.#nowMs;
  }

  sinceBoot(): { bootId: string; bootMs: number } {
    return { bootId: 'virtual', bootMs: this.#nowMs };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      });
      const stop = () => {
        cancel();
        resolve();
      };
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  after(ms: number, work: () => void): () => void {
    const timer = { atMs: this.#nowMs + Math.max(ms, 0), run: work };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** Lets time pass until this moment, or until `isOver`. */
  async runUntil(endMs: number, isOver: () => boolean = () => false): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < quietTurns; turn++) await nextTurn();
      if (isOver()) return;
      let next: { atMs: number; run: () => void } | undefined;
      for (const timer of this.#timers) if (!next || timer.atMs < next.atMs) next = timer;
      if (!next || next.atMs > endMs) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
    }
    this.#nowMs = Math.max(this.#nowMs, endMs);
  }
}
