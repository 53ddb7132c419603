/** Draws from a seed: the same seed draws the same on every machine. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    for (let i = 0; i < 5; i++) this.next();
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0, below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  pickOrNull<T>(from: readonly T[]): T | null {
    return from.length === 0 ? null : this.pick(from);
  }

  seed(): number {
    return Math.floor(this.next() * 2 ** 31);
  }
}
