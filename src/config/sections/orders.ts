import { z } from 'zod';
import { type Partly, type Report, requireSetting } from '../configuration-error.js';
import type { amountsSettings } from './amounts.js';
import type { CustomersSettings } from './customers.js';
import type { InvoicesSettings } from './invoices.js';
import {
  adviseCancelled,
  checkCancelled,
  checkMappings,
  checkSameLength,
  fieldMappings,
  markValues,
  requireField,
  rowSettings,
} from './record-mapping.js';
import { choice, columns, decimal, flag, group, query, text, whole } from './value-types.js';

const factor = whole(1, 1_000_000_000);

const lines = group('How the lines of an order are read.', {
  query: query.describe('SELECT that yields one row per order line.'),
  orderKey: columns.describe('Column (or columns) that hold the key of the order.'),
  sortBy: columns.describe('Column (or columns) by which the lines of an order are sorted.'),
  fields: fieldMappings.describe('Field of the item: column. sku and qty are required, and price without `amount`.'),
  amount: text
    .optional()
    .describe(
      'Column with the amount of the line, a decimal. The price is worked out from it: fields.price may be left out.',
    ),
  discount: z
    .strictObject({
      column: text.describe('Column of the lines; empty is no discount.'),
      type: z.enum(['percent', 'fraction']).describe('percent: 7.5 takes 7.5 % off. fraction: 0.075 does.'),
    })
    .optional()
    .describe('What the price of a line is lowered by. The price that is sent is worked out from the amount left.'),
  unit: z
    .union([
      z.strictObject({ factor: factor.describe('Units of the service in one of the ERP, for every line.') }),
      z.strictObject({
        column: text.describe('Column of the lines with the unit.'),
        factors: z
          .record(z.string(), factor)
          .describe('Units of the service in one of each unit of the ERP. A unit that is not here parks the order.')
          .meta({ allowed: 'units and whole numbers, such as {kg: 1000, pc: 1}' }),
      }),
    ])
    .optional()
    .describe(
      'Unit of the service, where quantities of the ERP have decimals: 2.5 (kg) × 1000 is sent as 2500 (g), at a price for one of these.',
    )
    .meta({ allowed: 'a factor, or a column and its factors: {column: unit, factors: {kg: 1000, pc: 1}}' }),
  rounding: z
    .strictObject({ sku: text.max(255).describe('SKU of a line with what quantity × price leaves of the amounts.') })
    .optional()
    .describe(
      'The line that takes a rounding difference: of an order whose amounts no whole price comes to, or whose lines differ from its total (orders.total) by at most half a unit each, because each was rounded by itself. Absent: such an order is parked.',
    ),
  text: z
    .union([z.literal('skip'), z.strictObject({ sku: text.max(255).describe('SKU of every line without one.') })])
    .optional()
    .describe(
      'Lines without a SKU. skip: those without a price are left out. A stated SKU: all are sent under it. Absent: their order is parked.',
    )
    .meta({ allowed: 'skip, or a SKU: {sku: TEXT}' }),
});

const readBack = group('How the status of delivered orders is read back from the service.', {
  enabled: flag(false, 'true: the status of delivered orders is read regularly (service.endpoints.readOrder).'),
  everyHours: decimal(0.1, 8_760).default(24).describe('Time between two readings of the same order.'),
  finalStates: z
    .array(text.max(255))
    .max(100)
    .default([])
    .describe('States after which nothing more happens: an order in one of them is not read any more.')
    .meta({ allowed: 'a list of states, such as [completed, cancelled]' }),
  maxShare: decimal(0.001, 0.5, 'of 1')
    .default(0.05)
    .describe(
      'Largest share of service.limits that reading back may use. Without a limit it reads one order a second.',
    ),
});

