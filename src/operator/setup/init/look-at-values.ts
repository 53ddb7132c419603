import type { ErpDatabase, ErpSnapshot } from '../../../db/erp-database.js';
import { rawSql, type Sql, sql } from '../../../db/sql.js';
import { nameOf, ROWS_LOOKED_AT, tableSql } from '../../../erp/catalogue.js';
import { timeFormOfColumn, timeFormOfValue } from '../../../erp/time/time-form.js';
import { parseWrittenTime } from '../../../model/written-time.js';
import type { TableTriple } from './choose-tables.js';
import { candidates, type GivenColumns } from './find-columns.js';
import { InitError } from './interview.js';

/**
 * The comparison of a column with a date: as a `time` (written, or counted since 1970), or as a number such as
 * 20260103. `none`: its values are no dates, or dates whose order is not that of their texts; `empty`: there are no
 * values.
 */
export type DateForm = 'time' | 'compact' | 'none' | 'empty';

/** @param from a table, or a query in brackets with a name */
export async function dateFormOf(snapshot: ErpSnapshot, from: Sql, column: string): Promise<DateForm> {
  const name = rawSql(snapshot.dialect.quoteIdentifier(column));
  const doing = `look at the values of ${column}`;
  const [typed] = (await snapshot.query(sql`SELECT ${name} AS v FROM ${from} WHERE 1=0`, doing)).columns;
  if (typed && timeFormOfColumn(typed) !== null) return 'time';
  const some = sql`SELECT CAST(${name} AS CHAR(40)) AS v FROM ${from} LIMIT ${rowsLookedAt}`;
  // A value that stands for "no date" does not count.
  const missing = rawSql(`'', '0', '0000-00-00', '0000-00-00 00:00:00'`);
  const { rows } = await snapshot.query(
    sql`SELECT MIN(v) AS lowest, MAX(v) AS highest FROM (${some}) s WHERE v NOT IN (${missing})`,
    doing,
  );
  const { lowest = null, highest = null } = rows[0] ?? {};
  return lowest === null || highest === null ? 'empty' : formOfRange(lowest, highest);
}

const rowsLookedAt = { text: `${ROWS_LOOKED_AT}`, kind: 'number' } as const;

/** Judged by the first and the last value in the order of texts. Pure. */
function formOfRange(lowest: string, highest: string): DateForm {
  const [first, last] = [formOf(lowest), formOf(highest)];
  // Counts of another length are sorted otherwise as texts.
  const isOne = first === last && (first === 'written' || lowest.length === highest.length);
  if (first === null || !isOne) return 'none';
  return first === 'compact' ? 'compact' : 'time';
}

function formOf(text: string): string | null {
  const [, year, month, day] = /^((?:19|20)\d\d)(\d\d)(\d\d)$/.exec(text) ?? [];
  if (year !== undefined) return parseWrittenTime(`${year}-${month}-${day}`) && 'compact';
  const found = timeFormOfValue(text, 'text');
  return found?.form === 'epoch' ? `${found.unitsPerSecond} a second` : found && 'written';
}

/**
 * The columns, with the one that says when an order was made: the likeliest by its name whose values are dates. An empty name
 * stands for none.
 */
export async function withDates(
  database: ErpDatabase,
  { orders }: TableTriple,
  given: GivenColumns,
): Promise<GivenColumns> {
  return database.snapshot(async (snapshot) => {
    const from = rawSql(tableSql(snapshot.dialect, orders));
    let unused: string | undefined;
    for (const { name, kind } of candidates(orders, 'order.created', given)) {
      const form = await dateFormOf(snapshot, from, name);
      if (form === 'time' || form === 'compact') return { ...given, 'order.created': name };
      if (form === 'empty' && (kind === 'time' || kind === 'date')) unused ??= name;
      if (form === 'none' && given['order.created'] !== undefined)
        throw new InitError(
          `--column order.created=${name}: ${nameOf(orders)}.${name} holds no dates that can be compared, such as 2026-01-31 or 20260131. Name another column, or leave it out.`,
        );
    }
    return { ...given, 'order.created': unused ?? '' };
  });
}

/** The columns, with the customer's key as its code where two customers share a code or one of them has none. */
export async function withUniqueCode(
  database: ErpDatabase,
  { customers, customerLink }: TableTriple,
  given: GivenColumns,
): Promise<GivenColumns> {
  const [code] = candidates(customers, 'customer.code', given);
  const [key] = customerLink.referenced;
  if (code === undefined || given['customer.code'] !== undefined || key === undefined) return given;
  const isUnique = await database.snapshot(async (snapshot) => {
    const name = rawSql(snapshot.dialect.quoteIdentifier(code.name));
    const from = rawSql(tableSql(snapshot.dialect, customers));
    const [row] = (
      await snapshot.query(
        sql`SELECT COUNT(*) AS n, COUNT(DISTINCT ${name}) AS different FROM ${from}`,
        'compare the codes of customers',
      )
    ).rows;
    return row?.n === row?.different;
  });
  return isUnique ? given : { ...given, 'customer.code': key };
}
