const longestMs = 24 * 3600 * 1000;

/**
 * How long the service asks us to wait: seconds or an HTTP date (RFC 9110, 10.2.3).
 * @returns milliseconds, at most a day; 0 for a date in the past; null when the header is absent or makes no sense
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d{1,15}$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  // A bare number is parsed as a year by Date.parse, so only texts with letters count as dates.
  const date = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(date)) return null;
  return Math.min(Math.max(0, date - nowMs), longestMs);
}
