import type { ErpDialect } from '../../../db/erp-database.js';
import { type CatalogueColumn, type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import { allConditions, closedOff } from './compose-settings.js';
import type { CurrencySource } from './currency-sources.js';
import type { Draft, FieldDraft } from './draft.js';
import { keySql, type Link } from './links.js';
import { exactSql, type MoneyUnit, type MoneyWay, moneySql } from './money.js';
import { columnCalled } from './row-choices.js';
import { isBytes } from './table-facts.js';

/** A person's choices in the table of the orders. `none` stands for no column. */
export interface OrdersChoice {
  number: string | undefined;
  created: string | undefined;
  changedAt: string | undefined;
  status: string | undefined;
  /** The column from which the first order is told. */
  startColumn: string | undefined;
  sent: 'all' | readonly string[];
  cancelled: readonly string[];
  completed: readonly string[];
  onDeleted: 'nothing' | 'delete';
  /** Nothing of it is open. */
  isWhole: boolean;
}

/** The place of a line's SKU: a column of the lines, or of a table that a column of the lines leads to. Null: nowhere. */
export type SkuChoice = { column: string; via: { link: Link; table: CatalogueTable } | null } | null;

export interface LinesChoice {
  link: Link | undefined;
  sku: SkuChoice | undefined;
  position: string | undefined;
  isWhole: boolean;
}

export interface CustomerChoice {
  link: Link;
  code: string;
  /** Joined with blanks; none: no name is sent. */
  name: readonly string[];
  fields: Readonly<Record<string, readonly string[]>>;
  guests: 'wait' | 'leave-out' | 'none';
}

/** The money of an order, as a person chose it. */
export interface MoneyChoice {
  qty: CatalogueColumn;
  way: MoneyWay;
  unit: MoneyUnit;
  /** The total that each order is checked against; null: nothing checks the amounts. */
  total: CatalogueColumn | null;
  /** Condition on the lines as `l`; with `o` for their order where `joinsOrder` says so. */
  lineFilter: string | null;
  joinsOrder: boolean;
  currency: CurrencySource | null;
}

export interface Choices {
  orders: CatalogueTable;
  lines: CatalogueTable;
  customers: CatalogueTable;
  order: OrdersChoice;
  line: LinesChoice;
  customer: CustomerChoice;
  money: MoneyChoice;
  marks: MarksChoice;
}

/** Which orders are sent. */
export interface MarksChoice {
  condition: string;
  /** The columns of the orders, and other tables, that it names. */
  columns: readonly string[];
  tables: readonly CatalogueTable[];
  isWritten: boolean;
}

/** The draft of an unknown schema: what a person chose, and the keys. Pure. */
export function composeDraft(dialect: ErpDialect, choices: Choices): Draft {
  const { orders, lines, customers, order, line, customer, money, marks } = choices;
  const { link = { columns: [], referenced: [] }, sku } = line;
  const quote = dialect.quoteIdentifier;
  const from = (table: CatalogueTable, alias: string) => `FROM ${tableSql(dialect, table)} ${alias}`;
  const chosen = (name: string | undefined) => (name === undefined || name === 'none' ? undefined : name);
  /** A column as the query yields it: bytes as hexadecimal digits. */
  const selected = (alias: string, table: CatalogueTable, names: readonly (string | undefined)[]) =>
    [...new Set(names.filter((name) => name !== undefined))].map((name) => {
      const column = columnCalled(table, name);
      return column !== undefined && isBytes(column)
        ? `${keySql(dialect, table, name, `${alias}.`)} AS ${quote(name)}`
        : `${alias}.${quote(name)}`;
    });

  const status = chosen(order.status);
  const created = chosen(order.created);
  const changedAt = chosen(order.changedAt);
  const { total, way } = money;
  const totalSql = total && moneySql(dialect, 'o', total, money.unit);
  const isPlain = total !== null && totalSql === `o.${quote(total.name)}`;
  const isWord = status !== undefined && isEnum(dialect, columnCalled(orders, status));
  const ownColumns = [
    ...[...link.referenced, ...customer.link.columns, order.number],
    ...[order.startColumn, created, changedAt, ...marks.columns.filter((name) => !isWord || name !== status)],
    ...(isWord ? [] : [status]),
    isPlain ? total.name : undefined,
  ];
  const totalName = total && (isPlain ? total.name : freeName(total.name, ownColumns));
  const currencyName = money.currency && freeName('currency', [...ownColumns, status, totalName]);
  const orderColumns = [
    ...selected('o', orders, ownColumns),
    // PostgreSQL compares an ENUM with its own words only.
    ...(isWord && status ? [`${dialect.asText(`o.${quote(status)}`)} AS ${quote(status)}`] : []),
    ...(totalName && !isPlain ? [`${totalSql} AS ${quote(totalName)}`] : []),
    ...(money.currency && currencyName ? [`${money.currency.sql} AS ${currencyName}`] : []),
  ];
  const condition = whichOrders(choices, quote);
  const mark = (values: readonly string[]) => {
    if (status === undefined || values.length === 0) return undefined;
    const isNumber = columnCalled(orders, status)?.kind === 'number';
    return { column: status, values: values.map((one) => (isNumber ? Number(one) : one)) };
  };

  const keyOfLines = [
    lines.primaryKey,
    ...lines.indexes.filter(({ isUnique }) => isUnique).map(({ columns }) => columns),
    link.columns,
  ];
  const sortBy = line.position ? [line.position] : (keyOfLines.find((key) => key.length > 0) ?? link.columns);
  const ownLineColumns = [...link.columns, ...sortBy];
  const lineNames = {
    ...{ sku: freeName('sku', ownLineColumns), qty: freeName('qty', ownLineColumns) },
    ...{ price: freeName('price', ownLineColumns), amount: freeName('amount', ownLineColumns) },
    discount: freeName('discount', ownLineColumns),
  };
  const skuSql = sku ? `${sku.via ? 'p' : 'l'}.${quote(sku.column)}` : 'NULL';
  const lineColumns = [
    ...selected('l', lines, ownLineColumns),
    `${skuSql} AS ${lineNames.sku}`,
    `${exactSql(dialect, 'l', money.qty)} AS ${lineNames.qty}`,
    ...(way.price ? [`${way.price} AS ${lineNames.price}`] : []),
    ...(way.amount ? [`${way.amount} AS ${lineNames.amount}`] : []),
    ...(way.discount ? [`${way.discount.sql} AS ${lineNames.discount}`] : []),
  ];
  const join = (table: CatalogueTable, alias: string, own: readonly string[], there: readonly string[]) =>
    `${tableSql(dialect, table)} ${alias} ON ${own.map((name, at) => `${alias}.${quote(there[at] ?? '')} = l.${quote(name)}`).join(' AND ')}`;
  const orderJoin = money.joinsOrder ? `\nJOIN ${join(orders, 'o', link.columns, link.referenced)}` : '';
  const productJoin = sku?.via
    ? `\nLEFT JOIN ${join(sku.via.table, 'p', sku.via.link.columns, sku.via.link.referenced)}`
    : '';

  return {
    title: [orders, lines, customers].map(nameOf).reduce((a, b, at) => `${a}${at === 2 ? ' and ' : ', '}${b}`),
    tables: [
      ...new Set([
        ...[customers, orders, lines, ...marks.tables],
        ...(sku?.via ? [sku.via.table] : []),
        ...(money.currency?.table ? [money.currency.table] : []),
      ]),
    ],
    customers: customersDraft(dialect, customers, customer, selected),
    orders: {
      query: `SELECT ${orderColumns.join(', ')}\n${from(orders, 'o')}${money.currency?.join ?? ''}`,
      key: link.referenced,
      changedAt,
      customerKey: customer.link.columns,
      number: order.number,
      total: totalName ?? undefined,
      startColumn: order.startColumn ?? '',
      startsByKey: created === undefined,
      status,
      currency: currencyName ?? undefined,
      asked: { pending: { condition, isWritten: marks.isWritten } },
      cancelled: mark(order.cancelled),
      completed: mark(order.completed),
      onDeleted: order.onDeleted,
      fields: {},
    },
    lines: {
      query: `SELECT ${lineColumns.join(', ')}\n${from(lines, 'l')}${orderJoin}${productJoin}${money.lineFilter === null ? '' : `\nWHERE ${money.lineFilter}`}`,
      orderKey: link.columns,
      sortBy,
      fields: { sku: lineNames.sku, qty: lineNames.qty, ...(way.price && { price: lineNames.price }) },
      ...(way.amount && { amount: lineNames.amount }),
      ...(way.discount && { discount: { column: lineNames.discount, type: way.discount.unit } }),
    },
    comments: {
      ...(changedAt
        ? {}
        : { 'orders.key': 'No column says when an order changed: only sweeps find changes (capture.sweepMinutes).' }),
      ...(total === null && { 'orders.number': 'No orders.total: nothing checks the amounts.' }),
      ...(way.discount && {
        'amounts.rounding': 'Only what the discount leaves of a line is rounded, once: its price is not.',
      }),
    },
  };
}

/** Which orders may be sent, and without those that have no customer if a person said so. */
function whichOrders({ customer, marks }: Choices, quote: (name: string) => string): string {
  const without =
    customer.guests === 'leave-out' ? customer.link.columns.map((name) => `${quote(name)} IS NOT NULL`) : [];
  if (marks.condition === 'all') return allConditions(without) ?? 'all';
  const written = marks.isWritten && without.length > 0 ? closedOff(marks.condition) : marks.condition;
  return allConditions([written, ...without]) ?? 'all';
}

type Selected = (alias: string, table: CatalogueTable, names: readonly (string | undefined)[]) => string[];

function customersDraft(
  dialect: ErpDialect,
  table: CatalogueTable,
  { link, code, name, fields }: CustomerChoice,
  selected: Selected,
): Draft['customers'] {
  const { changedAt = [], ...details } = fields;
  const plain = [...link.referenced, code, ...changedAt.slice(0, 1)];
  const columns = selected('c', table, plain);
  const taken = [...plain];
  /** The field from one column, or from several joined with blanks. */
  const fieldOf = (field: string, names: readonly string[], isOptional: boolean): FieldDraft => {
    const [first = '', ...more] = names;
    const quoted = names.map((one) => `c.${dialect.quoteIdentifier(one)}`);
    const column = more.length === 0 ? first : freeName(field, [...taken, ...table.columns.map(({ name }) => name)]);
    if (more.length > 0) columns.push(`${dialect.joinTexts(quoted)} AS ${column}`);
    else if (!taken.includes(column)) columns.push(...selected('c', table, [column]));
    taken.push(column);
    return { column, trim: true, ...(isOptional && { optional: true }) };
  };
  const isNullable = name.length > 1 || (columnCalled(table, name[0] ?? '')?.nullable ?? true);
  return {
    key: link.referenced,
    changedAt: changedAt[0],
    fields: {
      customer_code: code,
      ...(name.length > 0 && { name: fieldOf('name', name, isNullable) }),
      ...Object.fromEntries(
        Object.entries(details).flatMap(([field, names]) =>
          names.length === 0 ? [] : [[field, fieldOf(field, names, true)]],
        ),
      ),
    },
    query: `SELECT ${columns.join(', ')}\nFROM ${tableSql(dialect, table)} c`,
  };
}

/** An enumeration of PostgreSQL, whatever its name is. */
const isEnum = (dialect: ErpDialect, column: CatalogueColumn | undefined) =>
  column?.kind === 'text' &&
  dialect.asText('x') !== 'x' &&
  !/^(text|char|character|varchar|bpchar|name|citext)(?![a-z_])/i.test(column.type);

/** A name for what is worked out, which no column beside it has: no query may yield a name twice. */
function freeName(name: string, taken: readonly (string | null | undefined)[]): string {
  const isTaken = taken.some((one) => one?.toLowerCase() === name.toLowerCase());
  return isTaken ? freeName(`${name}_sent`, taken) : name;
}
