import type { ErpDialect, ErpSnapshot } from '../../../db/erp-database.js';
import { joinSql, rawSql, type Sql, sql } from '../../../db/sql.js';
import { type CatalogueColumn, type CatalogueTable, tableSql } from '../../../erp/catalogue.js';
import type { OrderDifference } from '../../../model/setup-questions.js';
import { keySql, type Link } from './links.js';
import { type MoneyUnit, moneySql } from './money.js';

/** Number of orders to add up: the newest by their key. */
const COMPARED = 300;

/** The lines of an unknown schema beside their orders, for adding them up. */
export interface LinesOfOrders {
  orders: CatalogueTable;
  lines: CatalogueTable;
  lineLink: Link;
  /** Condition on the lines as `l` for those that are sent; null: all. */
  lineFilter: string | null;
  /** The condition names columns of the order as `o`. */
  joinsOrder: boolean;
}

/** In how many orders the lines come to a total, of those that have one. */
export interface Agreement {
  agreeing: number;
  /** Those of them whose total is not 0: that nothing comes to 0 says nothing of a column. */
  telling: number;
  compared: number;
  /** The differences of the others together, in the unit of the currency. */
  apart: number;
}

/** Sums in floating point, as SQLite adds them up, differ by less. */
const AGREES = '0.005';

/** No database yields more columns than this, with room to spare: PostgreSQL 1664, SQLite 2000. */
const MOST_FIGURES = 1000;
const FIGURES_OF_ONE = 4;

/** Compares each way to add up the lines with each total. [way][total] */
export async function compareTotals(
  snapshot: ErpSnapshot,
  tables: LinesOfOrders,
  sums: readonly string[],
  totals: readonly CatalogueColumn[],
  unit: MoneyUnit,
): Promise<Agreement[][]> {
  const atOnce = Math.max(1, Math.floor(MOST_FIGURES / (FIGURES_OF_ONE * totals.length)));
  const compared: Agreement[][] = [];
  while (compared.length < sums.length) {
    const part = sums.slice(compared.length, compared.length + atOnce);
    compared.push(...(await compareAtOnce(snapshot, tables, part, totals, unit)));
  }
  return compared;
}

async function compareAtOnce(
  snapshot: ErpSnapshot,
  tables: LinesOfOrders,
  sums: readonly string[],
  totals: readonly CatalogueColumn[],
  unit: MoneyUnit,
): Promise<Agreement[][]> {
  if (sums.length === 0 || totals.length === 0) return sums.map(() => []);
  const cells = sums.flatMap((_, way) =>
    totals.map((_, total) =>
      rawSql(`SUM(CASE WHEN t${total} IS NOT NULL AND w${way} IS NOT NULL THEN 1 ELSE 0 END) AS c${way}_${total},
  SUM(CASE WHEN ABS(t${total} - w${way}) < ${AGREES} THEN 1 ELSE 0 END) AS a${way}_${total},
  SUM(CASE WHEN ABS(t${total} - w${way}) < ${AGREES} AND ABS(t${total}) >= ${AGREES} THEN 1 ELSE 0 END) AS n${way}_${total},
  SUM(CASE WHEN ABS(t${total} - w${way}) >= ${AGREES} THEN ABS(t${total} - w${way}) ELSE 0 END) AS s${way}_${total}`),
    ),
  );
  const { rows } = await snapshot.query(
    sql`SELECT ${joinSql(cells)} FROM (${added(snapshot.dialect, tables, { sums, totals, unit, number: null })}) s`,
    'compare the lines with the totals',
  );
  const cell = (name: string) => Number(rows[0]?.[name] ?? 0);
  return sums.map((_, way) =>
    totals.map((_, total) => {
      const at = `${way}_${total}`;
      return {
        ...{ agreeing: cell(`a${at}`), telling: cell(`n${at}`) },
        ...{ compared: cell(`c${at}`), apart: cell(`s${at}`) },
      };
    }),
  );
}

/** The first orders whose lines do not come to the total. */
export async function differences(
  snapshot: ErpSnapshot,
  tables: LinesOfOrders,
  { sum, total, unit, number }: { sum: string; total: CatalogueColumn; unit: MoneyUnit; number: string },
): Promise<OrderDifference[]> {
  const { rows } = await snapshot.query(
    sql`SELECT number_, w0, t0 FROM (${added(snapshot.dialect, tables, { sums: [sum], totals: [total], unit, number })}) s WHERE ABS(t0 - w0) >= ${rawSql(AGREES)} ORDER BY number_ LIMIT ${{ text: '3', kind: 'number' }}`,
    'look for orders whose lines do not come to their total',
  );
  const amount = (text: string | null | undefined) => Number(text ?? 0).toFixed(2);
  return rows.map((row) => ({ order: row.number_ ?? '', lines: amount(row.w0), total: amount(row.t0) }));
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
  { orders, lines, lineLink, lineFilter, joinsOrder }: LinesOfOrders,
  { sums, totals, unit, number }: Compared,
): Sql {
  const quote = dialect.quoteIdentifier;
  const keys = lineLink.referenced.map((name, at) => ({ name: `o.${quote(name)}`, as: `k${at}` }));
  const values = [
    ...keys.map(({ name, as }) => `${name} AS ${as}`),
    ...totals.map((total, at) => `${moneySql(dialect, 'o', total, unit)} AS t${at}`),
    ...(number === null ? [] : [`${keySql(dialect, orders, number, 'o.')} AS number_`]),
  ];
  const newest = `SELECT ${values.join(', ')} FROM ${tableSql(dialect, orders)} o ORDER BY ${keys.map(({ name }) => `${name} DESC`).join(', ')} LIMIT ${COMPARED}`;
  const on = lineLink.columns.map((name, at) => `l.${quote(name)} = q.k${at}`);
  const columns = [
    ...totals.map((_, at) => `MAX(q.t${at}) AS t${at}`),
    ...sums.map((sum, at) => `SUM(${sum}) AS w${at}`),
    ...(number === null ? [] : ['MAX(q.number_) AS number_']),
  ];
  const order = joinsOrder
    ? ` JOIN ${tableSql(dialect, orders)} o ON ${keys.map(({ name, as }) => `${name} = q.${as}`).join(' AND ')}`
    : '';
  return rawSql(
    `SELECT ${columns.join(', ')} FROM (${newest}) q JOIN ${tableSql(dialect, lines)} l ON ${on.join(' AND ')}${order}${lineFilter === null ? '' : ` WHERE ${lineFilter}`} GROUP BY ${keys.map(({ as }) => `q.${as}`).join(', ')}`,
  );
}
