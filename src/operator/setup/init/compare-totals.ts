import type { ErpDatabase, ErpDialect } from '../../../db/erp-database.js';
import { joinSql, rawSql, type Sql, sql } from '../../../db/sql.js';
import { type CatalogueColumn, type CatalogueTable, tableSql } from '../../../erp/catalogue.js';
import type { Link } from './find-links.js';
import { type MoneyUnit, moneySql } from './money-choices.js';

/** Number of orders to add up: the newest by their key. */
const COMPARED = 300;

/** The lines of an unknown schema beside their orders, for adding them up. */
export interface LinesOfOrders {
  orders: CatalogueTable;
  lines: CatalogueTable;
  lineLink: Link;
  /** Condition on the lines as `l` for those that are sent; null: all. */
  lineFilter: string | null;
}

/** In how many orders the lines come to a total, of those that have one. */
export interface Agreement {
  agreeing: number;
  compared: number;
}

/** Sums in floating point, as SQLite adds them up, differ by less. */
const AGREES = '0.005';

/** Compares each way to add up the lines with each total: one statement, whatever there is to compare. [way][total] */
export async function compareTotals(
  database: ErpDatabase,
  tables: LinesOfOrders,
  sums: readonly string[],
  totals: readonly CatalogueColumn[],
  unit: MoneyUnit,
): Promise<Agreement[][]> {
  if (sums.length === 0 || totals.length === 0) return sums.map(() => []);
  return database.snapshot(async (snapshot) => {
    const cells = sums.flatMap((_, way) =>
      totals.map((_, total) =>
        rawSql(`SUM(CASE WHEN t${total} IS NOT NULL AND w${way} IS NOT NULL THEN 1 ELSE 0 END) AS c${way}_${total},
  SUM(CASE WHEN ABS(t${total} - w${way}) < ${AGREES} THEN 1 ELSE 0 END) AS a${way}_${total}`),
      ),
    );
    const { rows } = await snapshot.query(
      sql`SELECT ${joinSql(cells)} FROM (${added(snapshot.dialect, tables, { sums, totals, unit, number: null })}) s`,
      'compare the lines with the totals',
    );
    const cell = (name: string) => Number(rows[0]?.[name] ?? 0);
    return sums.map((_, way) =>
      totals.map((_, total) => ({ agreeing: cell(`a${way}_${total}`), compared: cell(`c${way}_${total}`) })),
    );
  });
}

/** An order whose lines do not come to its total, in the unit of the currency. */
export interface Difference {
  order: string;
  lines: string;
  total: string;
}

/** The first orders whose lines do not come to the total. */
export async function differences(
  database: ErpDatabase,
  tables: LinesOfOrders,
  { sum, total, unit, number }: { sum: string; total: CatalogueColumn; unit: MoneyUnit; number: string },
): Promise<Difference[]> {
  const NAMED = { text: '3', kind: 'number' } as const;
  return database.snapshot(async (snapshot) => {
    const { rows } = await snapshot.query(
      sql`SELECT number_, w0, t0 FROM (${added(snapshot.dialect, tables, { sums: [sum], totals: [total], unit, number })}) s WHERE ABS(t0 - w0) >= ${rawSql(AGREES)} ORDER BY number_ LIMIT ${NAMED}`,
      'look for orders whose lines do not come to their total',
    );
    const amount = (text: string | null | undefined) => Number(text ?? 0).toFixed(2);
    return rows.map((row) => ({ order: row.number_ ?? '', lines: amount(row.w0), total: amount(row.t0) }));
  });
}

interface Compared {
  /** Ways to add up the lines, as SQL. */
  sums: readonly string[];
  totals: readonly CatalogueColumn[];
  unit: MoneyUnit;
  /** Column of the order's number, selected as number_; null: without it. */
  number: string | null;
}

/** The newest orders with their totals as t0, t1 … and the sums of their lines as w0, w1 … */
function added(
  dialect: ErpDialect,
  { orders, lines, lineLink, lineFilter }: LinesOfOrders,
  { sums, totals, unit, number }: Compared,
): Sql {
  const quote = dialect.quoteIdentifier;
  const keys = lineLink.referenced.map((name, at) => ({ name: `o.${quote(name)}`, as: `k${at}` }));
  const values = [
    ...keys.map(({ name, as }) => `${name} AS ${as}`),
    ...totals.map((total, at) => `${moneySql(dialect, 'o', total, unit)} AS t${at}`),
    ...(number === null ? [] : [`o.${quote(number)} AS number_`]),
  ];
  const newest = `SELECT ${values.join(', ')} FROM ${tableSql(dialect, orders)} o ORDER BY ${keys.map(({ name }) => `${name} DESC`).join(', ')} LIMIT ${COMPARED}`;
  const on = lineLink.columns.map((name, at) => `l.${quote(name)} = q.k${at}`);
  const columns = [
    ...totals.map((_, at) => `MAX(q.t${at}) AS t${at}`),
    ...sums.map((sum, at) => `SUM(${sum}) AS w${at}`),
    ...(number === null ? [] : ['MAX(q.number_) AS number_']),
  ];
  return rawSql(
    `SELECT ${columns.join(', ')} FROM (${newest}) q JOIN ${tableSql(dialect, lines)} l ON ${on.join(' AND ')}${lineFilter === null ? '' : ` WHERE ${lineFilter}`} GROUP BY ${keys.map(({ as }) => `q.${as}`).join(', ')}`,
  );
}
