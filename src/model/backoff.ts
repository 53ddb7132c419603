/** The first and the longest wait between two tries, in milliseconds. */
export interface Backoff {
  baseMs: number;
  maxMs: number;
}

/** The wait after so many failures in a row: doubled with each, up to the maximum. Pure. @param failures from 1 */
export function doubledMs(failures: number, { baseMs, maxMs }: Backoff): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));
}

/**
 * The same with full jitter: anywhere between nothing and that wait, so that many waiting messages do not return together.
 * @param failures from 1
 * @param random a number in [0, 1)
 * @returns milliseconds to wait; at least a tenth of the base, so that a lucky draw does not hammer, and never above the maximum
 */
export function backoffMs(failures: number, backoff: Backoff, random: number): number {
  const ceiling = doubledMs(failures, backoff);
  return Math.round(Math.min(ceiling, Math.max(backoff.baseMs / 10, random * ceiling)));
}
