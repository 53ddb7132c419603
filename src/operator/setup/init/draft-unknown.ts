import type { ErpDialect } from '../../../db/erp-database.js';
import { type Catalogue, type CatalogueColumn, type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import type { Money } from './choose-money.js';
import type { TableTriple } from './choose-tables.js';
import type { CurrencySource } from './currency-sources.js';
import type { Draft, FieldDraft, Pending } from './draft.js';
import { candidates, type GivenColumns } from './find-columns.js';
import { keysOf } from './find-links.js';
import { exactSql, moneySql } from './money-choices.js';
import { type ColumnRole, numberingPart } from './words.js';

/** A person's choices for an unknown schema. */
export interface Chosen {
  money: Money;
  /** The column that people know an order by. */
  number: string;
  status: string | undefined;
  currency: CurrencySource | null;
  /** Null while the question is open. */
  pending: Pending | null;
  /** The columns of the orders that tell which ones may be sent. */
  told: readonly string[];
}

/** The draft of an unknown schema: what a person chose, and what only adds to it. */
export function draftUnknown(
  catalogue: Catalogue,
  triple: TableTriple,
  given: GivenColumns,
  dialect: ErpDialect,
  { money, number, status, currency, pending, told }: Chosen,
): Draft {
  const { orders, lines, customers, lineLink, customerLink } = triple;
  const pick = (table: CatalogueTable, role: ColumnRole) => candidates(table, role, given)[0];
  const quote = dialect.quoteIdentifier;
  const column = (alias: string, { name }: Pick<CatalogueColumn, 'name'>) => `${alias}.${quote(name)}`;
  const selected = (alias: string, names: readonly (string | undefined)[]) =>
    [...new Set(names.filter((name) => name !== undefined))].map((name) => column(alias, { name }));
  const from = (table: CatalogueTable, alias: string) => `FROM ${tableSql(dialect, table)} ${alias}`;

  const name = pick(customers, 'customer.name');
  const code = pick(customers, 'customer.code')?.name ?? customerLink.referenced[0] ?? '';
  const details = (['email', 'phone', 'street', 'postcode', 'city', 'country'] as const).flatMap((field) => {
    const found = pick(customers, `customer.${field}`);
    return found === undefined || found.name === name?.name || found.name === code
      ? []
      : [[field, found.name] as const];
  });
  const customerChanged = pick(customers, 'customer.changedAt')?.name;
  const customerFields: Record<string, FieldDraft> = {
    customer_code: code,
    ...(name && { name: { column: name.name, trim: true, ...(name.nullable && { optional: true }) } }),
    ...Object.fromEntries(details.map(([field, found]) => [field, { column: found, trim: true, optional: true }])),
  };

  const orderKey = lineLink.referenced;
  const keyNumber = numberingPart(orderKey);
  const changedAt = pick(orders, 'order.changedAt')?.name;
  const created = pick(orders, 'order.created')?.name;
  const { total, way } = money;
  const totalSql = total && moneySql(dialect, 'o', total, money.unit);
  const isPlain = total && totalSql === column('o', total);
  const ownColumns = [
    ...[...orderKey, ...customerLink.columns, number],
    ...[status, created, changedAt, ...told],
    isPlain ? total.name : undefined,
  ];
  const totalName = total && (isPlain ? total.name : freeName(total.name, ownColumns));
  const currencyName = currency && freeName('currency', [...ownColumns, totalName]);
  const orderColumns = [
    ...selected('o', ownColumns),
    ...(totalName && !isPlain ? [`${totalSql} AS ${quote(totalName)}`] : []),
    ...(currency && currencyName ? [`${currency.sql} AS ${currencyName}`] : []),
  ];

  const sku = skuOf(catalogue, triple, given);
  const position = pick(lines, 'line.position')?.name;
  const keyOfLines = lines.primaryKey.length > 0 ? lines.primaryKey : lineLink.columns;
  const sortBy = position ? [position] : keyOfLines;
  const ownLineColumns = [...lineLink.columns, ...sortBy];
  const lineNames = {
    ...{ sku: freeName('sku', ownLineColumns), qty: freeName('qty', ownLineColumns) },
    ...{ price: freeName('price', ownLineColumns), amount: freeName('amount', ownLineColumns) },
  };
  const lineColumns = [
    ...selected('l', ownLineColumns),
    `${sku === null ? 'NULL' : column(sku.link ? 'p' : 'l', { name: sku.column })} AS ${lineNames.sku}`,
    // Nothing is written while a question is open: the draft only leads to the next ones.
    `${money.qty === null ? 'NULL' : exactSql(dialect, 'l', money.qty)} AS ${lineNames.qty}`,
    ...(way?.price ? [`${way.price} AS ${lineNames.price}`] : []),
    ...(way?.amount ? [`${way.amount} AS ${lineNames.amount}`] : []),
  ];
  const productJoin =
    sku?.link === undefined
      ? ''
      : `\nLEFT JOIN ${tableSql(dialect, sku.table)} p ON ${sku.link.columns
          .map((own, at) => `${column('p', { name: sku.link?.referenced[at] ?? '' })} = ${column('l', { name: own })}`)
          .join(' AND ')}`;

  return {
    title: `${nameOf(orders)}, ${nameOf(lines)} and ${nameOf(customers)}`,
    tables: [
      ...new Set([
        customers,
        orders,
        lines,
        ...(sku?.link ? [sku.table] : []),
        ...(currency?.table ? [currency.table] : []),
      ]),
    ],
    customers: {
      query: `SELECT ${selected('c', [...customerLink.referenced, code, name?.name, ...details.map(([, one]) => one), customerChanged]).join(', ')}\n${from(customers, 'c')}`,
      key: customerLink.referenced,
      changedAt: customerChanged,
      fields: customerFields,
    },
    orders: {
      query: `SELECT ${orderColumns.join(', ')}\n${from(orders, 'o')}${currency?.join ?? ''}`,
      key: orderKey,
      changedAt,
      customerKey: customerLink.columns,
      number,
      total: totalName ?? undefined,
      startColumn: created ?? keyNumber ?? number,
      startsByKey: created === undefined,
      status,
      currency: currencyName ?? undefined,
      currencyColumn: currency?.label,
      asked: { pending },
      fields: {},
    },
    lines: {
      query: `SELECT ${lineColumns.join(', ')}\n${from(lines, 'l')}${productJoin}${money.lineFilter === null ? '' : `\nWHERE ${money.lineFilter}`}`,
      orderKey: lineLink.columns,
      sortBy,
      fields: { sku: lineNames.sku, qty: lineNames.qty, ...(way?.price && { price: lineNames.price }) },
      ...(way?.amount && { amount: lineNames.amount }),
    },
    comments: {
      ...(changedAt
        ? {}
        : { 'orders.key': 'No column says when an order changed: only sweeps find changes (capture.sweepMinutes).' }),
      ...(way && { 'orders.lines.fields': `${way.words}.` }),
      ...(total === null && { 'orders.number': 'No orders.total: nothing checks the amounts.' }),
    },
  };
}

/** A name for what is worked out, which no column beside it has: no query may yield a name twice. */
function freeName(name: string, taken: readonly (string | null | undefined)[]): string {
  const isTaken = taken.some((one) => one?.toLowerCase() === name.toLowerCase());
  return isTaken ? freeName(`${name}_sent`, taken) : name;
}

/** The column that names a product: of the line, or of the table that the line points to; null: none is called so. */
export function skuOf({ tables }: Catalogue, { lines, orders, customers }: TableTriple, given: GivenColumns) {
  const [own] = candidates(lines, 'line.sku', given);
  const products = lines.foreignKeys
    .filter(({ table }) => table !== nameOf(orders) && table !== nameOf(customers))
    .flatMap((link) => tables.filter((table) => nameOf(table) === link.table).map((table) => ({ table, link })))
    .flatMap(({ table, link }) =>
      candidates(table, 'line.sku', given)
        .slice(0, 1)
        .map(({ name: column }) => ({ table, link, column })),
    );
  const isKey = (name: string) =>
    products.some(({ link }) => link.columns.includes(name) && !link.referenced.includes(name));
  if (own !== undefined && !isKey(own.name)) return { table: lines, link: undefined, column: own.name };
  const [product] = products;
  if (product !== undefined) return product;
  // Without declared keys: `article_id` and a table of articles.
  for (const table of tables) {
    if ([lines, orders, customers].includes(table)) continue;
    const [sku] = candidates(table, 'line.sku', given);
    if (sku === undefined) continue;
    for (const [key, ...more] of keysOf(table)) {
      const shared = lines.columns.find(({ name }) => name === key && !lines.primaryKey.includes(name));
      if (key !== undefined && more.length === 0 && shared && !/^(id|name|code)$/i.test(key))
        return { table, link: { columns: [key], referenced: [key] }, column: sku.name };
    }
  }
  return own === undefined ? null : { table: lines, link: undefined, column: own.name };
}
