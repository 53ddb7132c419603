import type { Settings } from '../../../config/settings.js';
import type { ErpSnapshot } from '../../../db/erp-database.js';
import { rawSql, type Sql, sql } from '../../../db/sql.js';
import { conditionIn, fromQuery } from '../../../erp/query-source.js';
import { instantOfValue } from '../../../erp/time/time-form.js';
import { instantToWall } from '../../../erp/time/wall-time.js';
import type { DoctorFact } from '../../../model/facts/doctor.js';
import { firstFew } from '../../../model/facts/rows.js';
import { literalPattern } from '../../../model/literal-pattern.js';
import { outside } from '../../../model/outside.js';
import { type Finding, findingOf } from './finding.js';

/** The newest change looks like a difference of time zones up to this far from one. */
const nearMinutes = 10;
/** Clocks differ a little, and a column may hold full minutes. */
const toleratedAheadMinutes = 5;

interface Changes {
  setting: string;
  column: string;
  /** The newest value, and the minutes from it to now by erp.timeZone; null: there is none, or it is no time. */
  newest: string;
  ageMinutes: number | null;
  hasZone: boolean;
  database: string;
  settings: string;
}

/** Compares the times of change with the time zone of the settings. Pure. @param nowMs milliseconds since 1970 */
export function judgeTimeZone(changes: Changes, nowMs: number): DoctorFact | null {
  const { setting, column, newest, ageMinutes, hasZone, database, settings } = changes;
  const ours = offsetMinutes(settings, nowMs);
  const theirs = hasZone ? null : offsetMinutes(database, nowMs);
  const minutes = theirs === null || ours === null ? 0 : theirs - ours;
  const isSeen = ageMinutes !== null && Math.abs(ageMinutes + minutes) <= nearMinutes;
  const isAhead = ageMinutes !== null && ageMinutes < -toleratedAheadMinutes;
  if (minutes !== 0 && (isSeen || !isAhead))
    return { code: 'time_zones_differ', setting, column, database, settings, minutes, isSeen };
  if (!isAhead) return null;
  return {
    code: 'newest_change_ahead',
    setting,
    column,
    newest: outside(newest),
    settings,
    minutes: Math.round(-ageMinutes),
  };
}

/** The offset of a zone as databases write it: its name, an offset, or `SYSTEM (CET)`. Null: there is none that is known. */
function offsetMinutes(written: string, nowMs: number): number | null {
  const name = /^SYSTEM \((.*)\)$/.exec(written)?.[1] ?? written;
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(name) ?? [];
  if (hours !== undefined) return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const seconds = Math.round(nowMs / 1000);
  const offset = (instantToWall(seconds, name) - seconds) / 60;
  return Number.isNaN(offset) ? null : offset;
}

/** Compares the newest change of a query with now, and the zone of the database with that of the settings. */
export async function checkTimeZone(
  snapshot: ErpSnapshot,
  { setting, query, changedAt, column }: { setting: string; query: string; changedAt: string; column: Sql },
  { timeZone }: Settings['erp'],
  nowMs: number,
): Promise<Finding[]> {
  const newest = sql`SELECT MAX(${column}) AS newest ${fromQuery({ query })}`;
  const { rows, columns } = await snapshot.query(newest, `look for the newest ${changedAt} (${setting})`);
  const text = rows[0]?.newest ?? '';
  const kind = columns[0]?.kind ?? 'text';
  const at = instantOfValue(text, kind, timeZone);
  const server = await snapshot.query(snapshot.dialect.inspection.server, 'ask the server for its time zone');
  const fact = judgeTimeZone(
    {
      setting: setting.replace('.query', '.changedAt'),
      column: changedAt,
      newest: text,
      ageMinutes: at === null ? null : (nowMs / 1000 - at.seconds) / 60,
      // A number, or a text with its own offset, is an instant.
      hasZone: kind === 'timestamp' || !/\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text),
      database: server.rows[0]?.zone ?? '?',
      settings: timeZone,
    },
    nowMs,
  );
  if (fact === null) return [];
  return [findingOf('mapping', fact.code === 'time_zones_differ' && !fact.isSeen ? 'note' : 'warning', fact)];
}

/** The words of a cancellation in the languages of many ERPs. */
const soundsCancelled =
  /cancel|storn|void|annul|anul|geannul|abgebroch|abgelehnt|reject|refus|refund|withdraw|delet|gel[oö]scht/i;

/** Orders that were sent and are cancelled later: nothing says so unless the settings name the mark. */
export async function checkStates(snapshot: ErpSnapshot, { orders }: Settings): Promise<Finding[]> {
  const { query, pending = '', cancelled } = orders;
  const missing = (['cancelled', 'completed'] as const).filter((name) => orders[name] === undefined);
  const unset = missing.length === 0 ? [] : [findingOf('mapping', 'note', { code: 'no_end_of_orders', missing })];
  if (cancelled !== undefined) return unset;
  const { columns } = await snapshot.query(sql`SELECT q.* ${fromQuery({ query })} LIMIT 0`, 'look at its columns');
  for (const { name, kind } of columns) {
    const isNamed = new RegExp(`(?<!\\w)${literalPattern(name)}(?!\\w)`, 'i').test(pending) || /stat(us|e)/i.test(name);
    if (!isNamed || kind !== 'text') continue;
    const column = rawSql(`q.${snapshot.dialect.quoteIdentifier(name)}`);
    const counted = sql`SELECT ${column} AS value, COUNT(*) AS n ${fromQuery({ query })} GROUP BY ${column} ORDER BY 2 DESC LIMIT 50`;
    const { rows } = await snapshot.query(counted, `count the values of ${name}`);
    const values = rows
      .filter(({ value }) => value && soundsCancelled.test(value))
      .map(({ value, n }) => ({ value: outside(value ?? ''), rows: Number(n) }));
    if (values.length === 0) continue;
    const fact = { code: 'no_cancellation_rule', column: name, values: firstFew(values) } as const;
    return [findingOf('mapping', 'warning', fact)];
  }
  return unset;
}

/** Customers with one code: for the service they are one. */
export async function checkCodes(snapshot: ErpSnapshot, { customers }: Settings): Promise<Finding[]> {
  const { query, pending, send, fields } = customers;
  const name = fields?.customer_code;
  if (send === 'none' || query === undefined || typeof name !== 'string') return [];
  const column = rawSql(`q.${snapshot.dialect.quoteIdentifier(name)}`);
  const eligible = pending === undefined ? sql`` : sql` AND ${conditionIn(pending)}`;
  const shared = sql`SELECT ${column} AS code, COUNT(*) AS n ${fromQuery({ query })} WHERE ${column} IS NOT NULL${eligible} GROUP BY ${column} HAVING COUNT(*) > 1`;
  const { rows: counted } = await snapshot.query(sql`SELECT COUNT(*) AS n FROM (${shared}) d`, 'count shared codes');
  const codes = Number(counted[0]?.n ?? 0);
  if (codes === 0) return [];
  const { rows } = await snapshot.query(sql`${shared} ORDER BY 2 DESC, 1 LIMIT 5`, 'look for shared codes');
  const some = rows.map(({ code }) => outside(code ?? ''));
  return [findingOf('mapping', 'warning', { code: 'codes_shared', codes, some })];
}
