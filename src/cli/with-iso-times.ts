import { isoFormatter } from './format-time.js';

/** A copy in which every name that ends in `At` (or `_at`) holds ISO 8601 instead of milliseconds since 1970. */
export function withIsoTimes(value: unknown, timeZone: string): unknown {
  const iso = isoFormatter(timeZone);
  const convert = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(convert);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(
      Object.entries(part).map(([name, one]) => [
        name,
        typeof one === 'number' && /^at$|At$|_at$/.test(name) ? iso(one) : convert(one),
      ]),
    );
  };
  return convert(value);
}
