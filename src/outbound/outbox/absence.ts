import { type ClockReading, clockToleranceMs, surelyPassedMs } from '../../store/clock.js';

/**
 * Record of a create that may have reached the service. A service that shows nothing of it now may still be working on the last
 * request.
 */
export interface Doubt {
  /** When the last request for it had ended here at the latest; null: not known. */
  ended: ClockReading | null;
  /** When a look-up that counts had found nothing; null: none has. */
  absent: ClockReading | null;
}

/** Time between the two look-ups that have to agree: a tenth of the wait before them, a minute at most. */
export function betweenLookUpsMs(maxProcessingMs: number): number {
  return Math.min(60_000, maxProcessingMs / 10);
}

/** Before a look-up proves that a record is absent, this has to happen; `in`: not before so many milliseconds have passed. */
export type AbsenceStep = { next: 'wait'; inMs: number } | { next: 'first look-up' } | { next: 'last look-up' };

/**
 * Weighs a look-up that finds nothing of a create now. Pure.
 * @param maxProcessingMs how long the service may work on a request that has ended here
 */
export function absenceStep({ ended, absent }: Doubt, now: ClockReading, maxProcessingMs: number): AbsenceStep {
  // A create without an end on record began to rest just now.
  const restedMs = ended === null ? 0 : surelyPassedMs(ended, now);
  if (restedMs < maxProcessingMs) return { next: 'wait', inMs: maxProcessingMs - restedMs };
  if (absent === null) return { next: 'first look-up' };
  const inMs = betweenLookUpsMs(maxProcessingMs) - surelyPassedMs(absent, now);
  return inMs > 0 ? { next: 'wait', inMs } : { next: 'last look-up' };
}

/**
 * Until when, by the clock on the wall, a create may still take effect; null: it can not any more. Pure.
 * @param claimedAt when it was last claimed for sending, for what an earlier version sent; null: it was never claimed
 */
export function mayTakeEffectUntil(
  { ended, claimedAt }: Pick<Doubt, 'ended'> & { claimedAt: number | null },
  now: ClockReading,
  maxProcessingMs: number,
): number | null {
  if (ended === null && claimedAt === null) return null;
  // An earlier version recorded no end: assume that a request takes no longer than clocks may differ.
  const since = ended ?? { wallMs: (claimedAt as number) + clockToleranceMs, bootId: '', bootMs: 0 };
  const leftMs = maxProcessingMs - surelyPassedMs(since, now);
  return leftMs > 0 ? now.wallMs + leftMs : null;
}

/** The columns of a message that say it. */
export interface DoubtColumns {
  endedAt: number | null;
  endedBootId: string | null;
  endedBootMs: number | null;
  absentAt: number | null;
  absentBootId: string | null;
  absentBootMs: number | null;
}

export const doubtColumns =
  'm.ended_at, m.ended_boot_id, m.ended_boot_ms, m.absent_at, m.absent_boot_id, m.absent_boot_ms';

export function doubtOf(row: DoubtColumns): Doubt {
  return {
    ended: readingOf(row.endedAt, row.endedBootId, row.endedBootMs),
    absent: readingOf(row.absentAt, row.absentBootId, row.absentBootMs),
  };
}

function readingOf(wallMs: number | null, bootId: string | null, bootMs: number | null): ClockReading | null {
  return wallMs === null || bootId === null || bootMs === null ? null : { wallMs, bootId, bootMs };
}