export const ordersSettings = group('Which orders are sent, and how a row becomes an order.', {
  query: query.describe('SELECT that yields one row per order.'),
  key: columns.describe('Column (or columns) of the primary key.'),
  startFrom: z
    .union([
      z.literal('all'),
      z.strictObject({
        column: text.describe('A column that never changes, such as the creation date or the key.'),
        from: z
          .union([text, z.number().int()])
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
  number: text
    .optional()
    .describe('Column of the order number that people know. It becomes the field `note` unless fields.note is given.'),
  identity: columns
    .optional()
    .describe(
      'Columns that never change. When they do, the key now belongs to another record, and nothing is sent. Default: number and the column of startFrom.',
    ),
  total: text.optional().describe('Column of the order total, to check that the lines add up to it.'),
  currency: z
    .strictObject({
      column: text.describe('Column of the orders query with the ISO 4217 code.'),
      field: text.optional().describe('Field of the order in which the service is told the code. Absent: it is not.'),
    })
    .optional()
    .describe('Where the currency of an order stands. An order in one that `amounts` does not name is parked.'),
  ...rowSettings,
  completed: z
    .strictObject({
      column: text.describe('Column of the query that tells.'),
      values: markValues.describe('Values of that column that mean that nothing more happens to the order.'),
    })
    .optional()
    .describe(
      'What marks an order that may leave `pending`. If one that the service has leaves it in another way, and is not cancelled, Waybill says so. Absent: it says nothing.',
    ),
  onLinesLost: choice(
    ['hold', 'send'],
    'What to do when an order that the service has loses a line, and no total proves that it was deleted. hold: a person looks first, because a condition or join of lines.query may have taken it.',
  ),
  settleSeconds: decimal(0)
    .default(10)
    .describe(
      'How long an order that has just changed waits for its lines, when its total is unknown, they do not add up to it, or the row can not be sent as it is.',
    ),
  fields: fieldMappings
    .default({})
    .describe('Field of the service: column. customer_code comes from the customer unless it is given here.'),
  lines,
  readBack,
});

export type OrdersSettings = z.output<typeof ordersSettings>;

/** The settings that are checked together. */
type Relevant = Partly<{
  orders: OrdersSettings;
  customers: CustomersSettings;
  amounts: z.output<typeof amountsSettings>;
  invoices: InvoicesSettings;
}>;

export function checkOrders(given: Relevant, report: Report): void {
  const { orders = {}, customers = {} } = given;
  checkCurrencies(given, report);
  checkMappings('orders.fields', orders.fields, report);
  if (orders.fields?.items !== undefined)
    report('orders.fields.items', 'can not be mapped', { hint: 'map the lines in orders.lines.fields' });
  checkCancelled('orders', orders, report);
  if (orders.completed !== undefined && orders.pending === undefined)
    report('orders.completed', 'has no effect without orders.pending, which an order leaves', { hint: 'leave it out' });
  if (customers.send === 'none') {
    const why = 'customers.send is none, so that no customer supplies its code';
    requireField('orders.fields', orders.fields, 'customer_code', why, report);
  } else if (customers.send !== undefined) {
    const why = 'a column or a list of columns, because customers.send is not none';
    requireSetting(orders.customerKey, 'orders.customerKey', why, report);
    checkSameLength('orders.customerKey', orders.customerKey, 'customers.key', customers.key, report);
  }
  checkSameLength('orders.replaces', orders.replaces, 'orders.key', orders.key, report);
  checkMappings('orders.lines.fields', orders.lines?.fields, report);
  const { amount, rounding, discount, unit, fields } = orders.lines ?? {};
  if (rounding !== undefined && (amount ?? discount ?? unit ?? orders.total) === undefined)
    report('orders.lines.rounding', 'has no effect without amount, discount, unit or orders.total', {
      hint: 'name the column in orders.lines.amount',
    });
  if (discount !== undefined && amount !== undefined && fields?.price === undefined)
    report('orders.lines.discount', 'has no effect beside amount, which is what is left', { hint: 'leave it out' });
  for (const name of ['sku', 'qty', ...(amount === undefined ? ['price'] : [])])
    requireField('orders.lines.fields', orders.lines?.fields, name, 'every order line has one', report);
  checkSameLength('orders.lines.orderKey', orders.lines?.orderKey, 'orders.key', orders.key, report);
}

/** If orders have several currencies, the service has to be told which, and amounts without one can't be read. */
function checkCurrencies({ amounts, orders = {}, invoices }: Relevant, report: Report): void {
  const { field } = orders.currency ?? {};
  if (field === 'items' || (field !== undefined && orders.fields?.[field] !== undefined))
    report('orders.currency.field', 'names a field that is made already', { found: field });
  if (amounts?.currencies === undefined) return;
  const why = 'amounts.currencies names several';
  requireSetting(orders.currency, 'orders.currency', `a column and a field, because ${why}`, report);
  if (orders.currency !== undefined)
    requireSetting(
      field,
      'orders.currency.field',
      `a field, because ${why} and the service must tell them apart`,
      report,
    );
  if (invoices?.enabled !== false)
    report('invoices.enabled', 'would read amounts of which the service does not say the currency', {
      allowed: `false, because ${why}`,
    });
}

/** @returns settings that are allowed and probably not meant */
export function adviseOrders(orders: OrdersSettings, isGiven: (...path: string[]) => boolean): string[] {
  const isNamed = orders.number !== undefined || orders.fields.note !== undefined;
  return [
    ...adviseCancelled('orders', orders, isGiven),
    ...(isNamed
      ? []
      : [
          'neither orders.number nor orders.fields.note is set: an order at the service does not say which one it is here',
        ]),
  ];
}
