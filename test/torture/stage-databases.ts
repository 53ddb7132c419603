import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createSampleErp, sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import type { MariaDb } from '../support/mariadb.js';
import type { TestDatabase, TestUser } from '../support/mariadb-database.js';
import type { Postgres } from '../support/postgres.js';
import type { TestDatabase as PostgresDatabase } from '../support/postgres-database.js';
import { openSqlite } from '../support/sqlite-file.js';
import type { DatabaseServer } from './database-server.js';
import { type ErpDesk, mariaDbDesk, sqliteDesk } from './erp-desk.js';
import { shapeErp, shapeSqliteErp } from './erp-shape.js';
import type { Network } from './network.js';
import type { Plan } from './plan.js';
import { asideTables, pruneWitnessSql, tellBackSettings, touchSql, writeBackTable } from './stage-tables.js';
import {
  makeMariaDbStore,
  makePostgresStore,
  makeSqliteStore,
  type StoreDesk,
  serverStoreDesk,
  sqliteStoreDesk,
} from './store-desk.js';

/** The databases that the daemons work on and between. */
export interface Databases {
  /** Between the daemons and their databases; null where those are files. */
  readonly databaseProxy: Network | null;
  /** On that server: the store, and the accounts of Waybill. */
  readonly databases: { store: TestDatabase | PostgresDatabase; users: readonly TestUser[] } | null;
  readonly erp: ErpDesk;
  /** Changes in the ERP by somebody else than the people at the desk. */
  readonly erpTouched: () => Promise<string[]>;
  /** Another name of the same ERP, as a node could have it in its settings. */
  readonly erpElsewhere: NodeJS.ProcessEnv;
  store: StoreDesk;
}

type Made = Databases & { settings: Record<string, unknown>; secrets: NodeJS.ProcessEnv };

/** The ERP and the store of a run. @param proxy the way of the daemons to the server */
export async function makeDatabases(
  plan: Plan,
  on: { server: DatabaseServer; proxy: Network } | null,
  folder: string,
  storeFile: string,
  closers: (() => unknown)[],
): Promise<Made> {
  if (on === null) return sqliteFiles(plan, folder, storeFile, closers);
  return on.server.type === 'mysql'
    ? mariaDbs(plan, on.server.server, on.proxy, closers)
    : postgresStore(plan, on.server.server, on.proxy, folder, closers);
}

function prunes({ faults }: Plan): boolean {
  return faults.some(({ fault }) => fault.kind === 'store-pruned');
}

async function sqliteFiles(plan: Plan, folder: string, storeFile: string, closers: (() => unknown)[]): Promise<Made> {
  const { settings, ...erp } = await sqliteErp(plan, folder, closers);
  await makeSqliteStore(storeFile, prunes(plan) ? pruneWitnessSql('sqlite') : []);
  return {
    ...erp,
    store: sqliteStoreDesk(storeFile),
    databases: null,
    databaseProxy: null,
    settings: { ...settings, store: { type: 'sqlite', file: storeFile } },
    secrets: {},
  };
}

/** Only the store is on the server: the ERP on PostgreSQL has tests of its own. */
async function postgresStore(
  plan: Plan,
  server: Postgres,
  proxy: Network,
  folder: string,
  closers: (() => unknown)[],
): Promise<Made> {
  const store = await server.createDatabase();
  closers.push(() => store.drop());
  const { settings, ...erp } = await sqliteErp(plan, folder, closers);
  await makePostgresStore(store, prunes(plan) ? pruneWitnessSql('postgres') : []);
  return {
    ...erp,
    store: serverStoreDesk(store),
    databases: { store, users: [store] },
    databaseProxy: proxy,
    settings: {
      ...settings,
      store: { type: 'postgres', host: '127.0.0.1', port: proxy.port, database: store.database, user: store.user },
    },
    secrets: { WAYBILL_STORE_PASSWORD: store.password },
  };
}

