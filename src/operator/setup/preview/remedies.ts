import type { FieldMapping } from '../../../config/sections/record-mapping.js';
import type { Settings } from '../../../config/settings.js';
import { erpDialect } from '../../../db/databases.js';
import type { ErpDialect } from '../../../db/erp-database.js';
import type { Fact } from '../../../model/facts/fact.js';
import type { RowFact } from '../../../model/facts/rows.js';
import type { Entity } from '../../../model/record.js';

/** The settings that a remedy changes, and how their database writes names. */
export interface Mapping extends Pick<Settings, 'erp' | 'customers' | 'orders' | 'amounts'> {
  dialect: Pick<ErpDialect, 'quoteIdentifier' | 'lineComment' | 'asText' | 'fromLatin1'>;
}

interface Place {
  entity: Entity;
  /** True for a problem of one of an order's lines. */
  isLine: boolean;
  settings: Mapping;
}

const roundAmounts = 'amounts.rounding: half-up (or half-even)';

/**
 * For a price with more decimals than are sent. Rounded by itself it would change what the line comes to: 1000 × 0.0049
 * is 4.90, and 1000 × 0.00 is nothing.
 */
const workOutPrice = [
  'orders.lines.amount: the column with the amount of the line, if the ERP has one, with orders.lines.rounding: {sku: ROUNDING}; the price is worked out from it',
  'or orders.lines.unit: {factor: 1}, with orders.lines.rounding: {sku: ROUNDING}; the price is worked out from quantity × price with all decimals',
  `then ${roundAmounts}, if what a line comes to has more decimals too; by itself it changes the amount of the line`,
];

const none = () => [];

/** Settings or SQL that mend each problem of a row; none: its own words say it. */
const remedies: { readonly [Code in RowFact['code']]: (place: Place, fact: RowFact & { code: Code }) => string[] } = {
  value_missing: (place, { columns: [first] }) => (first === undefined ? [] : emptyColumn(place, first.column)),
  currency_missing: (place, { column }) => emptyColumn(place, column),
  not_text: (place, { column }) => [
    `${queryPath(place)}: decode it in SQL, such as ${place.settings.dialect.fromLatin1(column)}`,
  ],
  not_a_number: unreadable,
  not_a_date: unreadable,
  neither_yes_nor_no: unreadable,
  not_whole: (place, { column }) => {
    if (place.isLine && column === columnOfField(place.settings, 'qty', false))
      return [
        'orders.lines.unit: {factor: 1000}, to send 2.5 kg as 2500 g, with orders.lines.rounding: {sku: ROUNDING} for prices below a cent; it changes quantity and price of every line, so that orders that were sent are held for you to confirm',
      ];
    if (isPlainPrice(place, column)) return workOutPrice;
    return [`${fieldPath(place, column)}: type: amount for a decimal, or text`];
  },
  too_many_decimals: (place, { column }) =>
    isPlainPrice(place, column) ? workOutPrice : roundedAmounts(place.settings),
  product_too_many_decimals: ({ settings }) => roundedAmounts(settings),
  number_too_large: none,
  product_too_large: none,
  lines_too_large: none,
  code_without_word: none,
  text_too_long: (place, { column }) => [`${fieldPath(place, column)}: add cut: "…" beside maxLength`],
  name_too_long: none,
  unit_without_factor: none,
  quantity_not_whole: none,
  quantity_not_positive: ({ settings }, { isZero }) =>
    isZero
      ? [
          `orders.lines.query: leave out lines of nothing: SELECT l.* FROM (${inline(settings.orders.lines.query, settings)}) l WHERE l.${columnOfField(settings, 'qty')} <> 0`,
        ]
      : [leaveOut(settings, ` AND l.${columnOfField(settings, 'qty')} < 0`, 'NOT ')],
  discount_out_of_range: none,
  price_differs: () => ['orders.lines.fields: leave price out, where only the amount of the line counts'],
  no_price_for_amount: () => [
    'orders.lines.rounding: {sku: ROUNDING}, a SKU that the service knows for the difference',
  ],
  currency_not_listed: none,
  customer_not_named: ({ settings }, { columns }) => [
    'customers.query: take guests from the order\'s own columns, with UNION ALL, and name them in orders.query: docs/mapping.md, "Guests"',
    `or orders.pending: ${and(settings, settings.orders.pending, columns.map((name) => `${quoted(settings, name)} IS NOT NULL`).join(' AND '))}; such orders are then never sent`,
  ],
  customer_not_found: () => [
    'customers.query: select every customer that an order may name; look at its WHERE and its joins',
  ],
  customer_not_sendable: none,
  no_lines: ({ settings }) => [
    leaveOut(settings, ''),
    'or widen orders.lines.query, if it loses lines by a join or a WHERE',
  ],
  lines_total_differs: otherTotal,
  lines_may_follow: none,
  key_repeated: ({ entity, settings }) => {
    const { query, key } = entity === 'order' ? settings.orders : settings.customers;
    const names = (key ?? []).map((name) => quoted(settings, name)).join(', ');
    return [
      `find them: SELECT ${names}, COUNT(*) FROM (${inline(query ?? '', settings)}) q GROUP BY ${names} HAVING COUNT(*) > 1`,
      `${entity}s.query: join one row only, with a condition or a subselect`,
    ];
  },
  key_empty: none,
  key_ambiguous: none,
  field_required: (place) => [`${fieldsPath(place)}: map what service.fields demands`],
  field_too_long: (place) => [`${fieldsPath(place)}: maxLength with cut: "…", as service.fields says`],
  body_too_large: none,
  several_problems: ({ entity, settings }, { problems }) => [
    ...new Set(problems.flatMap((problem) => remediesFor(problem, entity, settings))),
  ],
};

