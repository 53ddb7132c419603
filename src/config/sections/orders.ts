import { z } from 'zod';
import { fields } from './field-mapping.js';
import { changedAt, removals } from './removals.js';
import { columns, query } from './value-types.js';

const readBackSettings = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('true: the status of delivered orders is read again and again (service.endpoints.readOrder).'),
    everyHours: z
      .number()
      .min(0.1)
      .max(8_760)
      .default(24)
      .describe('How long an order that was read rests before it is read again.'),
    finalStates: z
      .array(z.string().min(1).max(255))
      .max(100)
      .default([])
      .describe('States after which nothing more happens: such an order is not read any more.')
      .meta({ allowed: 'a list of states, such as [completed, cancelled]' }),
    maxShare: z
      .number()
      .min(0.001)
      .max(0.5)
      .default(0.05)
      .describe(
        'Largest part of service.limits that reading back takes. Where no limit is known, it reads one order a second.',
      )
      .meta({ unit: 'of 1' }),
  })
  .describe('How the status of delivered orders is read back from the service.');

const orderLinesSettings = z
  .strictObject({
    query: query.describe('SELECT that yields one row per order line.'),
    orderKey: columns.describe('Column (or columns) that hold the key of the order.'),
    sortBy: columns.describe('Column (or columns) that give the lines of one order their order.'),
    fields: fields.describe('Field of the item: column. sku, qty and price are required.'),
  })
  .describe('How the lines of an order are read.');

export const ordersSettings = z
  .strictObject({
    query: query.describe('SELECT that yields one row per order.'),
    key: columns.describe('Column (or columns) of the primary key.'),
    changedAt,
    pending: z
      .string()
      .min(1)
      .optional()
      .describe('SQL condition over the columns of the query: which orders may be sent. Without it: all.'),
    startFrom: z
      .union([
        z.literal('all'),
        z.strictObject({
          column: z.string().min(1).describe('A column that never changes, such as the creation date or the key.'),
          from: z
            .union([z.string().min(1), z.number().int()])
            .describe('First date or first key that is sent.')
            .meta({ allowed: 'a date (YYYY-MM-DD, quoted or not) or a key' }),
        }),
      ])
      .describe(
        'Older orders are never sent, not even when somebody edits them. `all` sends the whole history. Never guessed.',
      )
      .meta({ allowed: 'all, or a column and the first value that is sent: {column: created_at, from: 2026-01-01}' }),
    customerKey: columns
      .optional()
      .describe('Column (or columns) that hold the key of the customer. Required unless customers.send is none.'),
    number: z
      .string()
      .min(1)
      .optional()
      .describe('Column of the order number that people know. Goes into `note` unless fields.note is given.'),
    identity: columns
      .optional()
      .describe(
        'Columns that never change. When they do, the key belongs to another record now, and nothing is sent. Default: number and the column of startFrom.',
      ),
    total: z.string().min(1).optional().describe('Column of the order total, to check that the lines add up to it.'),
    ...removals,
    settleSeconds: z
      .number()
      .min(0)
      .default(10)
      .describe(
        'How long an order that changed just now, and whose total can not be checked or does not add up, waits for its lines.',
      ),
    fields: fields
      .default({})
      .describe('Field of the service: column. customer_code comes from the customer unless it is given here.'),
    lines: orderLinesSettings,
    readBack: readBackSettings.prefault({}),
  })
  .describe('Which orders are sent, and how a row becomes an order.');

export type OrdersSettings = z.output<typeof ordersSettings>;

export type ReadBackSettings = z.output<typeof readBackSettings>;
