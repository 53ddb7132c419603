import type { FieldMapping } from '../../../config/sections/record-mapping.js';
import type { Settings } from '../../../config/settings.js';
import type { ErpDialect } from '../../../db/erp-database.js';
import type { Entity } from '../../../model/record.js';

/** The settings that a remedy changes, and how their database writes names. */
export interface Mapping extends Pick<Settings, 'erp' | 'customers' | 'orders' | 'amounts'> {
  dialect: Pick<ErpDialect, 'quoteIdentifier' | 'lineComment' | 'asText' | 'fromLatin1'>;
}

interface Place {
  entity: Entity;
  /** Whether the problem is one of an order's lines. */
  isLine: boolean;
  settings: Mapping;
}

/** A kind of problem by its words, and the settings or the SQL that mend it. */
type Remedy = readonly [words: RegExp, remedies: (place: Place, match: RegExpExecArray) => string[]];

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

const remedies: readonly Remedy[] = [
  [
    /^it has no lines/,
    ({ settings }) => [leaveOut(settings, ''), 'or widen orders.lines.query, if it loses lines by a join or a WHERE'],
  ],
  [
    /^its customer .* is not in customers\.query/,
    () => ['customers.query: select every customer that an order may name; look at its WHERE and its joins'],
  ],
  [
    /^it names no customer/,
    ({ settings }) => [
      `orders.pending: ${and(settings, settings.orders.pending, (settings.orders.customerKey ?? []).map((name) => `${quoted(settings, name)} IS NOT NULL`).join(' AND '))}`,
    ],
  ],
  [
    /yields .* rows with this key/,
    ({ entity, settings }) => {
      const { query, key } = entity === 'order' ? settings.orders : settings.customers;
      const names = (key ?? []).map((name) => quoted(settings, name)).join(', ');
      return [
        `find them: SELECT ${names}, COUNT(*) FROM (${inline(query ?? '', settings)}) q GROUP BY ${names} HAVING COUNT(*) > 1`,
        `${entity}s.query: join one row only, with a condition or a subselect`,
      ];
    },
  ],
  [
    /the lines add up to .* the order says/,
    ({ settings }) => [
      'orders.total: name the column that is the sum of the lines (net or gross, with or without shipping)',
      'or orders.lines.query: add what the total has beside the lines, with UNION ALL',
      settings.orders.lines.amount === undefined
        ? 'or orders.lines.amount: the column with the amount of the line, where prices are rounded'
        : 'or leave orders.total out, and nothing compares the two',
    ],
  ],
  [
    /^(?:.* )?(\S+) is not a positive quantity/,
    ({ settings }, [, qty = '']) =>
      Number(qty) === 0
        ? [
            `orders.lines.query: leave out lines of nothing: SELECT l.* FROM (${inline(settings.orders.lines.query, settings)}) l WHERE l.${columnOfField(settings, 'qty')} <> 0`,
          ]
        : [leaveOut(settings, ` AND l.${columnOfField(settings, 'qty')} < 0`, 'NOT ')],
  ],
  [
    /^(\S+) .* is not a whole number/,
    (place, match) => {
      const [, column = ''] = match;
      if (place.isLine && column === columnOfField(place.settings, 'qty', false))
        return [
          'orders.lines.unit: {factor: 1000}, to send 2.5 kg as 2500 g, with orders.lines.rounding: {sku: ROUNDING} for prices below a cent; it changes quantity and price of every line, so that orders that were sent are held for you to confirm',
        ];
      if (isPlainPrice(place, match)) return workOutPrice;
      return [`${fieldPath(place, column)}: type: amount for a decimal, or text`];
    },
  ],
  [
    / has more than .* decimals/,
    (place, match) => {
      if (isPlainPrice(place, match)) return workOutPrice;
      return [
        pricesAreWorkedOut(place.settings)
          ? roundAmounts
          : `${roundAmounts}, together with orders.lines.unit: {factor: 1} and orders.lines.rounding: {sku: ROUNDING}; by itself it rounds the prices of lines too, and changes what the lines come to`,
      ];
    },
  ],
  [
    /^(\S+) has .* characters, more than/,
    (place, [, column = '']) => [`${fieldPath(place, column)}: add cut: "…" beside maxLength`],
  ],
  [
    /^no price comes to/,
    () => ['orders.lines.rounding: {sku: ROUNDING}, a SKU that the service knows for the difference'],
  ],
  [/ does not come to /, () => ['orders.lines.fields: leave price out, where only the amount of the line counts']],
  [/^(\S+) (?:is empty|holds no text|is .* which is no date)/, (place, [, column = '']) => emptyColumn(place, column)],
  [
    /^(\S+) (?:"(NaN|[+-]?Infinity)"|.*) is (?:not a number|not a date|neither yes nor no)/i,
    // PostgreSQL compares a number or a time with no text but one of its own values.
    (place, [, column = '', value = '']) => [
      `${queryPath(place)}: make it one, such as NULLIF(${quoted(place.settings, column)}, '${value}') or a CASE, or map another column`,
    ],
  ],
  [
    /^(\S+) holds bytes that are not text/,
    (place, [, column = '']) => [
      `${queryPath(place)}: decode it in SQL, such as ${place.settings.dialect.fromLatin1(column)}`,
    ],
  ],
  [
    /^The service would refuse it: .*is missing/,
    ({ entity }) => [`${entity}s.fields: map what service.fields demands`],
  ],
  [
    /^The service would refuse it: /,
    ({ entity }) => [`${entity}s.fields: maxLength with cut: "…", as service.fields says`],
  ],
  [/^another record under an old key/, () => ['waybill rekey, if the keys of the ERP have changed']],
];

/** What mends a problem that keeps a record back: settings with their values, or SQL. Empty: its own words say it. Pure. */
export function remediesFor(problem: string, entity: Entity, settings: Mapping): string[] {
  const line = /^line \d+: /.exec(problem)?.[0] ?? '';
  const text = problem.slice(line.length);
  const place = { entity, isLine: line !== '', settings };
  for (const [words, remedy] of remedies) {
    const match = words.exec(text);
    if (match) return remedy(place, match);
  }
  return [];
}

function emptyColumn(place: Place, column: string): string[] {
  const { settings, isLine } = place;
  if (isLine && column === columnOfField(settings, 'sku', false))
    return [
      settings.orders.lines.text === 'skip'
        ? 'orders.lines.text: {sku: TEXT}, a SKU for lines without one'
        : 'orders.lines.text: skip, or a SKU for lines without one: {sku: TEXT}',
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

function columnOfField(settings: Mapping, name: 'qty' | 'sku', isQuoted = true): string {
  const [column = name] = columnsOf(settings.orders.lines.fields[name]);
  return isQuoted ? quoted(settings, column) : column;
}

/** Whether the price of each line is what its amount is divided into. Then rounding never changes a price. */
function pricesAreWorkedOut({ orders: { lines } }: Mapping): boolean {
  return (lines.amount ?? lines.discount ?? lines.unit) !== undefined;
}

/** Whether the problem is one of the price of a line, where the column is sent as it stands. */
function isPlainPrice({ isLine, settings }: Place, { input }: RegExpExecArray): boolean {
  if (!isLine || pricesAreWorkedOut(settings)) return false;
  const problem = input.toLowerCase();
  return columnsOf(settings.orders.lines.fields.price).some((name) => problem.startsWith(`${name.toLowerCase()} `));
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

function queryPath({ entity, isLine }: Place): string {
  return isLine ? 'orders.lines.query' : `${entity}s.query`;
}
