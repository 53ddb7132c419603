export interface BackoffSettings {
  baseMs: number;
  maxMs: number;
}

/**
 * Full jitter: anywhere between nothing and the exponential ceiling, so that many waiting messages do not return together.
 * @param failures failed attempts so far, from 1
 * @param random a number in [0, 1)
 * @returns milliseconds to wait; at least a tenth of the base, so that a lucky draw does not hammer, and never above the maximum
 */
export function backoffMs(failures: number, settings: BackoffSettings, random: number): number {
  const ceiling = Math.min(settings.maxMs, settings.baseMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(Math.min(ceiling, Math.max(settings.baseMs / 10, random * ceiling)));
}
