/** A date, or a date and time, as it stands in a text. Nothing is converted yet. */
export interface WrittenTime {
  /** The written date and time as if it were UTC, in whole seconds since 1970. */
  wallSeconds: number;
  /** Digits after the seconds, '' when there are none. */
  fraction: string;
  dateOnly: boolean;
  hasSeconds: boolean;
  separator: ' ' | 'T';
  /** Minutes ahead of UTC where the text says so (`Z` is 0), else null. */
  offsetMinutes: number | null;
  /** The offset as it is written: 'Z', '+02:00', '' */
  offsetText: string;
}

const WRITTEN_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:([ T])(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;

/** Reads `YYYY-MM-DD[ HH:MM[:SS[.ffffff]][Z|±HH:MM]]`; null for anything else, and for days that don't exist. */
export function parseWrittenTime(text: string): WrittenTime | null {
  const match = WRITTEN_TIME.exec(text);
  if (match === null) return null;
  const [, year, month, day, separator, hour = '0', minute = '0', second, fraction = '', offsetText = ''] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) return null;
  return {
    wallSeconds: date.getTime() / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second ?? 0),
    fraction,
    dateOnly: separator === undefined,
    hasSeconds: second !== undefined,
    separator: separator === 'T' ? 'T' : ' ',
    offsetMinutes: offsetText === '' ? null : parseOffset(offsetText),
    offsetText,
  };
}

function parseOffset(text: string): number {
  if (text === 'Z') return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(3).replace(':', '') || '0');
  return text.startsWith('-') ? -minutes : minutes;
}
