import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSampleErp, sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import type { MariaDb } from '../support/mariadb.js';
import type { TestDatabase, TestUser } from '../support/mariadb-database.js';
import { openSqlite } from '../support/sqlite-file.js';
import { startWatchdog, type Watchdog } from '../support/watchdog.js';
import { WallClock } from './clock-steps.js';
import { Coverage } from './coverage.js';
import { Crew } from './crew.js';
import { type ErpDesk, mariaDbDesk, sqliteDesk } from './erp-desk.js';
import { shapeErp, shapeSqliteErp } from './erp-shape.js';
import type { Announcement, PastLife } from './history.js';
import { longestText } from './judge-erp.js';
import { type Network, startNetwork } from './network.js';
import { Operator } from './operator.js';
import type { Plan } from './plan.js';
import { leaseSeconds, settingsOf } from './settings-of-run.js';
import {
  asideTables,
  pruneWitnessSql,
  tellBackSettings,
  touchSql,
  webhookSecret,
  writeBackTable,
} from './stage-tables.js';
import { makeMariaDbStore, makeSqliteStore, mariaDbStoreDesk, type StoreDesk, sqliteStoreDesk } from './store-desk.js';

export const token = 'canary-token-5d1f0c7e';
export const workers = ['A', 'B'] as const;
/** By this the service forgets keys later than it promises: so long a request may be on its way on a busy machine. */
export const onItsWayMs = 2_500;

/** Everything that a run happens on, and what was seen of it so far. */
export interface Stage {
  readonly plan: Plan;
  readonly folder: string;
  readonly coverage: Coverage;
  readonly sandbox: Sandbox;
  /** Between each daemon and the service, and between it and the commands. */
  readonly proxies: Record<(typeof workers)[number] | 'operator', Network>;
  /** Between the daemons and their databases; null where those are files. */
  readonly databaseProxy: Network | null;
  readonly server: MariaDb | null;
  readonly databases: { store: TestDatabase; erp: TestDatabase; erpUser: TestUser } | null;
  readonly erp: ErpDesk;
  /** What somebody else than the people at the desk changed in the ERP. */
  readonly erpTouched: () => Promise<string[]>;
  store: StoreDesk;
  readonly storeFile: string;
  readonly witnessFile: string;
  readonly crew: Crew;
  readonly operator: Operator;
  /** Orders that were too long for the service at some time. */
  readonly everRefused: Set<string>;
  /** What somebody else did: the records that a person has to look at for it, the bytes and keys that were sent, and what came of it. */
  readonly foreign: { records: Set<string>; bodies: Set<string>; keys: Set<string>; serviceIds: Set<string> };
  /** Numbers of the orders whose keys were respelled. */
  readonly respelled: Set<string>;
  /** What was seen at the service while records were mixed up, and must never be. */
  readonly breaches: string[];
  /** Records of which a person said what there is at the service. */
  readonly resolved: Map<string, 'delivered' | 'not_delivered'>;
  /** What was known of a store when it was lost; null while there was only one. */
  past: PastLife | null;
  /** When its bindings were exported for a recovery. */
  exportedAtMs: number | null;
  /** What the clock of the machine shows; null where it is the true time. */
  readonly clock: WallClock | null;
  /** Events that a daemon has taken. */
  readonly announced: Announcement[];
  /** What forgotten customers were called. */
  readonly forgotten: string[];
  /** When the service began to be asked for anything. */
  readonly startedAtMs: number;
  nextOrder(): number;
  /** Ends everything, whatever state it is in. */
  close(): Promise<void>;
}

type Databases = Pick<Stage, 'erp' | 'erpTouched' | 'store' | 'databases' | 'databaseProxy'> & {
  settings: Record<string, unknown>;
  secrets: NodeJS.ProcessEnv;
};

