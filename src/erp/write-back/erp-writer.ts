import type { WriteBackSettings, WriteBackTarget } from '../../config/sections/write-back.js';
import { keysOn } from '../../db/catalogue.js';
import type { ErpDialect, WriteStatement } from '../../db/erp-database.js';
import { parseNamedParameters } from '../../model/named-parameters.js';
import type { Entity } from '../../model/record.js';
import { type WriteBackChange, type WriteBackKind, writeBackColumns } from '../../model/write-back.js';

export { WriteBackError } from '../../db/erp-failures.js';

/** Throws where a transaction must not be committed any more. */
export type MayCommit = () => Promise<void>;

/** The only door through which Waybill writes into an ERP: the configured tables and statements, and nothing else. */
export interface ErpWriter {
  /**
   * Writes all of these in one transaction. `mayCommit` is asked before the commit, while the ERP holds the rows locked: another
   * writer writes them afterwards, or finds nothing of this transaction. @throws WriteBackError when it was rolled back, or what `mayCommit` throws
   */
  write(kind: WriteBackKind, changes: readonly WriteBackChange[], mayCommit: MayCommit): Promise<void>;
  /** Runs the statement that sets back the flag of each of these, in the same way. */
  clearPending(kind: 'orders' | 'customers', changes: readonly WriteBackChange[], mayCommit: MayCommit): Promise<void>;
  /** Rows in the side table of this kind, in the order of their keys, after this one ('': from the first). @throws WriteBackError */
  rowsAfter(kind: WriteBackKind, after: string, limit: number): Promise<SideTableRow[]>;
  /** The database that is written: host and database, or the file. */
  identity(): string;
  close(): Promise<void>;
}

/** A row of a side table: the record's key in the ERP, and its id at the service, or null if it has none. */
interface SideTableRow {
  key: string;
  serviceId: string | null;
}

/** The target for changes of a kind: the side table, or statements of the settings. */
interface WriteTarget {
  kind: WriteBackKind;
  settings: WriteBackTarget;
  dialect: ErpDialect;
}

/** SQLite takes 32,766 values, MySQL 65,535; a statement should stay small. */
const maxRows = 200;

/** The statements that bring these changes into the ERP. Pure. `now`: wall time of the ERP. */
export function writeBackStatements(
  target: WriteTarget,
  changes: readonly WriteBackChange[],
  now: string,
): WriteStatement[] {
  if (target.settings.upsert !== undefined)
    return changes.flatMap((change) => (keepsColumns(target, change) ? [] : ownStatement(target, change)));
  const statements: WriteStatement[] = [];
  for (let start = 0; start < changes.length; start += maxRows) {
    const chunk = changes.slice(start, start + maxRows);
    const written = chunk.filter(({ row }) => row !== null);
    const gone = chunk.filter(({ row }) => row === null).map(({ key }) => key);
    // Rows with the same columns together: the others stay as they are.
    const shapeOf = ({ row }: WriteBackChange) => Object.keys(row ?? {}).join();
    for (const shape of new Set(written.map(shapeOf))) {
      const alike = written.filter((change) => shapeOf(change) === shape);
      statements.push(upsert(target, alike, now));
    }
    if (gone.length > 0) {
      const { table, key } = sideTable(target);
      const places = gone.map((_, at) => target.dialect.placeholder(at + 1));
      statements.push({ sql: `DELETE FROM ${table} WHERE ${key} IN (${places.join(',')})`, values: gone });
    }
  }
  return statements;
}

/** Each statement of this kind once, for a record that is nowhere: to be explained. Pure. @param clearPending the statement, where there is one */
export function statementsOfKind(target: WriteTarget, clearPending: string | undefined): WriteStatement[] {
  const { kind, settings } = target;
  const row = Object.fromEntries(writeBackColumns[kind].slice(1).map((column) => [column, null]));
  const change = { key: '', keyParts: [], row };
  const left = { ...change, row: kind === 'invoices' ? { ...row, no_longer_listed_at: '2026-01-01 00:00:00' } : null };
  const statements = [change, left].flatMap((one) => writeBackStatements(target, [one], '2026-01-01 00:00:00'));
  if (clearPending === undefined) return statements;
  return [
    ...statements,
    ownStatement({ ...target, settings: { ...settings, upsert: clearPending, gone: undefined } }, change),
  ];
}

