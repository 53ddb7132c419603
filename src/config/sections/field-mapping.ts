import { z } from 'zod';

/** How one field of the service's record is made from the columns of a query. A plain string names the column. */
export const fieldMapping = z
  .union([
    z.string().min(1),
    z.strictObject({
      column: z
        .string()
        .min(1)
        .optional()
        .describe('Column of the query. Exactly one of column and constant is given.'),
      constant: z
        .union([z.string(), z.number().int(), z.boolean()])
        .optional()
        .describe('A fixed value instead of a column.')
        .meta({ allowed: 'text, a whole number, true or false' }),
      type: z
        .enum(['text', 'integer', 'amount', 'boolean', 'date', 'datetime'])
        .default('text')
        .describe(
          'text: as it stands. integer: refused when fractional. amount: decimal to an integer by amounts.scale. ' +
            'date: YYYY-MM-DD. datetime: ISO 8601 with the offset of erp.timeZone.',
        ),
      optional: z
        .boolean()
        .default(false)
        .describe('NULL or empty text leaves the field out instead of being an error.'),
      maxLength: z
        .number()
        .int()
        .positive()
        .optional()
        .describe('Longer text is refused.')
        .meta({ unit: 'characters' }),
    }),
  ])
  .meta({ shape: 'Field mapping', allowed: 'the name of a column, or a field mapping' });

export const fields = z.record(z.string().min(1), fieldMapping);

export type FieldMapping = z.output<typeof fieldMapping>;
