import { SlidingSlots } from './sliding-slots.js';

export interface RateLimitAdvice {
  /** Requests that the service still takes; null: it does not say. */
  remaining: number | null;
  /** The time until it counts anew, in milliseconds; null: it does not say. */
  resetMs: number | null;
  /** The limits that it names. */
  policies: { requests: number; windowMs: number }[];
}

const longestMs = 24 * 3_600_000;
/** A reset beyond this many seconds is a moment in Unix time, not a span: no limit lasts thirty years. */
const epochFrom = 1_000_000_000;

/**
 * The headers in which a service tells its limit beside its answers: `RateLimit` and `RateLimit-Policy`
 * (draft-ietf-httpapi-ratelimit-headers, structured fields such as `"default";r=50;t=30`), the three headers of its
 * earlier versions, and the older `X-RateLimit-*`, whose reset some give as seconds and others as Unix time.
 * @param headers with names in lower case
 * @returns null where it says nothing that makes sense
 */
export function readRateLimit(headers: Readonly<Record<string, string>>, nowMs: number): RateLimitAdvice | null {
  const policies = members(headers['ratelimit-policy']).flatMap(({ parameters, token }) => {
    const requests = parameters.q ?? token;
    const windowMs = (parameters.w ?? 0) * 1000;
    // A window longer than any wait that we take their word for: one slip there would stop everything for years.
    return requests && windowMs > 0 && windowMs <= longestMs ? [{ requests, windowMs }] : [];
  });
  const current = members(headers.ratelimit).filter(({ parameters }) => parameters.r !== undefined);
  // Several limits at once: the one that is nearest to its end decides.
  const [tightest] = current.sort((a, b) => (a.parameters.r as number) - (b.parameters.r as number));
  const remaining =
    tightest?.parameters.r ?? wholeNumber(headers['ratelimit-remaining'] ?? headers['x-ratelimit-remaining']);
  const resetMs =
    tightest?.parameters.t !== undefined
      ? bounded(tightest.parameters.t * 1000)
      : spanMs(headers['ratelimit-reset'] ?? headers['x-ratelimit-reset'], nowMs);
  if (remaining === null && policies.length === 0) return null;
  return { remaining, resetMs, policies };
}

interface Member {
  /** The number that stands before the parameters, as in `100;w=60`. */
  token: number | null;
  parameters: { [name: string]: number };
}

/** A list of structured fields (RFC 9651), of which only whole numbers matter here. */
function members(header: string | undefined): Member[] {
  if (header === undefined) return [];
  return header.split(',').flatMap((text) => {
    const [name = '', ...rest] = text.split(';').map((part) => part.trim());
    if (name === '') return [];
    const parameters: Member['parameters'] = {};
    for (const part of rest) {
      const [key = '', value] = part.split('=');
      const number = wholeNumber(value);
      if (number !== null) parameters[key.trim()] = number;
    }
    return [{ token: wholeNumber(name), parameters }];
  });
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text.trim()) : null;
}

function spanMs(text: string | undefined, nowMs: number): number | null {
  const seconds = text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text.trim()) : null;
  if (seconds === null) return null;
  // Some write Unix time in milliseconds.
  if (seconds >= epochFrom * 1000) return bounded(seconds - nowMs);
  return bounded(seconds >= epochFrom ? seconds * 1000 - nowMs : seconds * 1000);
}

function bounded(ms: number): number {
  return Math.ceil(Math.min(Math.max(0, ms), longestMs));
}

const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '\\d{2}:\\d{2}:\\d{2}';
const zone = '(?:GMT|UTC?|Z|[+-]\\d{2}:?\\d{2})';
/** The three forms of RFC 9110, 5.6.7, the form of RFC 2822 that PHP writes, and the ISO form, each with any zone. */
const dateForms = new RegExp(
  `^(?:[A-Z][a-z]{2}, \\d{1,2} ${month} \\d{4} ${time} ${zone}` +
    `|[A-Z][a-z]+, \\d{2}-${month}-\\d{2} ${time} GMT` +
    `|[A-Z][a-z]{2} ${month} [ \\d]\\d ${time} \\d{4}` +
    `|\\d{4}-\\d{2}-\\d{2}[T ]\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)? ?${zone})$`,
);
const zoneAtEnd = new RegExp(`${zone}$`);

