import { type Catalogue, type CatalogueColumn, type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import type { ErpDialect } from '../../../erp/erp-database.js';
import type { Draft, FieldDraft } from './draft.js';
import { candidates, type GivenColumns } from './find-columns.js';
import { keysOf } from './find-links.js';
import type { TableTriple } from './find-tables.js';
import { InitError } from './interview.js';
import { exactSql, type MoneyChoice, type MoneyUnit, moneySql } from './money-choices.js';
import { type ColumnRole, fold, numberingPart, saysCurrency } from './words.js';

/** The draft of an unknown schema, with one way to take its money. */
export function draftUnknown(
  catalogue: Catalogue,
  triple: TableTriple,
  money: MoneyChoice,
  given: GivenColumns,
  dialect: ErpDialect,
  unit: MoneyUnit,
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
  const number = pick(orders, 'order.number')?.name ?? keyNumber;
  if (number === undefined)
    throw new InitError(
      `${nameOf(orders)} has no column that is called like the number of an order. Name it: --column order.number=NAME (${orderKey.join(', ')})`,
    );
  const status = pick(orders, 'order.status')?.name;
  const changedAt = pick(orders, 'order.changedAt')?.name;
  const created = pick(orders, 'order.created')?.name;
  const company = pick(orders, 'order.company')?.name;
  const currency = currencyOf(catalogue, triple, given, dialect);
  const total = orders.columns.find((one) => one.name === money.total);
  const totalSql = total && moneySql(dialect, 'o', total, unit);
  const isPlain = total && totalSql === column('o', total);
  // A currency that only a number tells, or a second one, has to be told apart by hand.
  const unresolved = orders.columns.filter(
    (one) => saysCurrency(one.name) && !isOfMoney(one) && !currency?.columns.includes(one.name),
  );
  // Part of a key may tell documents apart; a key of one column tells every row apart.
  const told = [status, ...(orderKey.length === 1 ? orderKey : [])];
  const marks = [...new Set([...candidates(orders, 'order.mark', given), ...unresolved].map((one) => one.name))].filter(
    (one) => !told.includes(one),
  );
  const ownColumns = [
    ...[...orderKey, ...customerLink.columns, number],
    ...[status, created, changedAt, company, ...marks],
    isPlain ? total.name : undefined,
  ];
  const read = [...ownColumns, total?.name, ...(currency?.columns ?? [])];
  const totalName = total && (isPlain ? total.name : freeName(total.name, ownColumns));
  const currencyName = currency && freeName('currency', [...ownColumns, totalName]);
  const orderColumns = [
    ...selected('o', ownColumns),
    ...(totalName && !isPlain ? [`${totalSql} AS ${quote(totalName)}`] : []),
    ...(currency && currencyName ? [`${currency.sql} AS ${currencyName}`] : []),
  ];

  const qty = pick(lines, 'line.qty');
  const sku = skuOf(catalogue, triple, given);
  if (qty === undefined)
    throw new InitError(`${nameOf(lines)} has no column for quantities; name it: --column line.qty=NAME`);
  const position = pick(lines, 'line.position')?.name;
  const sortBy = position ? [position] : lines.primaryKey.length > 0 ? lines.primaryKey : lineLink.columns;
  const ownLineColumns = [...lineLink.columns, ...sortBy];
  const lineNames = {
    ...{ sku: freeName('sku', ownLineColumns), qty: freeName('qty', ownLineColumns) },
    ...{ price: freeName('price', ownLineColumns), amount: freeName('amount', ownLineColumns) },
  };
  const lineColumns = [
    ...selected('l', ownLineColumns),
    `${sku === null ? 'NULL' : column(sku.link ? 'p' : 'l', { name: sku.column })} AS ${lineNames.sku}`,
    `${exactSql(dialect, 'l', qty)} AS ${lineNames.qty}`,
    ...(money.price === null ? [] : [`${money.price} AS ${lineNames.price}`]),
    ...(money.amount === null ? [] : [`${money.amount} AS ${lineNames.amount}`]),
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
      currencyByValues: currency?.columns.find((name) => !saysCurrency(name)),
      marks,
      company,
      aside: {
        table: tableSql(dialect, orders),
        columns: orders.columns.filter((one) => mayMark(one) && !read.includes(one.name)).map((one) => one.name),
      },
      fields: {},
    },
    lines: {
      query: `SELECT ${lineColumns.join(', ')}\n${from(lines, 'l')}${productJoin}`,
      orderKey: lineLink.columns,
      sortBy,
      fields: { sku: lineNames.sku, qty: lineNames.qty, ...(money.price !== null && { price: lineNames.price }) },
      ...(money.amount !== null && { amount: lineNames.amount }),
    },
    comments: {
      ...(changedAt
        ? {}
        : { 'orders.key': 'No column says when an order changed: only sweeps find changes (capture.sweepMinutes).' }),
      'orders.lines.fields': `${money.words}.`,
    },
  };
}

/** A name for what is worked out, which no column beside it has: no query may yield a name twice. */
function freeName(name: string, taken: readonly (string | null | undefined)[]): string {
  const isTaken = taken.some((one) => one?.toLowerCase() === name.toLowerCase());
  return isTaken ? freeName(`${name}_sent`, taken) : name;
}

const mayMark = ({ kind, isFloat }: CatalogueColumn) => !isFloat && ['text', 'number', 'other'].includes(kind);

/** An exchange rate, its date or an amount in another currency, which tell no currency. */
const isOfMoney = ({ name, type, kind, isFloat }: CatalogueColumn) =>
  isFloat ||
  kind === 'time' ||
  kind === 'date' ||
  (kind === 'number' && /\(\d+, *[1-9]\d*\)/.test(type)) ||
  /rate|kurs|cours|factor|faktor|tasa|cambio/.test(fold(name));

/** The currency of an order: in its row, in that of its customer, or in a table of currencies that it points to. */
function currencyOf(
  { tables }: Catalogue,
  { orders, customers, customerLink }: TableTriple,
  given: GivenColumns,
  dialect: ErpDialect,
) {
  const column = (alias: string, name: string) => `${alias}.${dialect.quoteIdentifier(name)}`;
  const [own] = candidates(orders, 'order.currency', given);
  if (own !== undefined) return { sql: column('o', own.name), join: '', table: null, columns: [own.name] };
  for (const link of orders.foreignKeys) {
    const table = tables.find((one) => nameOf(one) === link.table);
    const [key, ...more] = link.columns;
    const code = table?.columns.find(
      ({ name, kind }) =>
        kind === 'text' && /^(code|iso|iso_?code|currency_?code|currency|name|abbr\w*|symbol)$/i.test(name),
    );
    if (!table || !code || key === undefined || more.length > 0 || !saysCurrency(key)) continue;
    const join = `\nLEFT JOIN ${tableSql(dialect, table)} cur ON ${column('cur', link.referenced[0] ?? '')} = ${column('o', key)}`;
    return { sql: column('cur', code.name), join, table, columns: [key] };
  }
  const [theirs] = candidates(customers, 'order.currency', given);
  // Not where the order has a currency of its own that can't be read.
  if (theirs === undefined || orders.columns.some(({ name }) => saysCurrency(name))) return null;
  const on = customerLink.columns.map(
    (name, at) => `${column('c', customerLink.referenced[at] ?? '')} = ${column('o', name)}`,
  );
  return {
    sql: column('c', theirs.name),
    join: `\nLEFT JOIN ${tableSql(dialect, customers)} c ON ${on.join(' AND ')}`,
    table: null,
    columns: [],
  };
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
