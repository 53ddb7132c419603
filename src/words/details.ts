import { isFact, type Reader, tell } from './words.js';

/** Shown in `--json` and `--csv` only. */
const hidden = new Set(['idempotencyKey', 'bodyHash', 'excerptHash', 'startedAt', 'nextAttemptAt']);

/** The details of an audit line in few words: those that are there, without hashes and keys. Facts become sentences. */
export function detailsInWords(detail: { readonly [name: string]: unknown }, reader?: Reader): string {
  const inWords = (value: unknown) => {
    if (isFact(value)) return tell(value, reader);
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  return Object.entries(detail)
    .filter(([name, value]) => value !== null && !hidden.has(name))
    .map(([name, value]) => `${name}=${inWords(value)}`)
    .join(' ');
}
