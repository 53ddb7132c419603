import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { ErpSettings } from '../../config/sections/erp.js';
import type { WriteBackSettings } from '../../config/sections/write-back.js';
import type { WriteBackChange, WriteBackKind } from '../../model/write-back.js';
import { OneAtATime } from '../one-at-a-time.js';
import { type ErpWriter, WriteBackError, type WriteBackErrorKind } from './erp-writer.js';
import { keysStatement, writeBackStatements } from './write-back-statements.js';

const retryBusyMs = 50;

/** Writes into an ERP in a SQLite file. The file is opened for each transaction, so that a restored one is noticed. */
export class SqliteErpWriter implements ErpWriter {
  readonly #file: string;
  readonly #settings: WriteBackSettings;
  readonly #wallTime: () => string;
  readonly #queue = new OneAtATime();

  /** @param wallTime the time now, as the ERP writes it */
  constructor(erp: Extract<ErpSettings, { type: 'sqlite' }>, settings: WriteBackSettings, wallTime: () => string) {
    this.#file = resolve(erp.file);
    this.#settings = settings;
    this.#wallTime = wallTime;
  }

  write(kind: WriteBackKind, changes: readonly WriteBackChange[]): Promise<void> {
    return this.#whenFree(kind, (database) => {
      const statements = writeBackStatements(kind, this.#settings[kind], 'sqlite', changes, this.#wallTime());
      database
        .transaction(() => {
          for (const { sql, values } of statements) database.prepare(sql).run(...values);
        })
        .immediate();
    });
  }

  keysAfter(kind: WriteBackKind, after: string, limit: number): Promise<string[]> {
    const { sql, values } = keysStatement(kind, this.#settings[kind], 'sqlite', after, limit);
    return this.#whenFree(kind, (database) =>
      database
        .prepare(sql)
        .pluck()
        .all(...values)
        .map(String),
    );
  }

  identity(): string {
    return `sqlite:${this.#file}`;
  }

  close(): Promise<void> {
    return this.#queue.run(async () => {});
  }

  #whenFree<T>(kind: WriteBackKind, work: (database: Database.Database) => T): Promise<T> {
    return this.#queue.run(async () => {
      const giveUpAt = performance.now() + this.#settings.timeoutSeconds * 1000;
      for (;;) {
        try {
          return this.#withFile(work);
        } catch (error) {
          const isBusy = error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
          if (!isBusy || performance.now() > giveUpAt) throw this.#failure(error, kind);
        }
        await sleep(retryBusyMs);
      }
    });
  }

  #withFile<T>(work: (database: Database.Database) => T): T {
    // A wait inside SQLite would block the whole process.
    const database = new Database(this.#file, { fileMustExist: true, timeout: 0 });
    try {
      return work(database);
    } finally {
      database.close();
    }
  }

  #failure(cause: unknown, kind: WriteBackKind): WriteBackError {
    const message = cause instanceof Error ? cause.message : String(cause);
    const what = kindOfFailure(cause instanceof Database.SqliteError ? cause.code : '');
    const advice = what === 'target' ? ' Make what it names; `waybill erp side-tables` prints what is needed.' : '';
    return new WriteBackError(what, `Could not write ${kind} back into ${this.identity()}: ${message}.${advice}`, {
      cause,
    });
  }
}

function kindOfFailure(code: string): WriteBackErrorKind {
  if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test(code)) return 'row';
  // Something in the statement: no such table, no such column, no SQL at all.
  return code === 'SQLITE_ERROR' || /^SQLITE_READONLY/.test(code) ? 'target' : 'unreachable';
}
