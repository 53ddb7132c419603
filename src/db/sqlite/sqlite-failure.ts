import type { FailureCause, Failures } from '../failures.js';

/** A journal lies beside the file, which only a program that may write can take back. */
const interrupted = /^SQLITE_READONLY_ROLLBACK/;

/** Keyed by the beginning of SQLite's code, or of Node's. */
const causes: readonly (readonly [RegExp, FailureCause])[] = [
  // Another process writes, restores the log after a crash, or has written since this one read: SQLITE_BUSY_SNAPSHOT and the like.
  [/^SQLITE_(BUSY|LOCKED)/, 'busy'],
  [/^SQLITE_NOTADB/, 'no_database'],
  [/^(SQLITE_CANTOPEN|ENOENT)/, 'no_file'],
  [/^(EACCES|EPERM|EROFS)/, 'no_folder_right'],
  [/^SQLITE_READONLY/, 'read_only'],
  [/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/, 'value'],
  // Something in the statement: no such table, no such column, no SQL at all.
  [/^SQLITE_ERROR/, 'statement'],
  [/^SQLITE_CORRUPT/, 'damaged'],
  [/^SQLITE_/, 'broken'],
];

const noDatabase = 'Check erp.file: it names no SQLite database.';
const make = 'Make what it names; `waybill erp side-tables` prints what is needed.';

/** The causes of failures of a SQLite file. */
export const sqliteFailures: Failures = {
  read(error) {
    const { code = '', message } = error as { code?: string; message?: string };
    const [, cause] = causes.find(([pattern]) => pattern.test(code)) ?? [null, 'unknown' as const];
    if (interrupted.test(code))
      return { cause: 'broken', words: 'a program broke off while it wrote: start it once more' };
    return { cause, words: (message ?? String(error)) || code };
  },
  advice: {
    erp: {
      no_database: noDatabase,
      no_folder_right: 'Check erp.file, and that this user may read it.',
      // It was opened for reading: only the -shm file is ever written.
      read_only:
        'The file is in WAL mode, in which SQLite reads only with a -shm file beside it: let this account write in its ' +
        'folder, or let the ERP keep the file open, or read a copy.',
    },
    writeBack: { no_database: noDatabase, no_file: 'Check erp.file.', read_only: make, statement: make },
  },
};
