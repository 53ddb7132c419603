/** However short a token is said to live, it is used for so long: its end is answered by 401 anyway. */
const leastLifeMs = 5_000;
const mostWaitMs = 60_000;

/**
 * When a token is to be replaced, and from when it is not used any more. Pure.
 * @param askedAtMs monotonic; its life is counted from there, because the answer has been on its way
 */
export function expiryOf(
  lifetimeMs: number | null,
  askedAtMs: number,
  marginMs: number,
): { renewAtMs: number | null; expiresAtMs: number | null } {
  if (lifetimeMs === null) return { renewAtMs: null, expiresAtMs: null };
  return {
    renewAtMs: askedAtMs + lifetimeMs - Math.min(marginMs, lifetimeMs / 2),
    // A moment less: the request has a way before it, too.
    expiresAtMs: askedAtMs + Math.max(leastLifeMs, lifetimeMs - Math.min(2_000, lifetimeMs / 10)),
  };
}

/**
 * How long to wait after a token was not to be had. Pure. Where it was refused a pause stops all requests, and the end of that
 * pause should find no further wait.
 * @param failures in a row, from 1
 * @param random in [0, 1)
 */
export function retryWaitMs(kind: 'unavailable' | 'refused', failures: number, random: number): number {
  if (kind === 'refused') return 1_000;
  return Math.min(mostWaitMs, 1_000 * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
}
