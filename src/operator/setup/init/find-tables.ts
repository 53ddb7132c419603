import { type Catalogue, type CatalogueColumn, type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import { columnsFor } from './find-columns.js';
import { fold, type TableRole, tableWords } from './words.js';

/** Columns of a table that hold the key of another. */
export interface Link {
  columns: readonly string[];
  /** The key of the other table, in the same order. */
  referenced: readonly string[];
  isDeclared: boolean;
}

/** The three tables of an unknown schema, and how they belong together. */
export interface TableTriple {
  orders: CatalogueTable;
  lines: CatalogueTable;
  customers: CatalogueTable;
  /** Of the lines to the orders. */
  lineLink: Link;
  /** Of the orders to the customers. */
  customerLink: Link;
  score: number;
}

/** How many candidates of each role are tried together. */
const PER_ROLE = 40;

/**
 * The ways to read a schema, the likeliest first. Declared keys count most, then columns, then names: names mislead, as
 * where purchase orders stand beside sales orders.
 * @param given tables that a person named
 */
export function findTables(
  { tables }: Catalogue,
  given: Partial<Record<TableRole, string>> = {},
  isEmpty: (table: CatalogueTable) => boolean = () => false,
): TableTriple[] {
  const candidates = (role: TableRole): [CatalogueTable, number][] => {
    const wanted = given[role];
    const named = tables.filter(
      (table) => wanted === undefined || nameOf(table).toLowerCase() === wanted.toLowerCase(),
    );
    return named
      .map((table): [CatalogueTable, number] => [table, scoreOf(role, table) - (isEmpty(table) ? 8 : 0)])
      .sort(([, a], [, b]) => b - a)
      .slice(0, PER_ROLE);
  };
  const [allOrders, allLines, allCustomers] = [candidates('orders'), candidates('lines'), candidates('customers')];
  const triples: TableTriple[] = [];
  for (const [orders, orderScore] of allOrders)
    for (const [customers, customerScore] of allCustomers) {
      if (customers === orders) continue;
      const customerLink = linkBetween(orders, customers);
      if (customerLink === null) continue;
      for (const [lines, lineScore] of allLines) {
        if (lines === orders || lines === customers) continue;
        const lineLink = linkBetween(lines, orders);
        if (lineLink === null) continue;
        const links = [lineLink, customerLink].reduce((sum, { isDeclared }) => sum + (isDeclared ? 6 : 3), 0);
        // `order_items` belongs to `orders`, and `purchase_order_items` to another table.
        const kin = fold(lines.name).startsWith(stemOf(orders.name)) ? 4 : 0;
        const score = orderScore + lineScore + customerScore + links + kin;
        triples.push({ orders, lines, customers, lineLink, customerLink, score });
      }
    }
  return triples.sort((a, b) => b.score - a.score);
}

function scoreOf(role: TableRole, table: CatalogueTable): number {
  const name = fold(table.name);
  const { yes, no } = tableWords[role];
  const words = (yes.test(name) ? 6 : 0) - (no.test(name) ? 10 : 0);
  const has = (...roles: Parameters<typeof columnsFor>[1][]) =>
    roles.filter((one) => columnsFor(table, one).length > 0).length;
  const columns =
    role === 'orders'
      ? 2 * has('order.created') + has('order.status', 'order.total', 'order.number', 'order.currency')
      : role === 'lines'
        ? 3 * has('line.qty') + 2 * Math.min(1, has('line.price', 'line.amount')) + has('line.sku', 'line.position')
        : 2 * has('customer.name') + has('customer.code', 'customer.city', 'customer.email', 'customer.street');
  return words + columns - (table.isView ? 3 : 0);
}

/** How a row of one table names a row of the other: by a declared key, by columns of the same names, or by a name that says so. */
function linkBetween(from: CatalogueTable, to: CatalogueTable): Link | null {
  const declared = from.foreignKeys.filter(({ table }) => table === nameOf(to));
  const [first] = declared;
  if (first !== undefined) return { columns: first.columns, referenced: first.referenced, isDeclared: true };
  for (const key of keysOf(to)) {
    const columns = key.map((name) => sameColumn(from, to, name));
    if (columns.every((name) => name !== null)) return { columns, referenced: key, isDeclared: false };
  }
  return null;
}

/** Its primary key, else what is unique; a table without any may have a column that is called like one. */
export function keysOf(table: CatalogueTable): (readonly string[])[] {
  if (table.primaryKey.length > 0) return [table.primaryKey, ...uniqueOf(table)];
  const unique = uniqueOf(table);
  if (unique.length > 0) return unique;
  return table.columns.filter(({ name }) => /(^id|id|nr|no|num|key)$/.test(fold(name))).map(({ name }) => [name]);
}

const uniqueOf = ({ indexes }: CatalogueTable) =>
  indexes.filter(({ isUnique }) => isUnique).map(({ columns }) => columns);

function sameColumn(from: CatalogueTable, to: CatalogueTable, key: string): string | null {
  const [target] = to.columns.filter(({ name }) => name === key);
  const isOwnKey = (name: string) => from.primaryKey.length === 1 && from.primaryKey[0] === name;
  const fits = ({ name, kind }: CatalogueColumn) => kind === target?.kind && !isOwnKey(name);
  const stem = stemOf(to.name);
  const isPlain = /^(id|nr|no|code|key|name|number|nummer)$/.test(fold(key));
  const ways: ((name: string) => boolean)[] = [
    (name) => !isPlain && name === fold(key),
    (name) => name === stem + fold(key) || name === `${stem}s${fold(key)}` || name === `fk${stem}`,
    (name) => name === stem || name === `${stem}ref`,
    (name) => stem.length > 3 && name.startsWith(stem) && name.endsWith(fold(key)),
    // `customer_id` beside `tbl_customer`, `kunde` beside `kundenstamm`
    (name) =>
      isPlain &&
      name.endsWith(fold(key)) &&
      name.length > fold(key).length + 2 &&
      stem.includes(name.slice(0, -fold(key).length)),
  ];
  for (const way of ways) {
    const found = from.columns.find((column) => fits(column) && way(fold(column.name)));
    if (found !== undefined) return found.name;
  }
  return null;
}

/** A table's name without what stands before and behind it: `tbl_customers` → `customer`, `SalesOrderHeader` → `salesorder`. */
function stemOf(name: string): string {
  return fold(name)
    .replace(/^(tbl|tb|t(?=[bcdfghjklmnpqrstvwxz])|erp|app|dbo)/, '')
    .replace(/(header|headers|head|hdr|kopf|master|stamm)$/, '')
    .replace(/(ies|en|e?s)$/, (end) => (end === 'ies' ? 'y' : ''));
}
