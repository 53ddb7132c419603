import { primaryKey, tablesInPath } from '../db/catalogue.js';
import { insertRows, type Row } from './rows.js';
import { readSealedLines, writeSealedLines } from './sealed-lines.js';
import type { SqlValue, Store, Tx } from './store.js';
import { StoreError } from './store-error.js';
import { writeWholeFile } from './whole-file.js';

/** The first line of a logical copy; then one row a line. */
interface Header {
  waybill: 'backup';
  version: 2;
  migrations: string[];
}

const pageSize = 500;

/**
 * Copies a store that is in use into a new file, mode 0600, as it was at one moment. SQLite: a database file, to be put in
 * the store's place. A database on a server: all rows as JSON lines, for `restoreStore`.
 * @returns how many rows were copied; null for SQLite, where pages are
 */
export async function backupStore(store: Store, file: string): Promise<number | null> {
  if (store.dialect.beginSnapshot !== null)
    return writeSealedLines(file, (write) => store.snapshot('copy itself', (tx) => writeRows(tx, write)));
  return writeWholeFile(file, async (_, draft) => {
    // An empty file is taken for a new one, and keeps its mode.
    await store.read('copy itself', (tx) => tx.select('VACUUM INTO ?', [draft]));
    return null;
  });
}

async function writeRows(tx: Tx, write: (lines: readonly object[]) => Promise<void>): Promise<number> {
  const header: Header = { waybill: 'backup', version: 2, migrations: await migrationsOf(tx) };
  await write([header]);
  let count = 0;
  for (const table of await tablesOf(tx)) {
    const key = await keyOf(tx, table);
    let last: Row | null = null;
    for (;;) {
      const [where, parameters] = last ? after(key, last) : ['1=1', []];
      const rows: Row[] = await tx.select<Row>(
        `SELECT * FROM ${table} WHERE ${where} ORDER BY ${key.join(',')} LIMIT ${pageSize}`,
        parameters,
      );
      await write(rows.map((row) => ({ table, row })));
      count += rows.length;
      last = rows.at(-1) ?? null;
      if (rows.length < pageSize) break;
    }
  }
  return count;
}

/**
 * Fills an empty store on a server with a logical copy, whole or not at all.
 * @throws StoreError when the store holds anything, or the file is of another version; FileError when it is damaged
 */
export async function restoreStore(store: Store, file: string): Promise<number> {
  return store.transaction('restore a copy', async (tx) => {
    // First, so that another process that restores has ended before it is counted what is there.
    await tx.run('DELETE FROM store_info');
    const used = await tx.value<number>(
      'SELECT (SELECT COUNT(*) FROM outbox_message) + (SELECT COUNT(*) FROM binding) + (SELECT COUNT(*) FROM audit_log)',
    );
    if (used !== 0) throw new StoreError('A copy can only be restored into an empty store. Name another database.');
    if (tx.dialect.beginSnapshot === null) throw new StoreError('A SQLite store is not filled from such a copy.');
    const tables = await tablesOf(tx);
    let number = 0;
    let batch: { table: string; rows: Row[] } = { table: '', rows: [] };
    const flush = async () => {
      if (batch.rows.length > 0) await insertRows(tx, batch.table, batch.rows);
    };
    for await (const line of readSealedLines(file)) {
      const value = line as Partial<Header> & { table?: string; row?: Row };
      if (number === 0) {
        const own = await migrationsOf(tx);
        if (value.waybill !== 'backup' || value.version !== 2) throw new StoreError(`${file} is no copy of a store.`);
        if (JSON.stringify(value.migrations) !== JSON.stringify(own))
          throw new StoreError(`${file} was made with another schema: restore it with the version that made it.`);
      } else if (value.table && value.row && tables.includes(value.table)) {
        if (batch.table !== value.table || batch.rows.length === pageSize) {
          await flush();
          batch = { table: value.table, rows: [] };
        }
        batch.rows.push(value.row);
      } else throw new StoreError(`${file}, line ${number + 1}: no row of a store.`);
      number++;
    }
    await flush();
    for (const table of tables) {
      const statement = tx.dialect.moveCounter(table);
      if (statement !== null && (await keyOf(tx, table)).join() === 'id') await tx.select(statement);
    }
    return number - 1;
  });
}

/** Strictly behind a row in the order of its key, written so that the index finds the place. */
function after(key: readonly string[], row: Row): [string, SqlValue[]] {
  const parameters: SqlValue[] = [];
  const parts = key.map((column, i) => {
    const equal = key.slice(0, i).map((before) => `${before}=?`);
    parameters.push(...key.slice(0, i + 1).map((name) => row[name] ?? null));
    return `(${[...equal, `${column}>?`].join(' AND ')})`;
  });
  return [parts.join(' OR '), parameters];
}

async function tablesOf(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ tableName: string }>(tablesInPath(tx.dialect.catalogue));
  return rows.map(({ tableName }) => tableName).filter((name) => name !== 'migration');
}

async function keyOf(tx: Tx, table: string): Promise<string[]> {
  const rows = await tx.rows<{ columnName: string }>(primaryKey(tx.dialect.catalogue), [table]);
  return rows.map(({ columnName }) => columnName);
}

export async function migrationsOf(tx: Tx): Promise<string[]> {
  return (await tx.select<{ name: string }>('SELECT name FROM migration ORDER BY name')).map((row) => row.name);
}
