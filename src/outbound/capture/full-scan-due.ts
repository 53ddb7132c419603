/**
 * True if the next pass reads every row (a full scan, also called a sweep) and not only what has changed. Pure.
 * @param sweptAtMs when the last one began; null: there was none
 * @param sweepMinutes `capture.sweepMinutes`
 */
export function isFullScanDue(sweptAtMs: number | null, nowMs: number, sweepMinutes: number): boolean {
  if (sweptAtMs === null) return true;
  const elapsedMs = nowMs - sweptAtMs;
  // One in the future says that the clock was set back since, and nothing of how long ago it was.
  return elapsedMs >= sweepMinutes * 60_000 || elapsedMs < 0;
}
