import { validateHeaderName } from 'node:http';
import { validate } from 'node-cron';
import { z } from 'zod';
import { Secret } from '../../model/secret.js';

/*
 * Besides `description`, settings carry `allowed` (what is allowed, in words, where the schema alone can not say it),
 * `unit` (of a number whose name does not carry it), `shape` (name of a part that several settings share) and `secret`.
 */

const text = z.string().min(1);

/** A string that one function accepts or refuses. */
const checked = (allowed: string, accepts: (value: string) => boolean) =>
  text.refine(accepts, { abort: true }).meta({ allowed });

/** Intl also takes offsets such as +02:00 on newer Node versions; an offset knows no daylight saving time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const currencies = new Set(Intl.supportedValuesOf('currency'));

function isRegularExpression(source: string): boolean {
  try {
    new RegExp(source, 'i');
    return true;
  } catch {
    return false;
  }
}

/** Headers that the client or the connection itself writes; a key sent under such a name would break the request. */
const reservedHeaders = new Set([
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
]);

function isFreeHeaderName(name: string): boolean {
  return isHeaderName(name) && !reservedHeaders.has(name.toLowerCase());
}

function isHeaderName(name: string): boolean {
  try {
    validateHeaderName(name);
    return true;
  } catch {
    return false;
  }
}

export const timeZone = checked('an IANA time zone such as Europe/Berlin', isTimeZone);
export const currency = checked('a current ISO 4217 code such as EUR', (code) => currencies.has(code));
export const cronExpression = checked(
  'a cron expression with six fields, seconds first, such as `*/30 * * * * *`',
  (expression) => expression.trim().split(/\s+/).length === 6 && validate(expression),
);
export const regularExpression = checked('a regular expression', isRegularExpression);
export const headerName = checked('a header name that HTTP allows and the client does not use', isFreeHeaderName);

export const credentialHeaderName = checked(
  'Authorization, or a header name that HTTP allows and the client does not use',
  (name) => isFreeHeaderName(name) || name.toLowerCase() === 'authorization',
);

/** A secret arrives as text from a file or the environment and leaves as a Secret, so that nothing prints it. */
export const secret = z
  .union([text, z.instanceof(Secret)])
  .transform((value) => (value instanceof Secret ? value : new Secret(value)))
  .meta({ allowed: 'text, from its own file or the environment', secret: true });

/** One SQL statement. A semicolon at its end is dropped, because the query is read as part of a larger one. */
export const query = text.transform((sql) => sql.replace(/[;\s]+$/, ''));

/** One column or several; several make a composite key. */
export const columns = z
  .union([text, z.array(text).min(1)])
  .transform((value) => (Array.isArray(value) ? value : [value]))
  .refine((names) => new Set(names).size === names.length, { error: 'names a column twice', abort: true })
  .meta({ allowed: 'a column name, or a list of them without repetition' });

/** A status of an answer within these bounds. */
export function httpStatus(least: number, most: number) {
  return z.number().int().min(least).max(most);
}

/**
 * How a database on a MySQL or MariaDB server is reached; the ERP and the store are described alike.
 * @param meanings what is particular to one of them, and the name of its credential under systemd
 */
export function mysqlConnection(meanings: { host: string; database: string; user: string; credential: string }) {
  return {
    host: z.string().min(1).default('127.0.0.1').describe(meanings.host),
    port: z.number().int().min(1).max(65535).default(3306).describe('Port of that server.'),
    database: z.string().min(1).describe(meanings.database),
    user: z.string().min(1).describe(meanings.user),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        `File that holds the password, relative to the configuration folder; credential \`${meanings.credential}\` under systemd.`,
      ),
  };
}
