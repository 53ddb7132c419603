import { z } from 'zod';
import type { Partly, Report } from '../configuration-error.js';
import type { CustomersSettings } from './customers.js';
import type { OrdersSettings } from './orders.js';
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

interface Checked {
  service: { fields: FieldRuleSettings };
  customers: CustomersSettings;
  orders: OrdersSettings;
}

/** A required field that is not mapped would park every record. */
export function checkFieldRules({ service, customers, orders }: Partly<Checked>, report: Report): void {
  const check = (of: 'customer' | 'order' | 'item', path: string, fields: object = {}, always: readonly string[]) => {
    for (const [name, rule] of Object.entries(service?.fields?.[of] ?? {}))
      if (rule?.required && !always.includes(name) && !Object.hasOwn(fields, name))
        report(`service.fields.${of}.${name}.required`, `is true, but ${path} does not map ${name}`, {
          found: 'true',
          hint: `map it, or every ${of} would be parked`,
        });
  };
  if (customers?.send !== 'none') check('customer', 'customers.fields', customers?.fields, ['customer_code']);
  const note = orders?.number ? ['note'] : [];
  check('order', 'orders.fields', orders?.fields, ['customer_code', 'items', ...note]);
  check('item', 'orders.lines.fields', orders?.lines?.fields, ['sku', 'qty', 'price']);
}
