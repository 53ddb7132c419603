import type { WriteBackTarget } from '../../config/sections/write-back.js';
import { parseNamedParameters } from '../../model/named-parameters.js';
import { type WriteBackChange, type WriteBackKind, writeBackColumns } from '../../model/write-back.js';

export type ErpDialect = 'mysql' | 'sqlite';

/** A statement for the driver to prepare; `?` stands for each value. */
export interface PreparedText {
  sql: string;
  values: (string | null)[];
}

/** What the service once said and nobody knows any more (its audit line is pruned) does not take itself away. */
const keptWhenUnknown = new Set(['service_status', 'service_total', 'order_number']);
/** SQLite takes 32,766 values, MySQL 65,535; a statement should stay small. */
const maxRows = 200;

/** The statements that bring these changes into the ERP. Pure. `now`: wall time of the ERP. */
export function writeBackStatements(
  kind: WriteBackKind,
  target: WriteBackTarget,
  dialect: ErpDialect,
  changes: readonly WriteBackChange[],
  now: string,
): PreparedText[] {
  if (target.upsert !== undefined) return changes.map((change) => ownStatement(kind, target, dialect, change));
  const statements: PreparedText[] = [];
  for (let start = 0; start < changes.length; start += maxRows) {
    const chunk = changes.slice(start, start + maxRows);
    const written = chunk.filter(({ row }) => row !== null);
    const gone = chunk.filter(({ row }) => row === null);
    if (written.length > 0) statements.push(tableUpsert(kind, target.table, dialect, written, now));
    if (gone.length > 0) statements.push(tableDelete(kind, target.table, dialect, gone));
  }
  return statements;
}

/** The statement that reads a page of the keys of a side table. Pure. */
export function keysStatement(
  kind: WriteBackKind,
  { table }: WriteBackTarget,
  dialect: ErpDialect,
  after: string,
  limit: number,
): PreparedText {
  const [key] = writeBackColumns[kind];
  return {
    sql: `SELECT ${key} FROM ${quoteName(dialect, table)} WHERE ${key}>? ORDER BY ${key} LIMIT ${Math.trunc(limit)}`,
    values: [after],
  };
}

export function quoteName(dialect: ErpDialect, name: string): string {
  return dialect === 'mysql' ? `\`${name.replaceAll('`', '``')}\`` : `"${name.replaceAll('"', '""')}"`;
}

function tableUpsert(
  kind: WriteBackKind,
  table: string,
  dialect: ErpDialect,
  changes: readonly WriteBackChange[],
  now: string,
): PreparedText {
  const [keyColumn, ...others] = writeBackColumns[kind];
  const given = [keyColumn, ...others, 'written_at'];
  const tableName = quoteName(dialect, table);
  const set = [...others, 'written_at'].map((column) => {
    const value = dialect === 'mysql' ? `VALUES(${column})` : `excluded.${column}`;
    const before = dialect === 'mysql' ? column : `${tableName}.${column}`;
    return `${column}=${keptWhenUnknown.has(column) ? `COALESCE(${value}, ${before})` : value}`;
  });
  const places = changes.map(() => `(${given.map(() => '?').join(',')})`).join(',');
  const onConflict = dialect === 'mysql' ? 'ON DUPLICATE KEY UPDATE' : `ON CONFLICT (${keyColumn}) DO UPDATE SET`;
  return {
    sql: `INSERT INTO ${tableName} (${given.join(',')}) VALUES ${places} ${onConflict} ${set.join(',')}`,
    values: changes.flatMap(({ key, row }) => [key, ...others.map((column) => row?.[column] ?? null), now]),
  };
}

function tableDelete(
  kind: WriteBackKind,
  table: string,
  dialect: ErpDialect,
  changes: readonly WriteBackChange[],
): PreparedText {
  const places = changes.map(() => '?').join(',');
  return {
    sql: `DELETE FROM ${quoteName(dialect, table)} WHERE ${writeBackColumns[kind][0]} IN (${places})`,
    values: changes.map(({ key }) => key),
  };
}

function ownStatement(
  kind: WriteBackKind,
  { upsert = '', gone }: WriteBackTarget,
  dialect: ErpDialect,
  { key, keyParts, row }: WriteBackChange,
): PreparedText {
  const hasLeft = row === null || (kind === 'invoices' && row.no_longer_listed_at !== null);
  const { pieces, names } = parseNamedParameters(hasLeft && gone !== undefined ? gone : upsert, dialect === 'mysql');
  const valueFor = (name: string): string | null => {
    if (name === writeBackColumns[kind][0]) return key;
    const part = /^key_(\d+)$/.exec(name)?.[1];
    return part === undefined ? (row?.[name] ?? null) : (keyParts[Number(part) - 1] ?? null);
  };
  return { sql: pieces.join('?'), values: names.map(valueFor) };
}