/** Builds the stage of a plan: the sandbox, the network, the databases; nobody works yet. */
export async function openStage(plan: Plan, server: MariaDb | null): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-torture-'));
  const watchdog = startWatchdog(folder);
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const closer of closers.reverse()) await closer();
    await watchdog.release();
  };
  try {
    return await build(plan, server, folder, watchdog, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  plan: Plan,
  server: MariaDb | null,
  folder: string,
  watchdog: Watchdog,
  closers: (() => unknown)[],
  close: () => Promise<void>,
): Promise<Stage> {
  const configDir = join(folder, 'config');
  await mkdir(configDir);
  const sandbox = await startSandbox({
    token,
    seed: plan.seed,
    limits: [{ requests: plan.limit.requests, windowMs: plan.limit.perSeconds * 1000 }],
    replayRefusals: plan.replaysRefusals,
    delayMs: [0, 25],
    extraOrderFields: ['remark'],
    maxStringLength: longestText,
    ...(plan.keyLifetimeSeconds === null ? {} : { keyLifetimeMs: plan.keyLifetimeSeconds * 1000 + onItsWayMs }),
  });
  closers.push(() => sandbox.close());
  const proxyTo = async (port: number) => {
    const proxy = await startNetwork({ host: '127.0.0.1', port });
    closers.push(() => proxy.close());
    return proxy;
  };
  const toService = () => proxyTo(sandbox.port);
  const proxies = { A: await toService(), B: await toService(), operator: await toService() };
  const storeFile = join(folder, 'waybill.sqlite');
  const witnessFile = join(folder, 'witness', 'witness.json');
  const databases = server
    ? await mariaDbs(plan, server, await proxyTo(server.port), closers)
    : await sqliteFiles(plan, folder, storeFile, closers);

  const clock = plan.clockAheadMs === null ? null : await WallClock.start(folder, plan.clockAheadMs);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: folder,
    TMPDIR: process.env.TMPDIR,
    NODE_ENV: 'production',
    WAYBILL_SERVICE_TOKEN: token,
    ...databases.secrets,
    ...clock?.environment,
  };
  const { store, ...others } = databases.settings as { store: object };
  const settings = { ...settingsOf(plan, sandbox.url), ...others, store: { ...store, witnessFile } };
  if (plan.tellsBack) await writeFile(join(configDir, 'webhook-secret'), webhookSecret);
  await writeFile(join(configDir, 'local.yaml'), JSON.stringify(settings, null, 2));
  const through = ({ port }: Network) => ({ ...env, WAYBILL_SERVICE_BASE_URL: `http://127.0.0.1:${port}` });
  const environments = new Map(workers.map((name) => [name as string, through(proxies[name])]));
  const coverage = new Coverage();
  const crew = new Crew(configDir, environments, leaseSeconds * 1000 + 700, watchdog);
  let order = 100_001;
  const stage: Stage = {
    plan,
    folder,
    coverage,
    sandbox,
    proxies,
    server,
    ...databases,
    storeFile,
    witnessFile,
    crew,
    operator: new Operator(configDir, through(proxies.operator), coverage, plan.traps.operator),
    everRefused: new Set(),
    foreign: { records: new Set(), bodies: new Set(), keys: new Set(), serviceIds: new Set() },
    respelled: new Set(),
    breaches: [],
    resolved: new Map(),
    past: null,
    exportedAtMs: null,
    clock,
    announced: [],
    forgotten: [],
    startedAtMs: Date.now(),
    nextOrder: () => order++,
    close,
  };
  closers.push(
    () => stage.store.close(),
    () => crew.stop(0),
  );
  return stage;
}

function prunes({ faults }: Plan): boolean {
  return faults.some(({ fault }) => fault.kind === 'store-pruned');
}

async function sqliteFiles(
  plan: Plan,
  folder: string,
  storeFile: string,
  closers: (() => unknown)[],
): Promise<Databases> {
  const erpFile = join(folder, 'erp.sqlite');
  await createSampleErp({ target: { type: 'sqlite', file: erpFile }, ...plan.erp });
  await shapeSqliteErp(erpFile, plan);
  const database = openSqlite(erpFile);
  const more = plan.tellsBack ? [writeBackTable, ...touchSql] : [];
  for (const statement of [...asideTables, ...more]) database.exec(statement);
  database.close();
  const erp = sqliteDesk(erpFile, plan.orderKey !== 'id', plan.tellsBack);
  closers.push(() => erp.close());
  await makeSqliteStore(storeFile, prunes(plan) ? pruneWitnessSql('sqlite') : []);
  // It moves when any connection but this one commits something.
  const version = async () => (await erp.read('PRAGMA data_version'))[0]?.data_version;
  const before = await version();
  return {
    erp,
    erpTouched: async () => {
      if (plan.tellsBack) return (await erp.read('SELECT what FROM touched')).map((row) => `${row.what}`);
      return (await version()) === before ? [] : ['somebody else wrote into the ERP database'];
    },
    store: sqliteStoreDesk(storeFile),
    databases: null,
    databaseProxy: null,
    settings: {
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: erpFile },
      store: { type: 'sqlite', file: storeFile },
      ...(plan.tellsBack ? tellBackSettings : {}),
    },
    secrets: {},
  };
}

async function mariaDbs(plan: Plan, server: MariaDb, proxy: Network, closers: (() => unknown)[]): Promise<Databases> {
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
    store: mariaDbStoreDesk(store),
    databases: { store, erp, erpUser },
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
