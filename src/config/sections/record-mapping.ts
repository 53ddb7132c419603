import { z } from 'zod';
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
