import { type Catalogue, type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import { columnsFor, type GivenColumns } from './find-columns.js';
import { type Link, linkBetween, stemOf } from './find-links.js';
import { fold, type TableRole, tableWords } from './words.js';

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
 * @param columns columns that a person named
 */
export function findTables(
  { tables }: Catalogue,
  given: Partial<Record<TableRole, string>> = {},
  isEmpty: (table: CatalogueTable) => boolean = () => false,
  columns: GivenColumns = {},
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
      const customerLink = linkBetween('order.customer', orders, customers, columns);
      if (customerLink === null) continue;
      for (const [lines, lineScore] of allLines) {
        if (lines === orders || lines === customers) continue;
        const lineLink = linkBetween('line.order', lines, orders, columns);
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
