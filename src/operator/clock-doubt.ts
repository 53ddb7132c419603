import type { ClockDoubt } from '../store/elapsed-time.js';

/** The reason why nothing more is pruned than before the clocks disagreed, and until when. Pure. */
export function doubtInWords({ of, aheadMs }: ClockDoubt): string {
  const ahead = `${Math.floor(aheadMs / 86_400_000)} d`;
  return of === 'machine'
    ? `retention waits: the clock went ahead by ${ahead} while nothing shows that this time passed (it was set, or the machine was off). Nothing is removed because of it before the clock has run on for 24 hours.`
    : `retention waits: this machine's clock is ${ahead} ahead of the clock of the store's database. Rows are removed by the earlier of the two; set the wrong clock right.`;
}