/** The settings of an ERP for `remediesFor`. */
export async function remedyMapping(settings: Omit<Mapping, 'dialect'>): Promise<Mapping> {
  return { ...settings, dialect: await erpDialect(settings.erp.type) };
}

/** Settings with their values, or SQL, that mend a reason that keeps a record back. Empty: its own words say it. Pure. */
export function remediesFor(fact: Fact, entity: Entity, settings: Mapping): string[] {
  if (fact.code === 'key_reused') return ['waybill rekey, if the keys of the ERP have changed'];
  const remedy = Object.hasOwn(remedies, fact.code) ? remedies[fact.code as RowFact['code']] : none;
  const place = { entity, isLine: 'line' in fact && fact.line !== undefined, settings };
  return (remedy as (place: Place, fact: Fact) => string[])(place, fact);
}

/** A value that is no number, date or truth value. */
function unreadable(place: Place, { column, special = '' }: { column: string; special?: string }): string[] {
  const name = quoted(place.settings, column);
  // PostgreSQL compares a number or a time with no text but one of its own values.
  return [`${queryPath(place)}: make it one, such as NULLIF(${name}, '${special}') or a CASE, or map another column`];
}

function roundedAmounts(settings: Mapping): string[] {
  return [
    pricesAreWorkedOut(settings)
      ? roundAmounts
      : `${roundAmounts}, together with orders.lines.unit: {factor: 1} and orders.lines.rounding: {sku: ROUNDING}; by itself it rounds the prices of lines too, and changes what the lines come to`,
  ];
}

/** A sum of the lines that is not the order's total: by cents of rounding, by what only one of them has, or by another meaning. */
function otherTotal({ settings }: Place, { found, expected }: RowFact & { code: 'lines_total_differs' }): string[] {
  const { lines, query } = settings.orders;
  const more = BigInt(expected) - BigInt(found);
  const isSmall = more <= mostOfRounding && more >= -mostOfRounding;
  const named = [...lines.orderKey, ...(lines.sortBy ?? []), ...Object.values(lines.fields).flatMap(columnsOf)];
  const ofLines = [lines.amount, lines.discount?.column, lines.unit && 'column' in lines.unit && lines.unit.column];
  const columns = [...new Set([...named, ...ofLines.filter((name) => typeof name === 'string')])];
  const amounts = [...columnsOf(lines.fields.price), ...(lines.amount === undefined ? [] : [lines.amount])];
  const value = (name: string): string => {
    const at = lines.orderKey.indexOf(name);
    if (at >= 0) return `o.${quoted(settings, settings.orders.key[at] ?? '')}`;
    if (columnsOf(lines.fields.sku)[0] === name) return "'FREIGHT'";
    if (columnsOf(lines.fields.qty)[0] === name) return '1';
    return amounts.includes(name) ? 'o.FREIGHT_COLUMN' : 'NULL';
  };
  const own = columns.map((name) => `l.${quoted(settings, name)}`).join(', ');
  const price = columnOfField(settings, 'price');
  const added = `SELECT ${columns.map(value).join(', ')} FROM (${inline(query, settings)}) o WHERE o.FREIGHT_COLUMN <> 0`;
  return [
    ...(isSmall && lines.rounding === undefined
      ? [
          'orders.lines.rounding: {sku: ROUNDING}, a SKU that the service knows: up to half a cent for each line goes into a line of its own',
        ]
      : []),
    'orders.total: the column that is the sum of the lines (net or gross, with or without freight)',
    `or orders.lines.query: SELECT ${own} FROM (${inline(lines.query, settings)}) l UNION ALL ${added}; a line for what the total has beside the lines, such as freight, tax or a discount (below 0)`,
    ...(more < 0n
      ? [
          `or, where prices include a tax that the total does not: orders.lines.query with the net price, such as ${price} / (1 + RATE / 100.0) AS ${price}, orders.lines.unit: {factor: 1}, orders.lines.rounding: {sku: ROUNDING} and amounts.rounding: half-up`,
        ]
      : []),
    'or leave orders.total out, and nothing checks the amounts',
  ];
}

