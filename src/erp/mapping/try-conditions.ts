import type { ErpColumn, ErpRow } from '../../db/erp-database.js';
import { joinSql, rawSql, type Sql, sql } from '../../db/sql.js';
import { columnSql, conditionIn, fromQuery, type QuerySource } from '../query-source.js';
import type { MappingPlanner } from './mapping-planner.js';

interface Tried {
  source: QuerySource;
  key: ErpColumn[];
  pending: string | null;
}

const ROWS = 200;
/** More than a day apart, so that the date of an instant differs as well. Every server takes both. */
const ZONES = ['-12:00', '+13:00'] as const;
const UTC = '+00:00';
const VALUE_CONVERTED = '1292';

/**
 * Tries the queries and conditions with some rows, for what a database converts without an error, or can not. Reports faults.
 * @returns false when one of the queries had no row to try it with
 */
export async function tryConditions(planner: MappingPlanner, plans: readonly Tried[], timeZone: string) {
  const { dialect } = planner.snapshot;
  if (dialect.savepoint) {
    // This database converts nothing by itself, and knows types without a row.
    for (const { source, pending } of plans) {
      await planner.tryRows(source.path, source, rawSql('1'), number(ROWS));
      const pendingPath = source.path.replace(/\.query$/, '.pending');
      if (pending !== null) await planner.tryRows(pendingPath, source, conditionIn(pending), number(ROWS));
    }
    return true;
  }
  if (!dialect.warnings || !dialect.setTimeZone) return true;
  let hasRows = true;
  for (const plan of plans) {
    const { path } = plan.source;
    const pendingPath = path.replace(/\.query$/, '.pending');
    hasRows = (await tryComparisons(planner, path, plan.source, rawSql('1'))) && hasRows;
    if (plan.pending !== null) await tryComparisons(planner, pendingPath, plan.source, conditionIn(plan.pending));
    await tryTimeZones(planner, plan, pendingPath, timeZone);
  }
  return hasRows;
}

/** MySQL compares a number with 'validated' as if that were 0. */
async function tryComparisons(planner: MappingPlanner, path: string, source: QuerySource, condition: Sql) {
  const { snapshot } = planner;
  const doing = `check ${path} with some rows`;
  const tried = await snapshot.query(
    sql`SELECT ${condition} AS found ${fromQuery(source)} LIMIT ${number(ROWS)}`,
    doing,
  );
  const { rows: warnings } = await snapshot.query(snapshot.dialect.warnings as Sql, doing);
  const converted = warnings.find(({ Code }) => Code === VALUE_CONVERTED);
  if (converted)
    planner.fault(
      path,
      `compares values of different types (${converted.Message}); compare a column with its own type`,
    );
  return tried.rows.length > 0 || converted !== undefined;
}

/** The session reads in UTC, so that a TIMESTAMP is exact; in an expression it would be taken for wall time. */
async function tryTimeZones(planner: MappingPlanner, plan: Tried, pendingPath: string, timeZone: string) {
  const { snapshot, used } = planner;
  const { dialect } = snapshot;
  const { source, key, pending } = plan;
  const doing = `check ${source.path} in two time zones`;
  const own = used.filter((one) => one.source === source && one.column.kind !== 'timestamp');
  const names = [...new Set(own.map(({ column }) => column))].map((column) => columnSql(snapshot, column));
  const condition = pending === null ? rawSql('1') : conditionIn(pending);
  const order = joinSql(key.map((column) => sql`${columnSql(snapshot, column)} DESC`));
  const selected = joinSql([...names, sql`${condition} AS waybill_pending`]);
  const statement = sql`SELECT ${selected} ${fromQuery(source)} ORDER BY ${order} LIMIT ${number(ROWS)}`;
  const found: ErpRow[][] = [];
  try {
    for (const zone of ZONES) {
      await snapshot.query(dialect.setTimeZone?.(zone) as Sql, doing);
      found.push((await snapshot.query(statement, doing)).rows);
    }
  } finally {
    await snapshot.query(dialect.setTimeZone?.(UTC) as Sql, doing);
  }
  const [west = [], east = []] = found;
  const differs = (name: string) => west.some((row, index) => row[name] !== east[index]?.[name]);
  const convert = `CONVERT_TZ(…, @@session.time_zone, '${timeZone}')`;
  const advice = `changes with the time zone of the session; write ${convert} around each TIMESTAMP and NOW() in it`;
  if (west.length !== east.length || key.some(({ name, kind }) => kind !== 'timestamp' && differs(name)))
    planner.fault(source.path, `what it yields ${advice}`);
  else {
    for (const { path, column } of own)
      if (differs(column.name)) planner.fault(path, `column "${column.name}" ${advice}, or map the TIMESTAMP itself`);
    if (differs('waybill_pending')) planner.fault(pendingPath, advice);
  }
  if (!/\bCONVERT_TZ\b/i.test(source.query + pending) || !dialect.zoneIsKnown) return;
  const { rows } = await snapshot.query(dialect.zoneIsKnown(timeZone), doing);
  if (rows[0]?.known === null)
    planner.fault(
      source.path,
      `uses CONVERT_TZ, but the server does not know ${timeZone}; load its time zones: mysql_tzinfo_to_sql`,
    );
}

function number(value: number) {
  return { text: `${value}`, kind: 'number' } as const;
}