async function sqliteErp(
  plan: Plan,
  folder: string,
  closers: (() => unknown)[],
): Promise<Pick<Made, 'erp' | 'erpTouched' | 'erpElsewhere' | 'settings'>> {
  const erpFile = join(folder, 'erp.sqlite');
  await createSampleErp({ target: { type: 'sqlite', file: erpFile }, ...plan.erp });
  await shapeSqliteErp(erpFile, plan);
  const database = openSqlite(erpFile);
  const more = plan.tellsBack ? [writeBackTable, ...touchSql] : [];
  for (const statement of [...asideTables, ...more]) database.exec(statement);
  database.close();
  const otherFile = join(folder, 'erp-elsewhere.sqlite');
  await symlink(erpFile, otherFile);
  const erp = sqliteDesk(erpFile, plan.orderKey !== 'id', plan.tellsBack);
  closers.push(() => erp.close());
  // It moves when any connection but this one commits something.
  const version = async () => (await erp.read('PRAGMA data_version'))[0]?.data_version;
  const before = await version();
  return {
    erp,
    erpTouched: async () => {
      if (plan.tellsBack) return (await erp.read('SELECT what FROM touched')).map((row) => `${row.what}`);
      return (await version()) === before ? [] : ['somebody else wrote into the ERP database'];
    },
    erpElsewhere: { WAYBILL_ERP_FILE: otherFile },
    settings: {
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: erpFile },
      ...(plan.tellsBack ? tellBackSettings : {}),
    },
  };
}

async function mariaDbs(plan: Plan, server: MariaDb, proxy: Network, closers: (() => unknown)[]): Promise<Made> {
  const erp = await server.createDatabase();
  const store = await server.createDatabase();
  closers.push(
    () => erp.drop(),
    () => store.drop(),
  );
  const connection = await server.connect(erp.database);
  await createSampleErp({ target: { type: 'mysql', connection }, ...plan.erp });
  const desk = mariaDbDesk(() => server.connect(erp.database), plan.orderKey !== 'id');
  if (plan.mixUps.length > 0) await shapeErp(desk, 'mysql', plan.orderKey);
  for (const statement of asideTables) await connection.query(statement);
  await connection.query('ALTER TABLE customers MODIFY customer_no VARCHAR(700) NOT NULL');
  if (plan.tellsBack) await connection.query(writeBackTable);
  const clerk = plan.tellsBack
    ? await server.createUser([`SELECT, INSERT, UPDATE, DELETE ON \`${erp.database}\`.waybill_orders`])
    : null;
  closers.push(() => clerk?.drop());
  // More than it needs, so that a write would succeed and be seen.
  const erpUser = await server.createUser([`SELECT, INSERT, UPDATE, DELETE ON \`${erp.database}\`.*`]);
  closers.push(() => erpUser.drop());
  await connection.query('CREATE TABLE touched (what VARCHAR(200) NOT NULL)');
  for (const table of ['customers', 'sales_orders', 'sales_order_lines', 'products'])
    for (const event of ['INSERT', 'UPDATE', 'DELETE'])
      await connection.query(
        `CREATE TRIGGER ${table}_${event} AFTER ${event} ON ${table} FOR EACH ROW
           BEGIN IF USER() LIKE '${erpUser.user}@%' THEN INSERT INTO touched VALUES ('${event} ${table}'); END IF; END`,
      );
  await connection.end();
  await makeMariaDbStore(store, prunes(plan) ? pruneWitnessSql('mysql') : []);
  const { host, port } = { host: '127.0.0.1', port: proxy.port };
  return {
    erp: desk,
    erpTouched: async () => (await desk.read('SELECT what FROM touched')).map((row) => `${row.what}`),
    erpElsewhere: { WAYBILL_ERP_HOST: 'localhost' },
    store: serverStoreDesk(store),
    databases: { store, users: [store, erpUser] },
    databaseProxy: proxy,
    settings: {
      erp: { ...sampleErpMapping.erp, type: 'mysql', host, port, database: erp.database, user: erpUser.user },
      store: { type: 'mysql', host, port, database: store.database, user: store.user },
      ...(clerk ? { ...tellBackSettings, writeBack: { ...tellBackSettings.writeBack, user: clerk.user } } : {}),
    },
    secrets: {
      WAYBILL_ERP_PASSWORD: erpUser.password,
      WAYBILL_STORE_PASSWORD: store.password,
      ...(clerk ? { WAYBILL_WRITE_BACK_PASSWORD: clerk.password } : {}),
    },
  };
}
