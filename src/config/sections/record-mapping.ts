import { z } from 'zod';
import { type Partly, type Report, requireSetting } from '../configuration-error.js';
import { choice, columns, flag, query, text, whole } from './value-types.js';

const word = z.union([z.string(), z.number().int(), z.boolean()]);

const orElseColumns = z
  .array(text)
  .min(2)
  .refine((names) => new Set(names).size === names.length, { error: 'names a column twice', abort: true });

/** A field of the service's record, made from the columns of a query. A plain string names the column. */
export const fieldMapping = z
  .union([
    text,
    orElseColumns,
    z.strictObject({
      column: z
        .union([text, orElseColumns])
        .optional()
        .describe(
          'Column of the query; of a list, the first that is not empty. Give exactly one of column and constant.',
        )
        .meta({ allowed: 'the name of a column, or a list of several' }),
      constant: word
        .optional()
        .describe('A fixed value instead of a column.')
        .meta({ allowed: 'text, a whole number, true or false' }),
      type: choice(
        ['text', 'integer', 'amount', 'boolean', 'date', 'datetime'],
        'text: unchanged. integer: a fraction is refused. amount: a decimal, sent as an integer by amounts.scale. ' +
          'date: YYYY-MM-DD. datetime: ISO 8601 with the offset of erp.timeZone.',
      ),
      optional: flag(false, 'true: NULL or empty text leaves the field out instead of being an error.'),
      maxLength: whole(1)
        .meta({ unit: 'characters' })
        .optional()
        .describe('Longer text is refused, unless `cut` is set.'),
      cut: z
        .string()
        .max(10)
        .optional()
        .describe('Longer text is cut to maxLength, with this mark as its end.')
        .meta({ allowed: 'a text such as …, or an empty one' }),
      html: z
        .enum(['strip', 'decode'])
        .optional()
        .describe('strip: the text without tags, entities decoded. decode: only entities such as &amp; are decoded.'),
      trim: z.boolean().optional().describe('true: text loses the blanks and line breaks at both ends.'),
      when: z
        .record(z.string(), word)
        .optional()
        .describe(
          'What is sent for each code of the column. A code that is not here parks the record, unless `otherwise` is set.',
        )
        .meta({ allowed: 'codes and what is sent for them, such as {COD: cash, "30": net30}; "" is the empty column' }),
      otherwise: word
        .optional()
        .describe('What is sent for every code that `when` does not name.')
        .meta({ allowed: 'text, a whole number, true or false' }),
      case: z.enum(['upper', 'lower']).optional().describe('Text in upper or lower case.'),
    }),
  ])
  .meta({ shape: 'Field mapping', allowed: 'the name of a column, a list of columns, or a field mapping' });

export type FieldMapping = z.output<typeof fieldMapping>;

export const fieldMappings = z.record(text, fieldMapping);

const removal = (when: string) =>
  z
    .union([
      z.literal('nothing'),
      z.literal('delete'),
      z.strictObject({
        patch: z
          .record(text, z.union([z.string(), z.number().int(), z.boolean()]))
          .describe('Fields to set at the service.')
          .meta({ allowed: 'names and values, such as {status: cancelled}' }),
      }),
    ])
    .default('nothing')
    .describe(when)
    .meta({ allowed: 'nothing, delete, or fields to set: {patch: {status: cancelled}}' });

/** Values of a column that mean something. */
export const markValues = z
  .array(z.union([z.string(), z.number().int()]))
  .min(1)
  .meta({ allowed: 'a list of texts or whole numbers' });

/** Settings that customers and orders share: the rows that count, and the effect when a row is gone. */
export const rowSettings = {
  changedAt: text
    .optional()
    .describe('Column that changes whenever the row changes. Without it only sweeps find changes.'),
  pending: text
    .optional()
    .describe('SQL condition on the columns of the query: which rows may be sent. Absent: all of them.'),
  cancelled: z
    .strictObject({
      column: text.describe('Column of the query that tells.'),
      values: markValues.describe('Values of that column that mean cancelled.'),
    })
    .optional()
    .describe('What marks a cancelled record, even one that `pending` leaves out. Absent: nothing does.'),
  replaces: columns
    .optional()
    .describe(
      'Column (or columns) with the key of the record that the row goes on for, such as amended_from. Empty: of none.',
    ),
  existence: query
    .optional()
    .describe('SELECT that yields the key of every record that exists. Default: the query, without `pending`.'),
  onCancelled: removal('What to do at the service when a record that it has is cancelled.'),
  onDeleted: removal(
    'What to do at the service when a record that it has is absent from `existence` (see `capture.deletedAfterMinutes`).',
  ),
};

