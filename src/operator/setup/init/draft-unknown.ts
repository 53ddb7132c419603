import { type Catalogue, type CatalogueColumn, type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import type { ErpDialect } from '../../../erp/erp-database.js';
import type { Draft, FieldDraft } from './draft.js';
import { columnsFor } from './find-columns.js';
import { keysOf, type TableTriple } from './find-tables.js';
import { InitError } from './interview.js';
import type { ColumnRole } from './words.js';

/** Columns that a person named: role → column. */
export type GivenColumns = Readonly<Partial<Record<ColumnRole, string>>>;

/** One way to take the money of a line, and the total of an order to prove it with. */
export interface MoneyChoice {
  /** SQL over the lines as `l`; null: worked out from the amount. */
  price: string | null;
  amount: string | null;
  /** Column of the orders. */
  total: string | null;
  /** For people. */
  words: string;
}

const PER_ROLE = 3;

/** What a schema offers for the money, the plainest first. The data has to tell which one is right. */
export function moneyChoices({ orders, lines }: TableTriple, given: GivenColumns, dialect: ErpDialect): MoneyChoice[] {
  const of = (table: CatalogueTable, role: ColumnRole) => candidates(table, role, given).slice(0, PER_ROLE);
  const [qty] = of(lines, 'line.qty');
  if (qty === undefined) return [];
  const others = (columns: CatalogueColumn[]) => columns.filter(({ name }) => name !== qty.name);
  const prices = given['line.amount'] ? [] : others(of(lines, 'line.price'));
  const isPrice = ({ name }: CatalogueColumn) => prices.some((price) => price.name === name);
  const isDiscount = ({ name }: CatalogueColumn) => discounts.some((discount) => discount.name === name);
  const discounts = others(of(lines, 'line.discount')).slice(0, 1);
  const amounts = given['line.price'] ? [] : others(candidates(lines, 'line.amount', given));
  const exact = (column: CatalogueColumn) => exactSql(dialect, 'l', column);
  const ways: Omit<MoneyChoice, 'total'>[] = [
    ...prices
      .filter((price) => !isDiscount(price))
      .map((price) => ({ price: exact(price), amount: null, words: `${price.name} is the price for one` })),
    ...amounts
      .filter((amount) => !isPrice(amount) && !isDiscount(amount))
      .slice(0, PER_ROLE)
      .map((amount) => ({ price: null, amount: exact(amount), words: `${amount.name} is the amount of the line` })),
    ...prices.flatMap((price) =>
      discounts.flatMap((discount) =>
        ([100, 1] as const).map((whole) => ({
          price: null,
          amount: `ROUND(${exact(qty)} * ${exact(price)} * (1 - ${exact(discount)}${whole === 100 ? ' / 100' : ''}), 2)`,
          words: `${price.name} is the price for one, less ${discount.name} as a ${whole === 100 ? 'percentage' : 'fraction'}`,
        })),
      ),
    ),
  ];
  const totals = [...of(orders, 'order.total').map(({ name }) => name)];
  return ways.flatMap((way) => (totals.length === 0 ? [null] : totals).map((total) => ({ ...way, total })));
}

/** The draft of an unknown schema, with one way to take its money. */
export function draftUnknown(
  catalogue: Catalogue,
  triple: TableTriple,
  money: MoneyChoice,
  given: GivenColumns,
  dialect: ErpDialect,
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
  const number = pick(orders, 'order.number')?.name ?? orderKey[0];
  const status = pick(orders, 'order.status')?.name;
  const changedAt = pick(orders, 'order.changedAt')?.name;
  const created = pick(orders, 'order.created')?.name;
  const company = pick(orders, 'order.company')?.name;
  const ownCurrency = pick(orders, 'order.currency');
  const currency = ownCurrency ?? pick(customers, 'order.currency');
  const join = `\nJOIN ${tableSql(dialect, customers)} c ON ${customerLink.columns
    .map((own, at) => `${column('c', { name: customerLink.referenced[at] ?? '' })} = ${column('o', { name: own })}`)
    .join(' AND ')}`;
  const total = orders.columns.find((one) => one.name === money.total);
  const exactTotal = total && isInexact(total) && exactSql(dialect, 'o', total) !== column('o', total);
  const orderColumns = [
    ...selected('o', [
      ...orderKey,
      ...customerLink.columns,
      number,
      ...[status, created, changedAt, company, ownCurrency?.name],
      exactTotal ? undefined : total?.name,
    ]),
    ...(total && exactTotal ? [`${exactSql(dialect, 'o', total)} AS ${quote(total.name)}`] : []),
    ...(currency && !ownCurrency ? [column('c', currency)] : []),
  ];

  const qty = pick(lines, 'line.qty');
  const sku = skuOf(catalogue, triple, given);
  if (qty === undefined)
    throw new InitError(`${nameOf(lines)} has no column for quantities; name it: --column line.qty=NAME`);
  const position = pick(lines, 'line.position')?.name;
  const sortBy = position ? [position] : lines.primaryKey.length > 0 ? lines.primaryKey : lineLink.columns;
  const lineColumns = [
    ...selected('l', [...lineLink.columns, ...sortBy]),
    `${sku === null ? 'NULL' : column(sku.link ? 'p' : 'l', { name: sku.column })} AS sku`,
    `${exactSql(dialect, 'l', qty)} AS qty`,
    ...(money.price === null ? [] : [`${money.price} AS price`]),
    ...(money.amount === null ? [] : [`${money.amount} AS amount`]),
  ];
  const productJoin =
    sku?.link === undefined
      ? ''
      : `\nLEFT JOIN ${tableSql(dialect, sku.table)} p ON ${sku.link.columns
          .map((own, at) => `${column('p', { name: sku.link?.referenced[at] ?? '' })} = ${column('l', { name: own })}`)
          .join(' AND ')}`;

  return {
    title: `${nameOf(orders)}, ${nameOf(lines)} and ${nameOf(customers)}`,
    tables: [customers, orders, lines, ...(sku?.link ? [sku.table] : [])],
    customers: {
      query: `SELECT ${selected('c', [...customerLink.referenced, code, name?.name, ...details.map(([, one]) => one), customerChanged]).join(', ')}\n${from(customers, 'c')}`,
      key: customerLink.referenced,
      changedAt: customerChanged,
      fields: customerFields,
    },
    orders: {
      query: `SELECT ${orderColumns.join(', ')}\n${from(orders, 'o')}${currency && !ownCurrency ? join : ''}`,
      key: orderKey,
      changedAt,
      customerKey: customerLink.columns,
      number,
      total: money.total ?? undefined,
      startColumn: created ?? orderKey[0] ?? '',
      status,
      currency: currency?.name,
      company,
      fields: {},
    },
    lines: {
      query: `SELECT ${lineColumns.join(', ')}\n${from(lines, 'l')}${productJoin}`,
      orderKey: lineLink.columns,
      sortBy,
      fields: { sku: 'sku', qty: 'qty', ...(money.price !== null && { price: 'price' }) },
      ...(money.amount !== null && { amount: 'amount' }),
    },
    comments: {
      ...(changedAt
        ? {}
        : { 'orders.key': 'No column says when an order changed: only sweeps find changes (capture.sweepMinutes).' }),
      'orders.lines.fields': `${money.words}.`,
    },
  };
}

function candidates(table: CatalogueTable, role: ColumnRole, given: GivenColumns): CatalogueColumn[] {
  const wanted = given[role];
  if (wanted === undefined) return columnsFor(table, role);
  return table.columns.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
}

/** The column that names a product: of the line, or of the table that the line points to. */
function skuOf({ tables }: Catalogue, { lines, orders, customers }: TableTriple, given: GivenColumns) {
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

const isInexact = ({ isFloat, type }: CatalogueColumn) => isFloat || /^money$/i.test(type);

/** A column in floating point as a decimal. SQLite has no decimals: its values are read by their shortest text. */
function exactSql(dialect: ErpDialect, alias: string, column: CatalogueColumn): string {
  const sql = `${alias}.${dialect.quoteIdentifier(column.name)}`;
  return isInexact(column) && dialect.account !== null ? `CAST(${sql} AS DECIMAL(20, 6))` : sql;
}
