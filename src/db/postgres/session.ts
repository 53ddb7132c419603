import { SessionRefused } from '../session-refused.js';

/** Names of PostgreSQL's settings with their values. Times are in milliseconds. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * The settings that decide about the form of values and the rows that are seen, whatever the server, the database or
 * the role says. Formats of `to_char` and the search_path are the account's: they are part of what a query means to
 * whoever wrote it.
 */
const meaning: SessionSettings = {
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  extra_float_digits: '3',
  bytea_output: 'hex',
  array_nulls: 'on',
  transform_null_equals: 'off',
  row_security: 'on',
  gin_fuzzy_search_limit: '0',
  // Types have the names by which the catalogue knows them.
  quote_all_identifiers: 'off',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
};

/** Limits that old servers don't know. Our own limits take the place of these. */
const newerLimits = ['idle_session_timeout', 'transaction_timeout'];

/** All that a session gets, with what one kind of work adds. */
export function sessionSettings(own: SessionSettings): SessionSettings {
  return { ...meaning, ...own };
}

/**
 * A query that gives a session its settings, and yields for `checkSettings` what it has then.
 * @param lasts transaction: a pool between us and the server may give the next one another session
 */
export function setSettings(settings: SessionSettings, lasts: 'session' | 'transaction'): string {
  const isLocal = lasts === 'transaction';
  const set = (name: string, value: string) =>
    `pg_catalog.set_config('${name}', '${value.replaceAll("'", "''")}', ${isLocal})`;
  const lifted = newerLimits.map(
    (name) => `CASE WHEN pg_catalog.current_setting('${name}', true) IS NOT NULL THEN ${set(name, '0')} END`,
  );
  return `SELECT ${[...Object.entries(settings).map(([name, value]) => set(name, value)), ...lifted].join(', ')}`;
}

/** @param row what `setSettings` has yielded @throws SessionRefused */
export function checkSettings(settings: SessionSettings, row: readonly (string | null)[]): void {
  for (const [at, [name, wanted]] of Object.entries(settings).entries()) {
    const found = `${row[at]}`;
    if (canonical(found) !== canonical(wanted)) throw new SessionRefused(name, found, wanted);
  }
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Servers write times with the largest unit that fits, and names in letters of their own choice. */
function canonical(value: string): string {
  const [, number, unit = 'ms'] = /^(\d+)(ms|s|min|h|d)?$/.exec(value) ?? [];
  return number === undefined ? value.toLowerCase() : `${Number(number) * (unitsMs[unit] ?? 1)}`;
}
