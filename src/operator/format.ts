import { DateTime } from 'luxon';
import type { Settings } from '../config/settings.js';
import { currencyScale } from '../model/currencies.js';
import { formatAmount } from '../model/minor-units.js';

/** Writes amounts in minor units of the configured currency, without its name. */
export function amountFormatter({ currency, scale }: Settings['amounts']): (minor: string | number) => string {
  return (minor) => formatAmount(minor, scale ?? currencyScale(currency) ?? 0);
}

/** An amount in minor units of a currency, with its code; digits and all where the currency is not known. */
export function amountWithCurrency(amounts: Settings['amounts'], minor: string | number, code: string | null): string {
  const scale = code === null ? null : (amounts.scale ?? currencyScale(code));
  if (scale === null) return `${minor} (in the service’s unit)`;
  return `${formatAmount(minor, scale)} ${code}`;
}

/** Writes instants in one time zone, with the offset, to the second: `2026-11-03 09:15:02 +01:00`. */
export function timeFormatter(timeZone: string): (ms: number) => string {
  return (ms) => DateTime.fromMillis(ms, { zone: timeZone }).toFormat('yyyy-MM-dd HH:mm:ss ZZ');
}

/** Writes instants as ISO 8601 with milliseconds, for programs. */
export function isoFormatter(timeZone: string): (ms: number) => string | null {
  return (ms) => DateTime.fromMillis(ms, { zone: timeZone }).toISO();
}

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

/** Cuts a longer text, which then ends in `…`. */
export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

/** Follows a time that stands as the ERP's changedAt column says it: Waybill keeps it so, to read on from there. */
export const inErpTime = '(as changedAt writes it: local time, or UTC where the database keeps instants)';
