import type { ErpDatabase, ErpDialect } from '../../../db/erp-database.js';
import { rawSql } from '../../../db/sql.js';
import { type Catalogue, type CatalogueTable, countValues, nameOf, tableSql } from '../../../erp/catalogue.js';
import { chooseMoney } from './choose-money.js';
import { chooseTables, type TableTriple } from './choose-tables.js';
import { chooseCurrency, currencySources } from './currency-sources.js';
import type { Draft } from './draft.js';
import { draftUnknown, skuOf } from './draft-unknown.js';
import { type FewValued, fewValued } from './few-values.js';
import { columnsFor, type GivenColumns } from './find-columns.js';
import { InitError, type Interview } from './interview.js';
import { withDates, withUniqueCode } from './look-at-values.js';
import { askOrders, askRows, conditionFor } from './which-rows.js';
import { type ColumnRole, numberingPart } from './words.js';

/** Answers about an unknown schema that the flags give. */
export interface GivenChoices {
  columns: GivenColumns;
  /** `COLUMN=VALUES` of the orders and of the lines that may be sent. */
  ordersWith: readonly string[];
  linesWith: readonly string[];
}

/**
 * Reads an unknown schema. Names and figures decide only what is shown and what is offered first: a person chooses the
 * tables, the buyer, the columns of the money and which rows are sent. Null, or a draft with gaps: a question stays open.
 */
export async function findMapping(
  database: ErpDatabase,
  catalogue: Catalogue,
  dialect: ErpDialect,
  interview: Interview,
  given: GivenChoices,
): Promise<Draft | null> {
  const { orders, lines, customers, lineLink, customerLink } = await chooseTables(
    database,
    catalogue,
    interview,
    given.columns,
  );
  if (!orders || !lines || !customers || !lineLink || !customerLink) return null;
  const triple: TableTriple = { orders, lines, customers, lineLink, customerLink };
  checkNamed(catalogue, triple, given.columns);
  let columns = given.columns;
  for (const seen of [withUniqueCode, withDates]) columns = await seen(database, triple, columns);
  const sku = skuOf(catalogue, triple, columns);
  const wanted = columns['line.sku'];
  if (wanted !== undefined && sku?.column.toLowerCase() !== wanted.toLowerCase())
    throw new InitError(
      `--column line.sku=${wanted}: no key of ${nameOf(lines)} leads to a table with it. Add the join to orders.lines.query by hand.`,
    );
  if (sku === null)
    interview.settle(
      'sku',
      'none',
      `no column of ${nameOf(lines)}, or of a table that it points to, is called like one: no line has a SKU of its own; if a column holds it: --column line.sku=NAME`,
    );
  const pick = (table: CatalogueTable, role: ColumnRole) =>
    columns[role] === undefined ? columnsFor(table, role)[0]?.name : columns[role];
  const number = pick(orders, 'order.number') ?? numberingPart(lineLink.referenced);
  if (number === undefined)
    throw new InitError(
      `${nameOf(orders)} has no column that is called like the number of an order. Name it: --column order.number=NAME (${lineLink.referenced.join(', ')})`,
    );

  const askLines = async (skipped: readonly (string | undefined)[]) => {
    const own = [
      ...lineLink.columns,
      ...lines.primaryKey,
      pick(lines, 'line.position'),
      sku?.column,
      ...(sku?.link?.columns ?? []),
    ];
    const told =
      given.linesWith.length > 0 ? [] : await fewValued(database, catalogue, lines, present([...own, ...skipped]));
    const rows = await askRows(interview, { flag: 'lines-with', table: lines, told, given: given.linesWith });
    return rows && conditionFor(rows, lines, dialect, 'l.');
  };
  const money = await chooseMoney(database, interview, columns, { dialect, orders, lines, lineLink, number, askLines });

  const sources = await currencySources(database, catalogue, triple);
  const currency = await chooseCurrency(interview, sources, orders, columns);
  const status = await statusOf(database, orders, columns);
  const skipped = [
    // Part of a key may tell documents apart; a key of one column tells every row apart.
    ...(lineLink.referenced.length === 1 ? lineLink.referenced : []),
    ...[...customerLink.columns, number, numberingPart(lineLink.referenced), money.total?.name],
    ...[pick(orders, 'order.created'), pick(orders, 'order.changedAt'), ...(currency?.columns ?? [])],
    ...orders.columns.filter(({ name }) => money.totalsShown.includes(name)).map(({ name }) => name),
  ];
  const told = await fewValued(database, catalogue, orders, present(skipped));
  const asked = await askOrders(interview, { table: orders, status, told, given: given.ordersWith }, dialect);
  return draftUnknown(catalogue, triple, columns, dialect, {
    ...{ money, number, status: status?.column, currency: currency ?? null },
    pending: asked?.pending ?? null,
    told: asked?.columns ?? [],
  });
}

const present = (names: readonly (string | undefined)[]): string[] => names.flatMap((name) => name ?? []);

/** @throws InitError for a column that is not there */
function checkNamed(catalogue: Catalogue, { orders, lines, customers }: TableTriple, given: GivenColumns): void {
  for (const [role, column] of Object.entries(given)) {
    const head = role.startsWith('order') ? orders : customers;
    const own = role.startsWith('line') ? lines : head;
    // A SKU may be in the table of the products, a currency with the customer.
    const tables = /sku|currency/.test(role) ? catalogue.tables : [own];
    const isThere = tables.some((table) =>
      table.columns.some(({ name }) => name.toLowerCase() === column.toLowerCase()),
    );
    if (isThere || (column === 'none' && /discount|total|currency/.test(role))) continue;
    throw new InitError(
      `--column ${role}=${column}: ${nameOf(own)} has ${own.columns.map(({ name }) => name).join(', ')}`,
    );
  }
}

/** The column of the states: the first that is called so, or was named, and is not empty in every order. */
async function statusOf(
  database: ErpDatabase,
  orders: CatalogueTable,
  given: GivenColumns,
): Promise<FewValued | undefined> {
  const named = given['order.status']?.toLowerCase();
  const called = columnsFor(orders, 'order.status');
  const columns = named === undefined ? called : orders.columns.filter(({ name }) => name.toLowerCase() === named);
  return database.snapshot(async (snapshot) => {
    const from = rawSql(tableSql(snapshot.dialect, orders));
    for (const { name } of columns) {
      const values = await countValues(snapshot, from, rawSql(snapshot.dialect.quoteIdentifier(name)), { limit: MOST });
      if (values.some(({ value }) => value !== null)) return { column: name, values, isWhole: values.length < MOST };
    }
    return undefined;
  });
}

/** As many states are counted. */
const MOST = 30;
