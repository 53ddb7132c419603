import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { DataSource } from 'typeorm';
import type { StoreSettings } from '../config/sections/store.js';
import { createPrivateFile, limitSessions, migrations, storeDataSource } from './data-source.js';
import { Store } from './store.js';
import { StoreError, tlsHint } from './store-error.js';
import { readStoreInfo, writeStoreInfo } from './store-info.js';

interface OpenedStore {
  store: Store;
  /** What the administrator should know, e.g. that commits of this server may be lost in a power cut. */
  warnings: string[];
}

/**
 * Connects to the store and brings its schema up to date.
 * @throws StoreError when it can't be reached, or when another version made its schema.
 */
export async function openStore(settings: StoreSettings): Promise<OpenedStore> {
  const dataSource = await connect(settings);
  try {
    const store = new Store(dataSource);
    await migrate(store, dataSource);
    // Afterwards: the session that holds the migrations' lock rests while another one works.
    if (dataSource.options.type === 'mysql') limitSessions(dataSource);
    await store.transaction('name itself', async (tx) => {
      // Updates take their keys from the incarnation: a store made anew must not use an old store's keys again.
      if ((await readStoreInfo(tx, 'incarnation')) === null) await writeStoreInfo(tx, 'incarnation', randomUUID());
    });
    return { store, warnings: await durabilityWarnings(dataSource) };
  } catch (error) {
    await dataSource.destroy();
    throw StoreError.wrap('open', error);
  }
}

/** @throws StoreError that says which store, and what to look at */
async function connect(settings: StoreSettings, readOnly = false): Promise<DataSource> {
  const place =
    settings.type === 'sqlite'
      ? settings.file
      : `${settings.user}@${settings.host}:${settings.port}/${settings.database}`;
  try {
    if (settings.type === 'sqlite' && !readOnly) createPrivateFile(settings.file);
    return await storeDataSource(settings, readOnly).initialize();
  } catch (cause) {
    const { message, code } = cause as { message?: string; code?: string };
    const advice = tlsHint(code) ?? 'Check the settings under `store`, and that it is running and writable.';
    throw new StoreError(`The store ${place} can not be opened: ${message || code}. ${advice}`, {
      cause,
      unreachable: true,
    });
  }
}

/** A daemon and a command may open a new store at the same moment: one migrates, the other waits for it. */
async function migrate(store: Store, dataSource: DataSource): Promise<void> {
  if (store.dialect === 'sqlite') {
    // SQLite has one connection, so that the migrations run inside this transaction.
    return store.transaction('bring its schema up to date', async () => {
      refuseForeignSchema(await migrationsOf(dataSource));
      await dataSource.runMigrations({ transaction: 'none' });
    });
  }
  const runner = dataSource.createQueryRunner();
  try {
    // The name of a lock counts for the whole server, and has 64 characters at most.
    const lock = "CONCAT('waybill ', MD5(DATABASE()))";
    const [row] = await runner.query(`SELECT GET_LOCK(${lock}, 60) AS taken`);
    if (Number(row?.taken) !== 1)
      throw new StoreError(
        'Another process has been bringing the schema up to date for a minute. Look after it, then try again.',
      );
    try {
      refuseForeignSchema(await migrationsOf(dataSource));
      await dataSource.runMigrations({ transaction: 'each' });
    } finally {
      await runner.query(`SELECT RELEASE_LOCK(${lock})`).catch(() => undefined);
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

function refuseForeignSchema(names: readonly string[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new StoreError(
      `The store has the schema of another version of Waybill (${unknown.join(', ')}). Install the version that made it.`,
    );
}

async function durabilityWarnings(dataSource: DataSource): Promise<string[]> {
  if (dataSource.options.type !== 'mysql') return [];
  const [row] = await dataSource.query('SELECT @@innodb_flush_log_at_trx_commit AS flush');
  if (Number(row?.flush) === 1) return [];
  return [
    `The store's server has innodb_flush_log_at_trx_commit=${row?.flush}: a power cut may lose what was acknowledged. Set it to 1.`,
  ];
}

/**
 * Opens a store to look at it: nothing is created, migrated or written, so that a monitor that runs under another account, or a
 * minute before the daemon, changes nothing.
 * @throws StoreError when there is no store yet, or when its schema is not the one of this program
 */
export async function openStoreForReading(settings: StoreSettings): Promise<OpenedStore> {
  if (settings.type === 'sqlite' && !existsSync(settings.file))
    throw new StoreError(`There is no store ${settings.file} yet: the daemon makes it at its first start (npm start).`);
  const dataSource = await connect(settings, true);
  try {
    const store = new Store(dataSource);
    const done = new Set(await store.read('read its schema', () => migrationsOf(dataSource)));
    if (done.size === 0)
      throw new StoreError('The store is empty yet: the daemon fills it at its first start (npm start).');
    if (migrations.some(({ name }) => !done.has(name)))
      throw new StoreError(
        'The store has an older schema than this version of Waybill: restart the daemon, or say `waybill migrate`.',
      );
    refuseForeignSchema([...done]);
    return { store, warnings: [] };
  } catch (error) {
    await dataSource.destroy();
    throw StoreError.wrap('open', error);
  }
}
