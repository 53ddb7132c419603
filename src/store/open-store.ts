import { randomUUID } from 'node:crypto';
import { accessSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DataSource } from 'typeorm';
import type { StoreSettings } from '../config/sections/store.js';
import { columnsInPath } from '../db/catalogue.js';
import { storeDialect } from '../db/databases.js';
import { DriverMissing, storeAdvice, storeRetry } from '../db/failures.js';
import type { DriverError, StoreDialect } from '../db/store-dialect.js';
import { isInFile } from '../model/database-place.js';
import { redact } from '../model/redact.js';
import { storeDataSource } from './data-source.js';
import { migrations } from './migration-list.js';
import { viewNodes } from './nodes.js';
import { schemaDifference } from './schema-difference.js';
import { Store } from './store.js';
import { StoreError } from './store-error.js';
import { readStoreInfo, writeStoreInfo } from './store-info.js';

interface OpenedStore {
  store: Store;
  /** Notices for the administrator, e.g. that commits of this server may be lost in a power cut. */
  warnings: string[];
  /** Nobody has made the store yet: this is an empty one in memory. */
  isAbsent?: boolean;
}

/**
 * Connects to the store and brings its schema up to date.
 * @throws StoreError when it can't be reached, or when another version made its schema.
 */
export async function openStore(settings: StoreSettings): Promise<OpenedStore> {
  const dialect = await storeDialect(settings);
  const dataSource = await connect(dialect, settings);
  try {
    const store = new Store(dataSource);
    await migrate(store, dataSource);
    await refuseOtherSchema(store);
    await store.transaction('name itself', async (tx) => {
      // Updates take their keys from the incarnation: a store made anew must not use an old store's keys again.
      if ((await readStoreInfo(tx, 'incarnation')) !== null) return;
      await writeStoreInfo(tx, 'incarnation', randomUUID());
      await writeStoreInfo(tx, 'beside_first_key', '0');
    });
    const warning = await dialect.durabilityWarning(dataSource);
    return { store, warnings: warning === null ? [] : [warning] };
  } catch (error) {
    await dataSource.destroy();
    throw StoreError.wrap(dataSource, 'open', error);
  }
}

/** @throws StoreError that says which store, and what to look at */
async function connect(dialect: StoreDialect, settings: StoreSettings, readOnly = false): Promise<DataSource> {
  try {
    return await (await storeDataSource(settings, readOnly)).initialize();
  } catch (cause) {
    if (cause instanceof DriverMissing) throw cause;
    const { message, code } = cause as DriverError;
    const secrets = isInFile(settings) || !settings.password ? [] : [settings.password.reveal()];
    const words = redact(message || String(code), secrets);
    const read = dialect.failures.read(cause).cause;
    // A file of ours that is no database was one.
    const failure = read === 'no_database' && isInFile(settings) ? 'damaged' : read;
    const advice = storeAdvice(failure) ?? 'Check the settings under `store`, and that it is running and writable.';
    throw new StoreError(`The store ${dialect.place(settings)} can not be opened: ${words}. ${advice}`, {
      cause,
      // Waiting mends no file.
      unreachable: failure !== 'damaged',
    });
  }
}

/** A daemon and a command may open a new store at the same moment: one migrates, the other waits for it. */
async function migrate(store: Store, dataSource: DataSource): Promise<void> {
  const lock = store.dialect.migrationLock;
  if (lock === null) {
    // There is one connection, so that the migrations run inside this transaction.
    return store.transaction('bring its schema up to date', async () => {
      refuseForeignSchema(await migrationsOf(dataSource));
      await dataSource.runMigrations({ transaction: 'none' });
    });
  }
  const runner = dataSource.createQueryRunner();
  try {
    let taken: { taken: unknown }[] = [];
    try {
      for (const statement of lock.take) taken = await runner.query(statement);
    } catch (error) {
      const { driverError = {} } = error as { driverError?: DriverError };
      if (storeRetry(store.dialect.failures.read(driverError).cause) === null) throw error;
    }
    if (Number(taken[0]?.taken) !== 1)
      throw new StoreError(
        'Another process has been bringing the schema up to date for a minute. Look after it, then try again.',
      );
    try {
      const done = await migrationsOf(dataSource);
      refuseForeignSchema(done);
      await refuseUnderNodes(store, done);
      await dataSource.runMigrations({ transaction: 'each' });
    } finally {
      for (const statement of lock.release) await runner.query(statement).catch(() => undefined);
    }
  } finally {
    await runner.release();
  }
}

