const longestMs = 24 * 3600 * 1000;

const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '\\d{2}:\\d{2}:\\d{2}';
/** The three forms of RFC 9110, 5.6.7, and the ISO form that some services write. */
const dateForms = new RegExp(
  `^(?:[A-Z][a-z]{2}, \\d{2} ${month} \\d{4} ${time} GMT` +
    `|[A-Z][a-z]+, \\d{2}-${month}-\\d{2} ${time} GMT` +
    `|[A-Z][a-z]{2} ${month} [ \\d]\\d ${time} \\d{4}` +
    '|\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:\\d{2}))$',
);

/**
 * How long the service asks us to wait: seconds or an HTTP date (RFC 9110, 10.2.3).
 * @returns milliseconds, at most a day; 0 for a date in the past; null when the header is absent or makes no sense
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  const date = httpDateMs(text);
  return date === null ? null : Math.min(Math.max(0, date - nowMs), longestMs);
}

/** A date in a header, in milliseconds since 1970; null where it is none. */
export function httpDateMs(text: string): number | null {
  // Date.parse alone takes "try in 5" for a day in May 2001: the past, and so no wait at all.
  if (!dateForms.test(text)) return null;
  // The form without a zone is in GMT too; Date.parse would take it for local time.
  const date = Date.parse(/(?:GMT|Z|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text} GMT`);
  return Number.isNaN(date) ? null : date;
}