const NUMBERS = new Set(['orders.lines.fields.qty', 'orders.lines.fields.price']);
const NAMES = new Set(['customers.fields.customer_code', 'orders.fields.customer_code', 'orders.lines.fields.sku']);

type Fields = Partly<Record<string, FieldMapping>> | undefined;

export function checkMappings(path: string, fields: Fields, report: Report): void {
  for (const [name, mapping] of Object.entries(fields ?? {})) {
    if (typeof mapping !== 'object' || Array.isArray(mapping)) continue;
    checkText(`${path}.${name}`, mapping, report);
    const given = [mapping.column, mapping.constant].filter((part) => part !== undefined).length;
    if (given === 1) continue;
    const message = given === 0 ? 'names neither a column nor a constant' : 'names a column and a constant';
    report(`${path}.${name}`, message, { allowed: 'exactly one of column and constant' });
  }
}

/** A setting that shapes a text has no effect elsewhere, and a text that names something is never cut: two would become one. */
function checkText(path: string, mapping: Partly<Exclude<FieldMapping, string | string[]>>, report: Report): void {
  const { type, constant, cut, maxLength, when = {}, otherwise } = mapping;
  const isText = constant === undefined && (type ?? 'text') === 'text' && !NUMBERS.has(path);
  for (const name of ['html', 'trim', 'case', 'cut', 'when'] as const)
    if (mapping[name] !== undefined && !isText)
      report(`${path}.${name}`, 'has no effect', { allowed: 'only a column of type text has it' });
  if (otherwise !== undefined && mapping.when === undefined)
    report(`${path}.otherwise`, 'has no effect without when', { hint: 'name the known codes in when' });
  if (NAMES.has(path))
    for (const word of [...Object.values(when), otherwise ?? 'none'])
      if (typeof word !== 'string' || word === '')
        report(`${path}.when`, 'must name texts', { found: JSON.stringify(word), allowed: 'texts that are not empty' });
  if (mapping.when !== undefined && maxLength !== undefined)
    report(`${path}.maxLength`, 'has no effect beside when', { hint: 'leave it out: words are sent as they are' });
  if (cut === undefined) return;
  if (NAMES.has(path)) report(`${path}.cut`, 'would give two records one name', { hint: 'leave it out' });
  else if (maxLength === undefined || maxLength <= [...cut].length)
    report(`${path}.cut`, 'needs a maxLength that is longer than it', { found: JSON.stringify(cut) });
}

/** A field that the service needs has to be mapped, and no record may leave it out. */
export function requireField(path: string, fields: Fields, name: string, why: string, report: Report): void {
  const mapping = fields?.[name];
  requireSetting(mapping, `${path}.${name}`, `a column, because ${why}`, report);
  if (typeof mapping === 'object' && !Array.isArray(mapping) && mapping.optional)
    report(`${path}.${name}.optional`, 'must not be true', { found: 'true', allowed: `false, because ${why}` });
}

/** Without a mark nothing is ever cancelled, and an effect that was configured for it would wait for ever. */
export function checkCancelled(
  path: 'customers' | 'orders',
  { cancelled, onCancelled }: { cancelled?: unknown; onCancelled?: unknown },
  report: Report,
): void {
  if (onCancelled === undefined || onCancelled === 'nothing') return;
  const why = `a column and its values, because ${path}.onCancelled is set`;
  requireSetting(cancelled, `${path}.cancelled`, why, report);
}

export function checkSameLength(
  path: string,
  columns: string[] | undefined,
  keyPath: string,
  key: string[] | undefined,
  report: Report,
): void {
  if (columns === undefined || key === undefined || columns.length === key.length) return;
  const count = (names: string[]) => (names.length === 1 ? 'one column' : `${names.length} columns`);
  report(path, `has ${count(columns)}, but ${keyPath} has ${count(key)}`, {
    found: columns.join(', '),
    allowed: 'the same columns in the same order',
  });
}

/**
 * @param isGiven tells if a setting is given
 * @returns settings that are allowed and probably not meant
 */
export function adviseCancelled(
  section: 'customers' | 'orders',
  { cancelled }: { cancelled?: unknown },
  isGiven: (...path: string[]) => boolean,
): string[] {
  if (cancelled === undefined || isGiven(section, 'onCancelled')) return [];
  return [
    `${section}.cancelled is set and ${section}.onCancelled is not: what is cancelled after it was sent stays at the service as it is; set ${section}.onCancelled (nothing: that is meant)`,
  ];
}