/** Names of the migrations that the store has had; none where it is empty. */
async function migrationsOf(dataSource: DataSource): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    if (!(await runner.hasTable('migration'))) return [];
    return (await runner.query('SELECT name FROM migration')).map(({ name }: { name: string }) => name);
  } finally {
    await runner.release();
  }
}

/**
 * An expansion adds only what an older version does not notice: tables, indices, columns that may be NULL. Its name begins so,
 * because the name is all that the older version has to judge by.
 */
const isExpansion = (name: string) => name.startsWith('Expand');

/** Nodes of the older version would meet a schema that they do not know. */
async function refuseUnderNodes(store: Store, done: readonly string[]): Promise<void> {
  if (done.length === 0 || migrations.every(({ name }) => done.includes(name) || isExpansion(name))) return;
  const nodes = await store.read('look for nodes', viewNodes);
  const names = nodes.filter(({ state }) => state === 'at work').map(({ name }) => name);
  if (names.length > 0)
    throw new StoreError(
      `This version has a newer schema than the store, on which older nodes work (${names.join(', ')}). Stop them, then start this one.`,
    );
}

function refuseForeignSchema(names: readonly string[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = names.filter((name) => !known.has(name) && !isExpansion(name));
  if (unknown.length > 0)
    throw new StoreError(
      `The store has the schema of another version of Waybill (${unknown.join(', ')}). Install the version that made it.`,
    );
}

/** The names of migrations do not tell whether their content was the same. */
async function refuseOtherSchema(store: Store): Promise<void> {
  const statement = columnsInPath(store.dialect.catalogue);
  const difference = schemaDifference(await store.read('read its columns', (tx) => tx.rows(statement)));
  if (difference !== null)
    throw new StoreError(
      `The store has another schema than this version of Waybill makes: ${difference}. A development version made it, or somebody changed it. ` +
        'Undo the change, restore a copy from before it, or go on with an empty store and `waybill recover`.',
    );
}

/**
 * Opens a store to look at it: nothing is created, migrated or written, so that a monitor that runs under another account, or a
 * minute before the daemon, changes nothing.
 * @throws StoreError when there is no store yet, or when its schema is not the one of this program
 */
export async function openStoreForReading(settings: StoreSettings): Promise<OpenedStore> {
  if (isInFile(settings) && isMissing(settings.file))
    throw new StoreError(
      `There is no store ${resolve(settings.file)} yet: the daemon makes it at its first start (npm start).`,
      { isAbsent: true },
    );
  const dialect = await storeDialect(settings);
  const dataSource = await connect(dialect, settings, true);
  try {
    const store = new Store(dataSource);
    const done = new Set(await store.read('read its schema', () => migrationsOf(dataSource)));
    if (done.size === 0)
      throw new StoreError('The store is empty yet: the daemon fills it at its first start (npm start).', {
        isAbsent: true,
      });
    if (migrations.some(({ name }) => !done.has(name)))
      throw new StoreError(
        'The store has an older schema than this version of Waybill: restart the daemon, or say `waybill migrate`.',
      );
    refuseForeignSchema([...done]);
    await refuseOtherSchema(store);
    return { store, warnings: [] };
  } catch (error) {
    await dataSource.destroy();
    throw StoreError.wrap(dataSource, 'open', error);
  }
}

/** A file in a folder that this account may not look into is not missing. */
function isMissing(file: string): boolean {
  try {
    accessSync(file);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/**
 * As `openStore`, but makes no store: what an operator says counts only in the store that the daemon works on.
 * @throws StoreError when there is no store yet
 */
export async function openExistingStore(settings: StoreSettings): Promise<OpenedStore> {
  try {
    await (await openStoreForReading(settings)).store.close();
  } catch (error) {
    if (error instanceof StoreError && error.isAbsent) throw error;
  }
  return openStore(settings);
}

/** As `openStoreForReading`; where nobody has made the store yet, an empty one in memory. */
export async function openStoreIfAny(settings: StoreSettings): Promise<OpenedStore> {
  try {
    return await openStoreForReading(settings);
  } catch (error) {
    if (!(error instanceof StoreError) || !error.isAbsent) throw error;
    return { ...(await openStore({ type: 'sqlite', file: ':memory:' })), isAbsent: true };
  }
}
