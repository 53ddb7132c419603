import { formatDate, formatTime, instantToWall } from '../wall-time.js';

/** An instant as the clock on the wall of that zone shows it, `2026-01-31 08:05:00`. Pure. */
export function wallText(ms: number, timeZone: string): string {
  const wallSeconds = instantToWall(Math.floor(ms / 1000), timeZone);
  return `${formatDate(wallSeconds)} ${formatTime(wallSeconds)}`;
}
