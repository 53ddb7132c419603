import type { Database } from 'better-sqlite3';
import { DataSource } from 'typeorm/data-source/DataSource.js';
import { storeDataSource } from '../../../src/store/data-source.js';
import { Store } from '../../../src/store/store.js';
import { running } from './machine.js';

/** Around every transaction, and right before its end, a process may be struck. */
export function interceptStore(): void {
  for (const how of ['transaction', 'statement', 'read', 'snapshot'] as const) {
    const original = Store.prototype[how] as (
      action: string,
      work: (tx: never) => Promise<unknown>,
    ) => Promise<unknown>;
    const struck = async function (this: Store, action: string, work: (tx: never) => Promise<unknown>) {
      const one = running.getStore();
      if (!one) return original.call(this, action, work);
      await one.pass();
      const result = await original.call(this, action, async (tx) => {
        const done = await work(tx);
        if (how === 'transaction') await one.pass(false);
        return done;
      });
      await one.pass();
      return result;
    };
    Store.prototype[how] = struck as never;
  }
}

/**
 * The migrations of an empty store run once. Afterwards, what they made is made again in one go: running them all costs as much
 * as three commands. A store that holds anything is migrated for real.
 */
export async function rememberMigrations(): Promise<void> {
  const fresh = await storeDataSource({ type: 'sqlite', file: ':memory:' } as never);
  await fresh.initialize();
  await fresh.runMigrations({ transaction: 'all' });
  const script = scriptOf(databaseOf(fresh));
  await fresh.destroy();
  const migrate = DataSource.prototype.runMigrations;
  DataSource.prototype.runMigrations = async function (options) {
    const database = databaseOf(this);
    const isEmpty = database.prepare('SELECT 1 FROM sqlite_master').get() === undefined;
    // Earlier versions have fewer migrations, and then others follow.
    if (!running.getStore() || !isEmpty) return migrate.call(this, options);
    database.exec(script);
    return [];
  };
}

const databaseOf = ({ driver }: DataSource) =>
  (driver as unknown as { databaseConnection: Database }).databaseConnection;

/** All that a database holds, as SQL. */
function scriptOf(database: Database): string {
  const all = <Row>(sql: string) => database.prepare(sql).all() as Row[];
  const things = all<{ type: string; name: string; sql: string | null }>(
    "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type='trigger', type='index', rowid",
  );
  const rows = [...things.filter(({ type }) => type === 'table').map(({ name }) => name)].flatMap((name) =>
    all<Record<string, unknown>>(`SELECT * FROM "${name}"`).map((row) => {
      const values = Object.values(row).map((value) => database.prepare('SELECT quote(?)').pluck().get(value));
      return `INSERT INTO "${name}" (${Object.keys(row).join(',')}) VALUES (${values.join(',')})`;
    }),
  );
  const isTrigger = ({ type }: { type: string }) => type === 'trigger';
  const sql = (some: typeof things) => some.flatMap((one) => (one.sql === null ? [] : [one.sql]));
  return [...sql(things.filter((one) => !isTrigger(one))), ...rows, ...sql(things.filter(isTrigger))].join(';\n');
}