/**
 * Reads how long the service asks us to wait: seconds or an HTTP date (RFC 9110, 10.2.3), and what services write instead, such as
 * `2.0`, `120s`, a list, or Unix time.
 * @returns milliseconds, at most a day; 0 for a date in the past; null when the header is absent or makes no sense
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim();
  const date = httpDateMs(text);
  if (date !== null) return bounded(date - nowMs);
  // A date has a comma as well, so a list is looked for in what is none.
  const [, seconds] = /^(\d+(?:\.\d+)?) ?s?$/.exec(text.split(',')[0] as string) ?? [];
  return isNoTime(Number(seconds), nowMs) ? null : spanMs(seconds, nowMs);
}

/** True for a number that is too large for seconds, and years ahead as Unix time: no service knows that it rests for so long. */
function isNoTime(value: number, nowMs: number): boolean {
  const ms = value >= epochFrom * 1000 ? value : value * 1000;
  return value >= epochFrom && ms - nowMs > 366 * 86_400_000;
}

/** A date in a header, in milliseconds since 1970; null where it is none. */
export function httpDateMs(text: string): number | null {
  // Date.parse alone takes "try in 5" for a day in May 2001: the past, and so no wait at all.
  if (!dateForms.test(text)) return null;
  // The form without a zone is in GMT too; Date.parse would take it for local time.
  const date = Date.parse(zoneAtEnd.test(text) ? text.replace(/ UT$/, ' UTC') : `${text} GMT`);
  return Number.isNaN(date) ? null : date;
}

/** The limits that the service names itself, of all requests of the account. */
export class AnnouncedLimits {
  /** Each until its window has passed since: endpoints may name different ones in turn. */
  readonly #named = new Map<string, { slots: SlidingSlots; untilMs: number }>();
  #advised: { remaining: number; untilMs: number } | null = null;
  #nodes = 1;

  heed(advice: RateLimitAdvice, now: number): void {
    this.#advised =
      advice.remaining === null || advice.resetMs === null
        ? null
        : { remaining: Math.floor(advice.remaining / this.#nodes), untilMs: now + advice.resetMs };
    for (const limit of advice.policies) {
      const name = `${limit.requests}/${limit.windowMs}`;
      const slots = this.#named.get(name)?.slots ?? new SlidingSlots(limit);
      this.#named.set(name, { slots, untilMs: now + limit.windowMs });
      this.#divide(slots);
    }
    if (advice.policies.length > 0)
      for (const [name, { untilMs }] of this.#named) if (untilMs <= now) this.#named.delete(name);
  }

  /** The number of nodes that send requests of the account: each takes its part. */
  divideBy(nodes: number): void {
    this.#nodes = nodes;
    for (const { slots } of this.#named.values()) this.#divide(slots);
  }

  #divide(slots: SlidingSlots): void {
    slots.places = Math.max(1, Math.floor(slots.requests / this.#nodes));
  }

  forget(): void {
    this.#advised = null;
    this.#named.clear();
  }

  /** A request is about to leave. @returns the slots that it takes */
  take(): SlidingSlots[] {
    if (this.#advised) this.#advised.remaining--;
    return [...this.#named.values()].map(({ slots }) => slots);
  }

  /** @param consider is told how long the next request has to wait, and why */
  waits(now: number, consider: (waitMs: number, slots: SlidingSlots | null) => void): void {
    if (this.#advised && this.#advised.untilMs <= now) this.#advised = null;
    for (const { slots } of this.#named.values()) consider(slots.waitMs(now), slots);
    if (this.#advised && this.#advised.remaining <= 0) consider(this.#advised.untilMs - now, null);
  }
}
