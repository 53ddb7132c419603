import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MachineClock } from '../../src/store/clock.js';

/** Whose timer it is: those of a frozen process wait until it wakes, those of a dead one are dropped. */
export interface Sleeper {
  readonly state: 'alive' | 'frozen' | 'dead';
}

interface Timer {
  atMs: number;
  owner: Sleeper;
  fire: () => void;
}

/** Turns without any sign of life after which nothing but time can go on. */
const quietTurns = 3;
/** Somebody else's job may be what this one waits for, and end without a sign. */
const mostIdle = 20;

/** Time that stands still while anybody works, and then jumps to where something happens next. */
export class VirtualTime {
  nowMs: number;
  #signs = 0;
  #timers: Timer[] = [];

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** A sign of life: whoever gives one is not waiting for time to pass. */
  touch(): void {
    this.#signs++;
  }

  clockOf(owner: Sleeper): MachineClock {
    return {
      monotonicMs: () => this.nowMs,
      sinceBoot: () => ({ bootId: 'virtual', bootMs: this.nowMs }),
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve();
          const end = () => {
            cancel();
            resolve();
          };
          const cancel = this.#add(owner, ms, end);
          signal?.addEventListener('abort', end, { once: true });
        }),
      after: (ms, work) => this.#add(owner, ms, work),
    };
  }

  /** Lets time pass until `isOver`. @throws when nothing would ever happen again */
  async runUntil(isOver: () => boolean): Promise<void> {
    for (let idle = 0; idle < mostIdle; ) {
      await this.#quiet();
      if (isOver()) return;
      idle = this.#fireNext(Number.POSITIVE_INFINITY) ? 0 : idle + 1;
    }
    throw new Error('A job waits for something that never happens.');
  }

  /** Lets so much time pass, and everything happen that falls into it. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    do await this.#quiet();
    while (this.#fireNext(untilMs));
    this.nowMs = untilMs;
  }

  #add(owner: Sleeper, ms: number, fire: () => void): () => void {
    this.touch();
    const timer = { atMs: this.nowMs + Math.max(0, Math.ceil(ms)), owner, fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  #fireNext(untilMs: number): boolean {
    this.#timers = this.#timers.filter(({ owner }) => owner.state !== 'dead');
    const ready = this.#timers.filter(({ owner, atMs }) => owner.state === 'alive' && atMs <= untilMs);
    const next = ready.sort((a, b) => a.atMs - b.atMs)[0];
    if (!next) return false;
    this.#timers.splice(this.#timers.indexOf(next), 1);
    this.nowMs = Math.max(this.nowMs, next.atMs);
    this.touch();
    next.fire();
    return true;
  }

  async #quiet(): Promise<void> {
    for (let turns = 0, seen = -1; turns < quietTurns; turns++) {
      if (seen !== this.#signs) turns = 0;
      seen = this.#signs;
      await nextTurn();
    }
  }
}