/** The most minor units that rounding the lines of an order one by one usually comes to. */
const mostOfRounding = 10n;

function emptyColumn(place: Place, column: string): string[] {
  const { settings, isLine } = place;
  if (isLine && column === columnOfField(settings, 'sku', false))
    return [
      'orders.lines.text: {sku: TEXT}, a SKU that the service knows for every line without one',
      ...(settings.orders.lines.text === 'skip'
        ? []
        : ['or orders.lines.text: skip, which leaves out those without a price']),
    ];
  const other = `${fieldPath(place, column)}: [${column}, OTHER_COLUMN], to take the first that is not empty`;
  if (isLine) return [other];
  const name = quoted(settings, column);
  const condition = `${settings.dialect.asText(name)} <> ''`;
  return [
    other,
    `or ${place.entity}s.pending: ${and(settings, (place.entity === 'order' ? settings.orders : settings.customers).pending, condition)}`,
  ];
}

/** A condition that leaves out orders by their lines; `negation` those that have such a line. */
function leaveOut(settings: Mapping, condition: string, negation: 'NOT ' | '' = ''): string {
  const { key, pending, lines } = settings.orders;
  const same = key.map((name, at) => `l.${quoted(settings, lines.orderKey[at] ?? '')} = q.${quoted(settings, name)}`);
  const ofOrder = `SELECT 1 FROM (${inline(lines.query, settings)}) l WHERE ${same.join(' AND ')}${condition}`;
  return `orders.pending: ${and(settings, pending, `${negation}EXISTS (${ofOrder})`)}`;
}

function and(settings: Mapping, pending: string | undefined, condition: string): string {
  return pending === undefined ? condition : `(${inline(pending, settings)}) AND ${condition}`;
}

/** A query or condition on one line, without the comments that would swallow what comes behind them. */
function inline(sql: string, { dialect }: Pick<Mapping, 'dialect'>): string {
  const between = `(?:${dialect.lineComment}|/\\*[\\s\\S]*?\\*/|\\s)+`;
  const parts = new RegExp(`('(?:[^']|'')*'|"[^"]*"|\`[^\`]*\`)|${between}`, 'g');
  return sql
    .replace(parts, (_part, text?: string) => text ?? ' ')
    .replace(/[;\s]+$/, '')
    .trim();
}

function quoted({ dialect }: Mapping, name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : dialect.quoteIdentifier(name);
}

function columnOfField(settings: Mapping, name: 'qty' | 'sku' | 'price', isQuoted = true): string {
  const [column = name] = columnsOf(settings.orders.lines.fields[name]);
  return isQuoted ? quoted(settings, column) : column;
}

/** True if the price of each line is what its amount is divided into. Then rounding never changes a price. */
function pricesAreWorkedOut({ orders: { lines } }: Mapping): boolean {
  return (lines.amount ?? lines.discount ?? lines.unit) !== undefined;
}

/** True if the column is the price of a line, and is sent as it stands. */
function isPlainPrice({ isLine, settings }: Place, column: string): boolean {
  if (!isLine || pricesAreWorkedOut(settings)) return false;
  const own = column.toLowerCase();
  return columnsOf(settings.orders.lines.fields.price).some((name) => name.toLowerCase() === own);
}

function columnsOf(mapping: FieldMapping | undefined): string[] {
  if (mapping === undefined) return [];
  const column = typeof mapping === 'string' || Array.isArray(mapping) ? mapping : mapping.column;
  return column === undefined ? [] : [column].flat();
}

/** The setting of the field that is made from this column. */
function fieldPath({ entity, isLine, settings }: Place, column: string): string {
  const { orders, customers } = settings;
  const [path, fields] = isLine
    ? (['orders.lines.fields', orders.lines.fields] as const)
    : ([`${entity}s.fields`, (entity === 'order' ? orders.fields : customers.fields) ?? {}] as const);
  const name = Object.keys(fields).find((one) => columnsOf(fields[one]).includes(column));
  return name === undefined ? path : `${path}.${name}`;
}

function fieldsPath({ entity, isLine }: Place): string {
  return isLine ? 'orders.lines.fields' : `${entity}s.fields`;
}

function queryPath({ entity, isLine }: Place): string {
  return isLine ? 'orders.lines.query' : `${entity}s.query`;
}
