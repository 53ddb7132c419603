import type { ErpSnapshot } from '../../../db/erp-database.js';
import { rawSql, type Sql, sql } from '../../../db/sql.js';
import { ROWS_LOOKED_AT } from '../../../erp/catalogue.js';
import { timeFormOfColumn, timeFormOfValue } from '../../../erp/time/time-form.js';
import { parseWrittenTime } from '../../../model/written-time.js';

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
