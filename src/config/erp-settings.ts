import { z } from 'zod';
import { mysqlConnection } from './mysql-connection.js';
import { readBackSettings } from './read-back-settings.js';
import { columns, currency, query, timeZone } from './value-types.js';

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

const fields = z.record(z.string().min(1), fieldMapping);

const erpTimeZone = timeZone.describe(
  'Time zone of the dates and times in the ERP, e.g. Europe/Berlin. Never guessed, because a wrong one shifts every date.',
);

const queryTimeoutSeconds = z
  .number()
  .positive()
  .max(3600)
  .default(60)
  .describe('Longest time one query may take; the ERP itself then stops it, where it can.');

export const erpSettings = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('mysql').describe('Kind of database. mysql: MySQL or MariaDB. sqlite: a SQLite file.'),
      ...mysqlConnection({
        host: 'Server of the ERP database.',
        database: 'Name of the ERP database.',
        user: 'An account that may only SELECT.',
        credential: 'erp-password',
      }),
      timeZone: erpTimeZone,
      queryTimeoutSeconds,
    }),
    z.strictObject({
      type: z.literal('sqlite').describe('Kind of database. mysql: MySQL or MariaDB. sqlite: a SQLite file.'),
      file: z.string().min(1).describe('The database file, relative to the configuration folder. It is only read.'),
      timeZone: erpTimeZone,
      queryTimeoutSeconds,
    }),
  ])
  .describe('The database that Waybill reads. Nothing is written through this account; see writeBack.');

const changedAt = z
  .string()
  .min(1)
  .optional()
  .describe('Column that moves when the row changes. Without it only sweeps find changes.');

const cancelled = z
  .strictObject({
    column: z.string().min(1).describe('Column of the query that says so.'),
    values: z
      .array(z.union([z.string(), z.number().int()]))
      .min(1)
      .describe('Values of that column that mean cancelled.')
      .meta({ allowed: 'a list of texts or whole numbers' }),
  })
  .optional()
  .describe('What marks a cancelled record, also one that `pending` leaves out. Absent: nothing does.');

const removal = (when: string) =>
  z
    .union([
      z.literal('nothing'),
      z.literal('delete'),
      z.strictObject({
        patch: z
          .record(z.string().min(1), z.union([z.string(), z.number().int(), z.boolean()]))
          .describe('Fields that are set at the service.')
          .meta({ allowed: 'names and values, such as {status: cancelled}' }),
      }),
    ])
    .default('nothing')
    .describe(when)
    .meta({ allowed: 'nothing, delete, or fields that are set: {patch: {status: cancelled}}' });

const removals = {
  cancelled,
  existence: query
    .optional()
    .describe('SELECT that yields the key of every record there is. Default: the query, without `pending`.'),
  onCancelled: removal('What follows at the service when a record that it has is cancelled.'),
  onDeleted: removal('What follows at the service when a record that it has is absent from `existence` in two sweeps.'),
};

export type RemovalSetting = z.output<ReturnType<typeof removal>>;

export const customersSettings = z
  .strictObject({
    send: z
      .enum(['referenced', 'all', 'none'])
      .default('referenced')
      .describe(
        'referenced: the customers of eligible orders. all: every pending customer. none: the service knows them already.',
      ),
    query: query.optional().describe('SELECT that yields one row per customer. Required unless send is none.'),
    key: columns.optional().describe('Column (or columns) of the primary key. Required unless send is none.'),
    changedAt,
    pending: z
      .string()
      .min(1)
      .optional()
      .describe('SQL condition over the columns of the query: which rows may be sent. Without it: all.'),
    ...removals,
    fields: fields.optional().describe('Field of the service: column. customer_code is required unless send is none.'),
  })
  .describe('Which customers are sent, and how a row becomes a customer.');

export const orderLinesSettings = z
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

export const amountsSettings = z
  .strictObject({
    currency: currency.describe('Currency of every amount, as an ISO 4217 code. Never guessed.'),
    scale: z
      .number()
      .int()
      .min(0)
      .max(6)
      .optional()
      .describe(
        'Decimal places of the service’s integer amounts; 2 sends 19.99 as 1999. Default: the exponent of the currency.',
      )
      .meta({ unit: 'decimal places' }),
    rounding: z
      .enum(['refuse', 'half-up', 'half-even'])
      .default('refuse')
      .describe('What happens to an amount with more decimals than scale.'),
  })
  .describe('How decimal columns become the integer amounts of the service, exactly.');

export const captureSettings = z
  .strictObject({
    pageSize: z
      .number()
      .int()
      .min(1)
      .max(5000)
      .default(500)
      .describe('Records read in one snapshot.')
      .meta({ unit: 'records' }),
    overlapSeconds: z
      .number()
      .min(0)
      .default(600)
      .describe('How far behind the cursor each pass starts, so that late commits are found.'),
    sweepMinutes: z
      .number()
      .positive()
      .default(60)
      .describe('How often everything eligible is read, whatever the cursor says.'),
    maxUpdates: z
      .number()
      .int()
      .min(0)
      .default(200)
      .describe('More changed records in one pass wait for `waybill confirm`.')
      .meta({ unit: 'records' }),
    maxRemovals: z
      .number()
      .int()
      .min(0)
      .default(10)
      .describe('More cancelled or deleted records in one pass wait for `waybill confirm`.')
      .meta({ unit: 'records' }),
  })
  .describe('How the ERP is read.');

export type FieldMapping = z.output<typeof fieldMapping>;
export type ErpSettings = z.output<typeof erpSettings>;
export type CustomersSettings = z.output<typeof customersSettings>;
export type OrdersSettings = z.output<typeof ordersSettings>;
export type AmountsSettings = z.output<typeof amountsSettings>;