const idColumns = { orders: 'service_order_id', customers: 'service_customer_id', invoices: null };

/** The query for a page of a side table, in the order of its keys: the key, and the id at the service. Pure. */
export function rowsQuery(target: WriteTarget, after: string, limit: number): WriteStatement {
  const { table, key } = sideTable(target);
  const id = idColumns[target.kind] ?? 'NULL';
  const sql = `SELECT ${key}, ${id} FROM ${table} WHERE ${key}>${target.dialect.placeholder(1)} ORDER BY ${key} LIMIT ${Math.trunc(limit)}`;
  return { sql, values: [after] };
}

/** Why rows of a side table would be written twice, or null. @param ask runs a query on the database that is written */
export async function keyProblem(
  { kind, settings, dialect }: WriteTarget,
  ask: (statement: WriteStatement) => Promise<readonly unknown[]>,
): Promise<string | null> {
  if (settings.upsert !== undefined || !dialect.insertsTwiceWithoutKey) return null;
  const [key] = writeBackColumns[kind];
  if ((await ask(keysOn(dialect, settings.table, key))).length > 0) return null;
  return `The table ${settings.table} has no unique key on ${key}, so that each write would add rows to it. Remove the rows that are there twice, then: ALTER TABLE ${settings.table} ADD PRIMARY KEY (${key})`;
}

function sideTable({ kind, settings, dialect }: WriteTarget) {
  const [key, ...columns] = writeBackColumns[kind];
  return { table: dialect.quoteIdentifier(settings.table), key, columns };
}

function upsert(target: WriteTarget, changes: readonly WriteBackChange[], now: string): WriteStatement {
  const { dialect } = target;
  const { table, key, ...all } = sideTable(target);
  const columns = all.columns.filter((column) => changes[0]?.row?.[column] !== undefined);
  const set = [...columns, 'written_at'].map((column) => `${column}=${dialect.insertedValue(column)}`);
  const rows = changes.map(({ key: id, row }) => [id, ...columns.map((column) => row?.[column] ?? null), now]);
  const placeholder = (row: number, at: number) => dialect.placeholder(row * (columns.length + 2) + at + 1);
  const places = rows.map((row, n) => `(${row.map((_, at) => placeholder(n, at)).join(',')})`).join(',');
  const insert = `INSERT INTO ${table} (${[key, ...columns, 'written_at'].join(',')}) VALUES ${places}`;
  return { sql: `${insert} ${dialect.onConflict(key)} ${set.join(',')}`, values: rows.flat() };
}

/** A statement of the settings writes all that it names, also a column that is to stay as it is. */
function keepsColumns({ kind, settings, dialect }: WriteTarget, { row }: WriteBackChange): boolean {
  if (row === null) return false;
  const { names } = parseNamedParameters(settings.upsert ?? '', dialect.backslashEscapes);
  return writeBackColumns[kind].slice(1).some((column) => row[column] === undefined && names.includes(column));
}

function ownStatement({ kind, settings, dialect }: WriteTarget, change: WriteBackChange): WriteStatement {
  const { key, keyParts, row } = change;
  const { upsert: written = '', gone } = settings;
  const hasLeft = row === null || (kind === 'invoices' && row.no_longer_listed_at !== null);
  const { pieces, names } = parseNamedParameters(
    hasLeft && gone !== undefined ? gone : written,
    dialect.backslashEscapes,
  );
  const valueFor = (name: string): string | null => {
    if (name === writeBackColumns[kind][0]) return key;
    const part = /^key_(\d+)$/.exec(name)?.[1];
    return part === undefined ? (row?.[name] ?? null) : (keyParts[Number(part) - 1] ?? null);
  };
  const sql = pieces.map((piece, at) => (at === 0 ? piece : dialect.placeholder(at) + piece)).join('');
  return { sql, values: names.map(valueFor) };
}

/** The statement that sets back the flag by which records of this kind are pending; undefined: there is none. */
export function clearPendingOf({ enabled, orders, customers }: WriteBackSettings, entity: Entity | null) {
  const own = { order: orders, customer: customers };
  return enabled && entity !== null && own[entity].enabled ? own[entity].clearPending : undefined;
}
