import type { Settings } from '../config/settings.js';
import { erpDatabase, writableErpDatabase } from '../db/databases.js';
import { defaultSource } from '../model/record.js';
import type { WriteBackKind } from '../model/write-back.js';
import { allSources } from './all-sources.js';
import { databaseErpReader } from './database-erp-reader.js';
import type { ErpReader, ErpSource } from './erp-reader.js';
import { wallText } from './time/wall-time.js';
import {
  type ErpWriter,
  keyProblem,
  type MayCommit,
  rowsQuery,
  WriteBackError,
  writeBackStatements,
} from './write-back/erp-writer.js';

/**
 * The reader of the configured ERP. It connects with the first read, and again after a failure. `erp.password` is
 * resolved already.
 */
export async function openErpReader(settings: ErpSource): Promise<ErpReader> {
  return databaseErpReader(await erpDatabase(settings.erp), settings);
}

/** The reader of all sources of the settings. */
export async function openSources(settings: Settings): Promise<ErpReader> {
  const own = await openErpReader(settings);
  if (settings.named === undefined) return own;
  const readers = new Map([[defaultSource, own]]);
  for (const named of settings.named) readers.set(named.source ?? defaultSource, await openErpReader(named));
  return allSources(readers);
}

/** The configured ERP's writer; null where the write-back is off. It connects with the first write. */
export async function openErpWriter({
  erp,
  writeBack,
}: Pick<Settings, 'erp' | 'writeBack'>): Promise<ErpWriter | null> {
  if (!writeBack.enabled) return null;
  const database = await writableErpDatabase(erp, writeBack);
  const targetOf = (kind: WriteBackKind) => ({ kind, settings: writeBack[kind], dialect: database.dialect });
  return {
    async write(kind, changes, mayCommit) {
      const target = targetOf(kind);
      const problem = await keyProblem(target, (query) => database.rows(query, kind));
      if (problem !== null) throw new WriteBackError('target', `Could not write ${kind} back: ${problem}.`);
      const statements = writeBackStatements(target, changes, wallText(Date.now(), erp.timeZone));
      await runUnless(mayCommit, (asked) => database.transaction(statements, kind, asked));
    },
    async clearPending(kind, changes, mayCommit) {
      const { dialect } = database;
      const settings = { ...writeBack[kind], upsert: writeBack[kind].clearPending, gone: undefined };
      const statements = writeBackStatements({ kind, settings, dialect }, changes, '');
      await runUnless(mayCommit, (asked) => database.transaction(statements, kind, asked));
    },
    async rowsAfter(kind, after, limit) {
      const rows = await database.rows(rowsQuery(targetOf(kind), after, limit), kind);
      return rows.map(([key, serviceId]) => ({ key: String(key), serviceId: serviceId ?? null }));
    },
    identity: () => database.identity(),
    close: () => database.close(),
  };
}

/** Runs a transaction. Why `mayCommit` has it rolled back is thrown as it is: it is no failure of the ERP. */
async function runUnless(mayCommit: MayCommit, run: (asked: MayCommit) => Promise<void>): Promise<void> {
  const refused: unknown[] = [];
  const asked = () =>
    mayCommit().catch((error) => {
      refused.push(error);
      throw error;
    });
  try {
    await run(asked);
  } catch (error) {
    throw refused[0] ?? error;
  }
}
