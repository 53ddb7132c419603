import type { Connection, RowDataPacket } from 'mysql2/promise';
import { SessionRefused } from '../session-refused.js';

/** Runs one statement on a session. @returns rows as lists */
export type AskSession = (sql: string) => Promise<readonly (readonly unknown[])[]>;

/** @param timeoutMs tells how long an answer may take */
export function askOn(connection: Connection, timeoutMs: () => number): AskSession {
  return async (sql) => {
    const statement = { sql, rowsAsArray: true, timeout: timeoutMs() };
    const [rows] = await connection.query<RowDataPacket[][]>(statement);
    return Array.isArray(rows) ? rows : [];
  };
}

/** The sessions that one kind of work needs. Times are in seconds; 0 sets no limit. */
export interface MysqlSession {
  database: string;
  isolation: 'READ-COMMITTED' | 'REPEATABLE-READ';
  /** Absent: as the server has it, because an administrator may close it to writing. */
  readOnly?: boolean;
  /** The zone of NOW() and of TIMESTAMP columns; absent: UTC. */
  timeZone?: SessionZone;
  statementTimeout: number;
  lockTimeout: number;
  /** The server ends a session that says nothing for so long. */
  idleTimeout: number;
  /** The same inside a transaction, where the session may hold locks. MySQL can't tell the two apart. */
  idleTransactionTimeout: number;
}

interface SessionZone {
  /** Not every server knows zones by their names. */
  name: string;
  /** Its offset from UTC now. */
  offsetMinutes: number;
}

export interface PreparedSession {
  /** The modes that the server gave the session, which no statement of ours runs in. */
  inheritedModes: readonly string[];
  /** Asks whether the session still has all that was set. @throws SessionRefused */
  check(): Promise<void>;
}

/**
 * The modes of every session. Backslashes escape, as mysql2 writes values; a text that does not fit is refused, not cut; dates
 * of zeros can be read.
 */
const modes = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
const unknownTimeZone = 1298;

/**
 * Sets up a new session and checks it. Otherwise the configuration of the server, its init_connect, or a global variable that
 * somebody changes would decide what Waybill reads and writes.
 * @throws SessionRefused
 */
export async function prepareSession(ask: AskSession, wanted: MysqlSession): Promise<PreparedSession> {
  const [[version, inherited, database] = []] = await ask('SELECT VERSION(), @@sql_mode, DATABASE()');
  if (!isSame(`${database}`, wanted.database)) await ask(`USE \`${wanted.database.replaceAll('`', '``')}\``);
  // No letter of this character set has a byte that is a quotation mark, so a text that mysql2 has escaped stays one text.
  await ask('SET NAMES utf8mb4 COLLATE utf8mb4_general_ci');
  const variables = variablesOf(`${version}`, wanted);
  const assignments = Object.entries(variables).map(([name, value]) => `${name} = ${literal(value)}`);
  // A clock that init_connect has stopped would go on standing still.
  await ask(`SET SESSION ${[...assignments, 'timestamp = DEFAULT'].join(', ')}`);
  if (wanted.timeZone) variables.time_zone = await setTimeZone(ask, wanted.timeZone);
  const expected = [
    ['DATABASE()', wanted.database],
    ...['character_set_client', 'character_set_results'].map((name) => [`@@${name}`, 'utf8mb4']),
    ['@@collation_connection', 'utf8mb4_general_ci'],
    ...Object.entries(variables).map(([name, value]) => [`@@SESSION.${name}`, value]),
  ] as const;
  const check = async () => {
    const [found = []] = await ask(`SELECT ${expected.map(([name]) => name).join(', ')}`);
    for (const [at, [name = '', value = '']] of expected.entries())
      if (!isSame(`${found[at]}`, value)) throw new SessionRefused(name, `${found[at]}`, value);
  };
  await check();
  return { inheritedModes: `${inherited}`.split(','), check };
}

const beside = /'(?:\\[\s\S]|''|[^'\\])*'|`[^`]*`|--[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\//g;

/**
 * The other meaning of a statement to programs that keep the modes of the server, and a form that means the same to
 * both; null: there is none. It would be read without an error, and yield the name of a column in place of its values.
 * Pure.
 */
