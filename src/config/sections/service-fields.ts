import { z } from 'zod';
import { flag, group, text, whole } from './value-types.js';

/** What the service demands of one field. */
export const fieldRule = z
  .strictObject({
    required: flag(false, 'true: a record without it is not sent.'),
    maxLength: whole(1)
      .optional()
      .describe('Most characters of a text, or most entries of a list.')
      .meta({ unit: 'characters or entries' }),
  })
  .meta({ shape: 'Field rule', allowed: 'a field rule: {required: true, maxLength: 140}' });

const rules = (meaning: string) =>
  z
    .record(text, fieldRule)
    .default({})
    .describe(meaning)
    .meta({ allowed: 'names and field rules, such as {note: {maxLength: 140}}' });

export const fieldRuleSettings = group(
  'What the service demands of fields. A record that breaks a rule is parked as unmapped, unsent.',
  {
    customer: rules('Fields of a customer. customer_code is always required.'),
    order: rules(
      'Fields of an order. customer_code and items are always required; maxLength of items limits the lines.',
    ),
    item: rules('Fields of an order line. sku, qty and price are always required.'),
  },
);

export type FieldRules = Readonly<Record<string, z.output<typeof fieldRule>>>;
export type FieldRuleSettings = z.output<typeof fieldRuleSettings>;
