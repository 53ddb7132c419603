/** The pace for a limit that is not known, or that the service finds too fast though it is known. */
export interface Pace {
  /** Requests a second; null: as fast as the known limits allow. */
  perSecond: number | null;
  /** True if the service has ever said "slow down": until then the pace doubles, afterwards it creeps. */
  isLearnt: boolean;
  /** When it last went down, monotonic. */
  slowedAtMs: number;
  /** When it last went up or down. */
  changedAtMs: number;
  /** The pace that was last too fast; null: none yet. */
  ceilingPerSecond: number | null;
  /** The number of falls in a row, before it was back at the configured limit for a while. */
  falls: number;
}

const firstPerSecond = 10;
const slowestPerSecond = 1 / 60;
/** Faster than this no service of this family is asked without having said so. */
const fastestPerSecond = 1_000;
/**
 * The factors by which the pace falls when it was too fast; and when it was hardly used, so that it says little of what
 * would be right.
 */
const fall = { used: 0.9, unused: 0.5 };
/** It rises again by so much for each request that passes, and by no more than so much a second: one answer of 429 in some sixty. */
const rise = { eachRequest: 0.0018, eachSecond: 0.01 };
/** Far below the ceiling it rises faster: a fall that was too deep must not cost a minute. */
const far = { below: 0.85, eachRequest: 0.005, eachSecond: 0.05 };
/** Back to a configured limit it goes in seconds: one answer of 429 is a slip. The second one in a row says that the limit is another. */
const riseToKnown = { eachRequest: 0.02, eachSecond: 0.1 };
/** Long after its last fall the next one is a slip again. */
const forgetFallsMs = 60_000;

/** With a configured limit there is nothing to learn until the service contradicts it. */
export function firstPace(limitIsKnown: boolean, nowMs: number): Pace {
  return {
    perSecond: limitIsKnown ? null : firstPerSecond,
    isLearnt: limitIsKnown,
    slowedAtMs: nowMs,
    changedAtMs: nowMs,
    ceilingPerSecond: null,
    falls: 0,
  };
}

/**
 * After an answer of 429.
 * @param knownPerSecond the configured limit; null where none is known
 * @param sentAtMs when the request left: what was under way when the pace fell says nothing about the new one
 * @param lastSecond requests that left in the last second
 */
export function slower(
  pace: Pace,
  sentAtMs: number,
  lastSecond: number,
  knownPerSecond: number | null,
  nowMs: number,
): Pace {
  if (sentAtMs < pace.slowedAtMs) return pace;
  const was = pace.perSecond ?? knownPerSecond ?? fastestPerSecond;
  const reached = Math.min(was, Math.max(1, lastSecond));
  const perSecond = reached >= was / 2 ? reached * fall.used : was * fall.unused;
  return {
    perSecond: Math.max(slowestPerSecond, perSecond),
    isLearnt: true,
    slowedAtMs: nowMs,
    changedAtMs: nowMs,
    ceilingPerSecond: was,
    falls: pace.perSecond !== null || nowMs - pace.slowedAtMs < forgetFallsMs ? pace.falls + 1 : 1,
  };
}

/**
 * After an answer that took the request: doubled every second as long as nothing is known, and in small steps afterwards; quickly
 * back to a configured limit that was contradicted once.
 * @param lastSecond requests that left in the last second: an unused pace proves nothing
 * @param knownPerSecond the configured limit, at which the pace is forgotten; null where none is known
 */
export function faster(pace: Pace, lastSecond: number, knownPerSecond: number | null, nowMs: number): Pace {
  if (pace.perSecond === null || lastSecond < Math.floor(pace.perSecond * 0.8)) return pace;
  const elapsedMs = nowMs - pace.changedAtMs;
  if (!pace.isLearnt && elapsedMs < 1_000) return pace;
  const isFar = pace.ceilingPerSecond !== null && pace.perSecond < pace.ceilingPerSecond * far.below;
  const search = isFar ? far : rise;
  const step = knownPerSecond !== null && pace.falls === 1 ? riseToKnown : search;
  const factor = pace.isLearnt ? 1 + Math.min(step.eachRequest, (step.eachSecond * elapsedMs) / 1_000) : 2;
  const perSecond = Math.min(pace.perSecond * factor, fastestPerSecond);
  const isForgotten = knownPerSecond !== null && perSecond >= knownPerSecond;
  return { ...pace, perSecond: isForgotten ? null : perSecond, changedAtMs: nowMs };
}
