import { z } from 'zod';

/** What the service demands of one field. */
export const fieldRule = z
  .strictObject({
    required: z.boolean().default(false).describe('true: a record without it is not sent.'),
    maxLength: z
      .number()
      .int()
      .positive()
      .optional()
      .describe('Most characters of a text, or most entries of a list.')
      .meta({ unit: 'characters or entries' }),
  })
  .meta({ shape: 'Field rule', allowed: 'a field rule: {required: true, maxLength: 140}' });

const rules = (meaning: string) =>
  z
    .record(z.string().min(1), fieldRule)
    .default({})
    .describe(meaning)
    .meta({ allowed: 'names and field rules, such as {note: {maxLength: 140}}' });

export const recordSettings = z
  .strictObject({
    customer: rules('Fields of a customer. customer_code is required anyway.'),
    order: rules(
      'Fields of an order. customer_code and items are required anyway; maxLength of items limits the lines.',
    ),
    item: rules('Fields of an order line. sku, qty and price are required anyway.'),
  })
  .prefault({})
  .describe('What the service demands of fields. A record that breaks a rule is parked as unmapped, unsent.');

export type FieldRules = Readonly<Record<string, z.output<typeof fieldRule>>>;
export type RecordSettings = z.output<typeof recordSettings>;
