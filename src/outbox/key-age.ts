/** By this the clocks of two machines may differ, or one be set, without a word about it. */
export const clockToleranceMs = 5 * 60_000;

/** When something was sent of which nobody knows when: longer ago than any service remembers a key, so that it is never resent blindly. */
export const sentUnknownWhen = 1;

/**
 * Whether the service may have forgotten a key that it was first shown then. Pure. A first send in the future says that the clock was
 * set back since, and nothing of how long ago it was.
 */
export function mayBeForgotten(firstSentAtMs: number, nowMs: number, keyLifetimeMs: number): boolean {
  const ageMs = nowMs - firstSentAtMs;
  return ageMs > keyLifetimeMs || ageMs < -clockToleranceMs;
}
