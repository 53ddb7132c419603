import { validateHeaderName } from 'node:http';
import { validate } from 'node-cron';
import { z } from 'zod';
import { isLoopback } from '../../model/database-place.js';
import { Secret } from '../../model/secret.js';

/*
 * Besides `description`, settings carry `allowed` (what is allowed, in words, where the schema alone can not say it),
 * `hint` (what to do where nothing that is allowed fits), `unit` (of a number whose name does not carry it), `shape` (name of a part that several settings share) and `secret`.
 */

export const text = z.string().min(1);

const upTo = (number: z.ZodNumber, most?: number, unit?: string) => {
  const bounded = most === undefined ? number : number.max(most);
  return unit === undefined ? bounded : bounded.meta({ unit });
};

/** A number from `least`, and to `most` if given. */
export const decimal = (least: number, most?: number, unit?: string) => upTo(z.number().min(least), most, unit);

/** A whole number from `least`, and to `most` if given. */
export const whole = (least: number, most?: number, unit?: string) => upTo(z.number().int().min(least), most, unit);

/** A number above zero, and at most `most` if given. */
export const positive = (most?: number) => upTo(z.number().positive(), most);

/** Text of a form that `allowed` puts in words. */
export const textLike = (pattern: RegExp, allowed: string) => z.string().regex(pattern).meta({ allowed });

export const flag = (preset: boolean, meaning: string) => z.boolean().default(preset).describe(meaning);

/** One of several names; the first is the default. */
export function choice<const Names extends readonly [string, ...string[]]>(names: Names, meaning: string) {
  return z
    .enum(names)
    .default(names[0] as never)
    .describe(meaning);
}

/** A group of settings. A missing group counts as an empty one, so that everything it requires is reported. */
export function group<Shape extends z.ZodRawShape>(meaning: string, shape: Shape) {
  return z
    .strictObject(shape)
    .prefault({} as never)
    .describe(meaning);
}

/**
 * A group of which one setting, such as `type`, chooses the variant; `preset` is the variant that is chosen by default.
 * zod stops at a wrong choice. One mistake must hide no other: the parts that all variants share are then checked here.
 */
export function variants<Union extends z.ZodDiscriminatedUnion>(meaning: string, union: Union, preset?: string) {
  const shapes = union.options.map((option) => (option as unknown as z.ZodObject).shape);
  const [by = ''] = Object.entries(shapes[0] ?? {}).find(([, schema]) => schema instanceof z.ZodLiteral) ?? [];
  const names = shapes.map((shape) => String((shape[by] as z.ZodLiteral).value));
  const settings = new Map(shapes.flatMap((shape) => Object.entries(shape)));
  const isShared = (name: string) => name !== by && shapes.every((shape) => name in shape);
  const shared = z.strictObject(
    Object.fromEntries([...settings].map(([name, schema]) => [name, isShared(name) ? schema : z.unknown().optional()])),
  );
  return z
    .preprocess((given, context) => {
      if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
      const value: Record<string, unknown> = { ...given };
      value[by] ??= preset;
      const chosen = value[by];
      if (typeof chosen === 'string' && names.includes(chosen)) return value;
      const { error } = shared.safeParse(value, { error: () => '' });
      context.issues.push({ code: 'invalid_value', values: names, input: chosen, path: [by] });
      for (const issue of error?.issues ?? []) context.issues.push({ ...issue, input: undefined });
      return value;
    }, union)
    .prefault((preset === undefined ? {} : { [by]: preset }) as never)
    .describe(meaning);
}

/** A string that one function accepts or refuses. */
const checked = (allowed: string, accepts: (value: string) => boolean) =>
  text.refine(accepts, { abort: true }).meta({ allowed });

/** True when the function accepts the value: it refuses by throwing. */
function succeeds(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

/** Intl also takes offsets such as +02:00 on newer Node versions; an offset knows no daylight saving time. */
function isTimeZone(name: string): boolean {
  return /^[A-Za-z]/.test(name) && succeeds(() => new Intl.DateTimeFormat('en', { timeZone: name }));
}

const currencies = new Set(Intl.supportedValuesOf('currency'));

/** Headers that the client or the connection itself writes; a key sent under such a name would break the request. */
const reservedHeaders = new Set([
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'traceparent',
  'transfer-encoding',
]);

const isFreeHeaderName = (name: string) =>
  succeeds(() => validateHeaderName(name)) && !reservedHeaders.has(name.toLowerCase());

export const timeZone = checked('an IANA time zone such as Europe/Berlin', isTimeZone);
export const currency = checked('a current ISO 4217 code such as EUR', (code) => currencies.has(code));
export const cronExpression = checked(
  'a cron expression with six fields, seconds first, such as `*/30 * * * * *`',
  (expression) => expression.trim().split(/\s+/).length === 6 && validate(expression),
);
export const regularExpression = checked('a regular expression', (source) => succeeds(() => new RegExp(source, 'i')));
export const headerName = checked('a header name that HTTP allows and the client does not use', isFreeHeaderName);
export const credentialHeaderName = checked(
  'Authorization, or a header name that HTTP allows and the client does not use',
  (name) => isFreeHeaderName(name) || name.toLowerCase() === 'authorization',
);

/** A place in a JSON body: names and list positions joined by dots. */
export const place = (example: string) =>
  text
    .regex(/^[^.\s]+(\.[^.\s]+)*$/)
    .meta({ allowed: `the name of a field, or names joined by dots such as ${example}` });

/** An address of HTTP that carries no credentials, because they would be logged. */
export const httpAddress = (example: string, credentialsBelong: string) =>
  z
    .url({ protocol: /^https?$/, abort: true })
    .refine((address) => new URL(address).username === '' && new URL(address).password === '', {
      error: `holds a user name or password; ${credentialsBelong}`,
    })
    .meta({ allowed: `an address such as ${example}` });

/** True if data to an address can be read on the way there: plain HTTP to another machine. */
export function isReadableOnTheWay(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname);
}

/** A secret arrives as text from a file or the environment and leaves as a Secret, so that nothing prints it. */
export const secret = z
  .union([text, z.instanceof(Secret)])
  .transform((value) => (value instanceof Secret ? value : new Secret(value)))
  .meta({ allowed: 'text, from its own file or the environment', secret: true });

/** The setting beside a secret that names its file; `credential` is what systemd calls the secret. */
export const secretFile = (content: string, credential: string) =>
  text
    .optional()
    .describe(
      `File that holds ${content}, relative to the configuration folder; credential \`${credential}\` under systemd.`,
    );

/** The setting that names a file with certificates or keys that are public. */
export const pemFile = (content: string) =>
  text.optional().describe(`PEM file with ${content}, relative to the configuration folder.`);

/** One SQL statement. A semicolon at its end is dropped, because the query is read as part of a larger one. */
export const query = text
  .refine((sql) => /[^;\s]/.test(sql), { abort: true })
  .transform((sql) => sql.replace(/[;\s]+$/, ''));

/** One column or several; several make a composite key. */
export const columns = z
  .union([text, z.array(text).min(1)])
  .transform((value) => (Array.isArray(value) ? value : [value]))
  .refine((names) => new Set(names).size === names.length, { error: 'names a column twice', abort: true })
  .meta({ allowed: 'a column name, or a list of them without repetition' });
