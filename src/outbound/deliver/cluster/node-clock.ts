import { longestRestMs } from '../../../service/rate-limit/rate-limiter.js';
import type { RateLimit } from '../../../service/rate-limit/sliding-slots.js';

/** The largest difference that nodes allow for: `recallAnswers` counts the requests of a node that is gone for so much longer. */
const mostOffMs = 10_000;

/**
 * The lead of this machine's wall clock over the store's; negative: it is behind. Zero where the time that the question
 * took explains the difference. Pure.
 * @param storeMs the store's clock, read between `beforeMs` and `afterMs`
 */
export function clockLead(beforeMs: number, storeMs: number, afterMs: number): number {
  if (storeMs < beforeMs) return beforeMs - storeMs;
  return storeMs > afterMs ? afterMs - storeMs : 0;
}

/** True if other nodes would miscount a long limit by the times that this clock puts on record. Pure. */
export function isClockUnfit(leadMs: number, limits: readonly Pick<RateLimit, 'windowMs'>[]): boolean {
  return Math.abs(leadMs) > mostOffMs && limits.some(({ windowMs }) => windowMs > longestRestMs);
}
