import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
import { DriverMissing } from '../failures.js';

export type SqliteFile = BetterSqlite3.Database;
export type SqliteOptions = BetterSqlite3.Options;

const retryBusyMs = 50;

/**
 * No version of better-sqlite3 runs on every Node that Waybill supports: 13 needs Node-API 10, which came with Node 22.14, and
 * 12 aborts the process on Node 24.19 and newer when a statement is collected.
 */
export function driverFor(nodeApi: string | undefined): 'better-sqlite3' | 'better-sqlite3-13' {
  return Number(nodeApi) >= 10 ? 'better-sqlite3-13' : 'better-sqlite3';
}

/** An installation without SQLite for this Node. */
class SqliteMissing extends DriverMissing {
  constructor(cause: unknown, nodeVersion: string) {
    // The native loader and Node list what they tried on further lines.
    const [reason] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
    super(
      `There is no SQLite for Node ${nodeVersion} here (${reason}). Waybill needs Node 20.19, 22.14, 24 or newer. In ` +
        "Waybill's folder, run `npm ci && npm run build` with the Node that runs Waybill.",
      { cause },
    );
    this.name = 'SqliteMissing';
  }
}

let driver: typeof BetterSqlite3 | undefined;

/**
 * The driver for the Node that runs, loaded with its first use.
 * @throws SqliteMissing
 */
export function sqliteDriver(): typeof BetterSqlite3 {
  driver ??= loadDriver(driverFor(process.versions.napi));
  return driver;
}

export function openSqlite(file: string, options: SqliteOptions = {}): SqliteFile {
  return new (sqliteDriver())(file, options);
}

/** SQLite's own words, e.g. SQLITE_BUSY, or '' for any other error. */
export function sqliteCode(error: unknown): string {
  return driver !== undefined && error instanceof driver.SqliteError ? error.code : '';
}

/** Tries again while another program holds the file locked. A wait inside SQLite would block the whole process. */
export async function untilNotBusy<T>(waitMs: number, attempt: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    await sleep(retryBusyMs);
  }
}

export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(error));
}

/** @throws SqliteMissing also when `name` is not built, or built for another Node */
export function loadDriver(name: string, nodeVersion = process.version): typeof BetterSqlite3 {
  try {
    const loaded: typeof BetterSqlite3 = createRequire(import.meta.url)(name);
    // Its binary is loaded only now.
    new loaded(':memory:').close();
    return loaded;
  } catch (cause) {
    throw new SqliteMissing(cause, nodeVersion);
  }
}
