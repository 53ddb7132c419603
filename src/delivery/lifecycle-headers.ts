import { httpDateMs } from './retry-after.js';

/** What a service says of an endpoint's end. At least one of the two is there. */
export interface EndpointLifecycle {
  /** Since when, or from when, it is deprecated, in milliseconds since 1970; `true` without a date; null: it is not said. */
  deprecatedAt: number | true | null;
  /** When it is expected to stop working, in milliseconds since 1970; null: it is not said. */
  sunsetAt: number | null;
}

const latestMs = Date.UTC(9999, 11, 31);

/**
 * Reads `Deprecation` (RFC 9745: a structured date; before that `true` or an HTTP date) and `Sunset` (RFC 8594: an HTTP date).
 * Pure. @returns null where neither says anything that can be read
 */
export function readLifecycle(headers: Readonly<Record<string, string>>): EndpointLifecycle | null {
  const deprecation = headers.deprecation?.trim() ?? '';
  const isBare = /^(true|\?1)(;|$)/i.test(deprecation);
  const deprecatedAt = isBare ? true : dateMs(deprecation);
  const sunsetAt = dateMs(headers.sunset?.trim() ?? '');
  return deprecatedAt === null && sunsetAt === null ? null : { deprecatedAt, sunsetAt };
}

/** A structured date, `@` and seconds, with or without parameters (RFC 9651, 3.3.7), or an HTTP date. */
function dateMs(text: string): number | null {
  const seconds = /^@(-?\d{1,12})(?:[;,]|$)/.exec(text)?.[1];
  const ms = seconds === undefined ? httpDateMs(text) : Number(seconds) * 1000;
  return ms !== null && ms >= 0 && ms <= latestMs ? ms : null;
}