export function meansOtherwise(statement: string, inheritedModes: readonly string[]): string | null {
  const bare = statement.replace(beside, ' ');
  const told = (what: string, mode: string, advice: string) =>
    `has ${what}, which means something else under the server's mode ${mode}; Waybill reads without it: ${advice}`;
  if (inheritedModes.includes('ANSI_QUOTES') && bare.includes('"'))
    return told('"…"', 'ANSI_QUOTES', "write `…` around a name, or '…' around a text");
  if (inheritedModes.includes('PIPES_AS_CONCAT') && bare.includes('||'))
    return told('||', 'PIPES_AS_CONCAT', 'write CONCAT(…), or OR');
  return null;
}

/** Everything that a server, an account's init_connect or an earlier user of the session may have set. Pure. */
function variablesOf(version: string, wanted: MysqlSession): Record<string, string> {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const isMariaDb = version.includes('MariaDB');
  const transaction = isMariaDb || major < 8 ? 'tx' : 'transaction';
  const isRecentMariaDb = isMariaDb && (major > 10 || (major === 10 && minor >= 3));
  return {
    sql_mode: modes,
    time_zone: '+00:00',
    autocommit: '1',
    completion_type: 'NO_CHAIN',
    // Lists and texts whole.
    sql_select_limit: '18446744073709551615',
    sql_big_selects: '1',
    group_concat_max_len: '1073741824',
    // `id IS NULL` asks for NULL, not for the row that was inserted last.
    sql_auto_is_null: '0',
    sql_safe_updates: '0',
    foreign_key_checks: '1',
    unique_checks: '1',
    // SHOW WARNINGS lists the conversions of a statement.
    max_error_count: '64',
    // Keys whose first letters are equal come in order: a page begins behind the last key of the one before.
    max_sort_length: '1024',
    // Decimals of a quotient, in a query that divides.
    div_precision_increment: '4',
    // SHOW GRANTS writes names in quotes.
    sql_quote_show_create: '1',
    net_read_timeout: '60',
    net_write_timeout: '60',
    wait_timeout: `${wanted.idleTimeout}`,
    lock_wait_timeout: `${wanted.lockTimeout}`,
    innodb_lock_wait_timeout: `${wanted.lockTimeout}`,
    [`${transaction}_isolation`]: wanted.isolation,
    ...(wanted.readOnly === undefined ? {} : { [`${transaction}_read_only`]: wanted.readOnly ? '1' : '0' }),
    ...(isMariaDb
      ? { max_statement_time: `${wanted.statementTimeout}` }
      : { max_execution_time: `${Math.ceil(wanted.statementTimeout * 1000)}` }),
    ...(isRecentMariaDb
      ? {
          idle_transaction_timeout: `${wanted.idleTransactionTimeout}`,
          check_constraint_checks: '1',
          // Rows as they are now, where a table keeps the old ones.
          system_versioning_asof: 'DEFAULT',
        }
      : {}),
  };
}

/**
 * Sets the zone by its name, else by a word or an offset with which NOW() shows the same time.
 * @returns what the session now calls it
 */
async function setTimeZone(ask: AskSession, { name, offsetMinutes }: SessionZone): Promise<string> {
  try {
    await ask(`SET SESSION time_zone = ${literal(name)}`);
    return name;
  } catch (error) {
    if ((error as { errno?: number }).errno !== unknownTimeZone) throw error;
  }
  // The zone of the server's machine knows when the clocks change; an offset does not.
  await ask("SET SESSION time_zone = 'SYSTEM'");
  const [[offset] = []] = await ask('SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())');
  if (Number(offset) === offsetMinutes) return 'SYSTEM';
  const two = (number: number) => `${Math.trunc(number)}`.padStart(2, '0');
  const size = Math.abs(offsetMinutes);
  const text = `${offsetMinutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`;
  await ask(`SET SESSION time_zone = '${text}'`);
  return text;
}

function literal(value: string): string {
  return /^[\d.]+$|^DEFAULT$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

/** Servers write numbers with decimals, and modes in an order of their own; names may come in other letters. */
function isSame(found: string, wanted: string): boolean {
  const sorted = (list: string) => list.toLowerCase().split(',').sort().join();
  return sorted(found) === sorted(wanted) || (/^[\d.]+$/.test(wanted) && Number(found) === Number(wanted));
}
