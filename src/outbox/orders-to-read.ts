import type { ReadState } from './judge-order-read.js';

export interface ReadableOrder {
  sourceKey: string;
  state: ReadState;
  /** When it was asked for last; 0: never. */
  askedAt: number;
}

/**
 * Which orders are read next: never the final ones, none before it has rested, and those first that were asked for longest
 * ago. Pure.
 */
export function ordersToRead<T extends ReadableOrder>(
  orders: readonly T[],
  { nowMs, everyMs, most }: { nowMs: number; everyMs: number; most: number },
): T[] {
  return orders
    .filter(({ state, askedAt }) => state !== 'final' && askedAt + everyMs <= nowMs)
    .sort((a, b) => a.askedAt - b.askedAt || (a.sourceKey < b.sourceKey ? -1 : 1))
    .slice(0, most);
}
