import { type RateLimit, type SlidingSlots, shortestWindowRate } from './sliding-slots.js';

/** An idle node could use a little more than it did. */
const moreThanPeak = 1.25;

/** This process's part of each limit: all of it, or as a node of a cluster so many places. */
export class LimitShare {
  #wasShort = false;

  /** @param onChange told how many nodes share the limits from now on */
  constructor(
    private readonly slots: readonly SlidingSlots[],
    private readonly nowMs: () => number,
    private readonly onChange: (nodes: number) => void,
  ) {}

  get limits(): readonly RateLimit[] {
    return this.slots;
  }

  /** The limits as they are for this process alone. */
  get allowed(): { requests: number; perSeconds: number }[] {
    return this.slots.map(({ places, windowMs }) => ({ requests: places, perSeconds: windowMs / 1000 }));
  }

  get perSecond(): number | null {
    return shortestWindowRate(this.allowed.filter(({ perSeconds }) => perSeconds > 0));
  }

  /** No request may go before another node leaves a place to this one. */
  get isNothing(): boolean {
    return this.slots.some(({ places }) => places === 0);
  }

  /** Something waits for its turn, or would. */
  want(): void {
    this.#wasShort = true;
  }

  /** The number of places that could be used, by limit, from the events since this was asked last. */
  takeDemand(): number[] {
    const isShort = this.#wasShort;
    this.#wasShort = false;
    return this.slots.map((one) => {
      const peak = Math.ceil(one.takePeak(this.nowMs()) * moreThanPeak);
      return isShort ? one.requests : Math.min(one.requests, peak);
    });
  }

  /** The number of places for one request more, by limit, than those that still count. */
  get forOneMore(): number[] {
    return this.slots.map((slots) => slots.inUse(this.nowMs()) + 1);
  }

  /** From here on no more places than this are taken. @returns by limit, how many are in use */
  shrinkTo(places: readonly number[]): number[] {
    for (const [nth, slots] of this.slots.entries()) slots.places = Math.min(slots.places, places[nth] ?? 0);
    return this.slots.map((slots) => slots.inUse(this.nowMs()));
  }

  /** From now on so many places may be used, while so many nodes share the limits. */
  set(places: readonly number[], nodes: number): void {
    for (const [nth, slots] of this.slots.entries()) slots.places = places[nth] ?? 0;
    this.onChange(nodes);
  }
}
