import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import winston from 'winston';
import { settingsFrom } from '../../../src/config/load-settings.js';
import type { Settings } from '../../../src/config/settings.js';
import type { ErpReader } from '../../../src/erp/erp-reader.js';
import { type PullOptions, type PullResult, pull } from '../../../src/inbound/invoices/pull.js';
import {
  createSampleErp,
  type SampleErpSummary,
  type SampleErpTarget,
  sampleErpMapping,
  withSampleErp,
} from '../../../src/lab/sample-erp/create-sample-erp.js';
import type { BadRows } from '../../../src/lab/sample-erp/sample-rows.js';
import type { SandboxOptions } from '../../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import type { JobContext } from '../../../src/ops/job-context.js';
import { capture } from '../../../src/outbound/capture/capture.js';
import type { CaptureOptions, CaptureResult } from '../../../src/outbound/capture/capture-result.js';
import { type DeliverOptions, deliver } from '../../../src/outbound/deliver/deliver.js';
import type { DeliverResult } from '../../../src/outbound/deliver/delivery-tally.js';
import { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { ServiceClient } from '../../../src/service/service-client.js';
import { systemClock } from '../../../src/store/clock.js';
import type { Store } from '../../../src/store/store.js';
import { sharedThread } from '../../../src/v8.js';
import { factsInWords } from '../../../src/words/words.js';
import { onAnyStore, onEveryStore, onSqliteAnd, type Server, type StoreKit } from '../../store/stores.js';
import { sourcesReaderOf } from '../erp-reader.js';
import { merge, type Tree } from '../merge-settings.js';
import { openSqlite, type SqliteFile } from '../sqlite-file.js';
import { type MariaDbHandle, type PostgresHandle, useMariaDb, usePostgres } from '../use-database.js';

export interface LabOptions {
  customers?: number;
  orders?: number;
  seed?: number;
  bad?: BadRows;
  sandbox?: Partial<SandboxOptions>;
  /** Laid over the lab's own settings, section by section. */
  settings?: Tree;
}

/** The surroundings of a job: a sample ERP, a real sandbox service, and a store. */
export interface Lab {
  made: SampleErpSummary;
  erp: SampleErpTarget;
  sandbox: Sandbox;
  settings: Settings;
  context: JobContext;
  reader: ErpReader;
  client: ServiceClient;
  /** Lines of the log, as JSON. */
  log: string[];
  /** The same parts under other settings, or for another process (its own store connection and name). */
  another(options: { settings?: Tree; actor?: string; store?: Store }): Lab;
  capture(options?: CaptureOptions): Promise<CaptureResult>;
  deliver(options?: Partial<DeliverOptions>): Promise<DeliverResult>;
  pull(options?: PullOptions): Promise<PullResult>;
  /** Runs SQL in the ERP, as somebody there would. */
  changeErp(sql: string, values?: (string | number | null)[]): Promise<void>;
  readErp(sql: string): Promise<Record<string, string>[]>;
  /**
   * The records that the service should hold of the ERP's eligible orders, by their number: worked out from the ERP's
   * tables alone.
   */
  expectedOrders(): Promise<Map<string, unknown>>;
}

export interface LabKit extends StoreKit {
  /** The kind of database that the ERP lies in. */
  readonly erpType: SampleErpTarget['type'];
  start(options?: LabOptions): Promise<Lab>;
}

const besideStore = (kit: StoreKit) => useLab(kit, kit.dialect === 'mysql' ? 'mysql' : 'sqlite');

/** As `onEveryStore`. The ERP is in the same kind of database as the store, or a SQLite file beside a PostgreSQL store. */
export function onEveryLab(title: string, define: (kit: LabKit) => void): void {
  onEveryStore(title, (kit) => define(besideStore(kit)));
}

/** As `onAnyStore`, with an ERP as `onEveryLab` has it. */
export function onAnyLab(title: string, define: (kit: LabKit) => void): void {
  onAnyStore(title, (kit) => define(besideStore(kit)));
}

/** As `onSqliteAnd`, with an ERP as `onEveryLab` has it. */
export function onSqliteLabAnd(server: Server, title: string, define: (kit: LabKit) => void): void {
  onSqliteAnd(server, title, (kit) => define(besideStore(kit)));
}

/** @param erpType of another kind than the store's, which it has unless one is given */
export function useLab(kit: StoreKit, erpType: SampleErpTarget['type'] = kit.dialect): LabKit {
  const mariaDb = erpType === 'mysql' ? useMariaDb() : null;
  const postgres = erpType === 'postgres' ? usePostgres() : null;
  const closing: (() => unknown)[] = [];
  let labs = 0;
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  return Object.create(kit, {
    erpType: { value: erpType },
    start: {
      value: async (options: LabOptions = {}) => {
        const file = join(kit.folder, `erp-${++labs}.sqlite`);
        const onPostgresOrInFile = () => (postgres ? emptyPostgres(postgres, closing) : inFile(file));
        const place = await (mariaDb ? emptyMariaDb(mariaDb, closing) : onPostgresOrInFile());
        return startLab(kit, place, options, closing);
      },
    },
  }) as LabKit;
}

type ErpPlace = { target: SampleErpTarget; settings: Tree };

const sampleTables = ['sales_order_lines', 'sales_orders', 'products', 'customers'];

function inFile(file: string): ErpPlace {
  return { target: { type: 'sqlite', file }, settings: { type: 'sqlite', file } };
}

async function emptyMariaDb({ server, database: place }: MariaDbHandle, closing: (() => unknown)[]): Promise<ErpPlace> {
  const { host, port, database, user, password } = place;
  const connection = await server.connect(database);
  closing.push(() => connection.end());
  for (const table of sampleTables) await connection.query(`DROP TABLE IF EXISTS ${table}`);
  return {
    target: { type: 'mysql', connection },
    settings: { type: 'mysql', host, port, database, user, password },
  };
}

async function emptyPostgres(
  { server, database: place }: PostgresHandle,
  closing: (() => unknown)[],
): Promise<ErpPlace> {
  const { host, port, database, user, password } = place;
  const client = await server.connect(database);
  closing.push(() => client.end());
  for (const table of sampleTables) await client.query(`DROP TABLE IF EXISTS ${table}`);
  await client.query(`ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO ${user}`);
  const caseInsensitive = "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)";
  await client.query(`CREATE COLLATION IF NOT EXISTS ci ${caseInsensitive}`);
  return {
    target: { type: 'postgres', client },
    settings: { type: 'postgres', host, port, database, user, password },
  };
}

async function startLab(kit: StoreKit, place: ErpPlace, options: LabOptions, closing: (() => unknown)[]): Promise<Lab> {
  const { customers = 4, orders = 12, seed = 1, bad = {} } = options;
  const made = await createSampleErp({ target: place.target, customers, orders, seed, bad });
  const sandbox = await startSandbox({ seed: 1, ...options.sandbox });
  closing.push(() => sandbox.close());
  const base: Tree = {
    ...sampleErpMapping,
    installation: 'test-office',
    erp: { ...sampleErpMapping.erp, ...place.settings },
    store: { type: 'sqlite', file: `${kit.folder}/not-used.sqlite` },
    service: {
      environment: 'sandbox',
      baseUrl: sandbox.url,
      token: 'sandbox-token',
      // Far longer than an answer takes on a busy machine.
      deadlineSeconds: 10,
      // The sandbox has done what it does when a request ends here.
      maxProcessingSeconds: 0.001,
      concurrency: 8,
      // As long as the sandbox remembers them.
      idempotency: { lifetimeHours: 24 },
      limits: [{ requests: 1_000, perSeconds: 0.1 }],
    },
    // Tests sweep back to back.
    capture: { deletedAfterMinutes: 0 },
    delivery: {
      leaseSeconds: 25,
      backoffBaseSeconds: 0.1,
      backoffMaxSeconds: 0.5,
      probeSeconds: 0.3,
      quickResends: 0,
    },
  };
  const build = (tree: Tree, actor: string, store: Store): Lab => {
    const settings = settingsFrom(tree);
    const log: string[] = [];
    const lines = new Writable({
      write(chunk, _encoding, done) {
        log.push(String(chunk).trim());
        done();
      },
    });
    const logger = winston.createLogger({
      level: 'debug',
      format: winston.format.combine(
        winston.format((line) => Object.assign(line, factsInWords(line)))(),
        winston.format.json(),
      ),
      transports: [new winston.transports.Stream({ stream: lines })],
    });
    const context: JobContext = {
      store,
      settings,
      actor,
      log: logger,
      nowMs: Date.now,
      // If a test moves the clock on the wall, time has passed; one that sets the clock says so.
      clock: { ...systemClock, sinceBoot: () => ({ bootId: 'lab', bootMs: context.nowMs() }) },
      random: Math.random,
      thread: sharedThread,
    };
    const reader = sourcesReaderOf(settings);
    const client = new ServiceClient({
      service: settings.service,
      quickResends: settings.delivery.quickResends,
      // One clock for all, also when a test sets it.
      nowMs: () => context.nowMs(),
    });
    closing.push(
      () => reader.close(),
      () => client.close(),
    );
    const lab: Lab = {
      made,
      erp: place.target,
      sandbox,
      settings,
      context,
      reader,
      client,
      log,
      another: (other) =>
        build(other.settings ? merge(tree, other.settings) : tree, other.actor ?? actor, other.store ?? store),
      capture: (more) => capture(context, lab.reader, more),
      deliver: (more) =>
        withServiceLease(context, (lease) =>
          deliver(context, client, lease, {
            untilDrained: true,
            scope: { only: null },
            retryHorizonMs: 20_000,
            trial: false,
            erp: reader,
            ...more,
          }),
        ),
      pull: (more) => withServiceLease(context, (lease) => pull(context, client, lease, more)),
      changeErp: (sql, values = []) => withSampleErp(place.target, (erp) => erp.run(sql, values)),
      readErp: (sql) => readErp(place.target, sql),
      expectedOrders: () => expectedOrders(place.target),
    };
    return lab;
  };
  return build(merge(base, options.settings ?? {}), 'test', kit.store);
}

export async function withServiceLease<T>(context: JobContext, work: (lease: ServiceLease) => Promise<T>): Promise<T> {
  const lease = await ServiceLease.acquire(context);
  if (!(lease instanceof ServiceLease)) throw new Error(`${lease.holder} has the service lease.`);
  try {
    return await work(lease);
  } finally {
    await lease.release();
  }
}

/** The placeholders of PostgreSQL in a statement whose texts hold no question mark. */
function onSqlite<T>(file: string, work: (database: SqliteFile) => T): T {
  const database = openSqlite(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

async function readErp(target: SampleErpTarget, sql: string): Promise<Record<string, string>[]> {
  if (target.type === 'mysql') {
    const [rows] = await (target.connection as Connection).query<RowDataPacket[]>(sql);
    return rows as Record<string, string>[];
  }
  if (target.type === 'postgres') return (await target.client.query(sql)).rows;
  return onSqlite(target.file, (database) => database.prepare(sql).all() as Record<string, string>[]);
}

async function expectedOrders(target: SampleErpTarget): Promise<Map<string, unknown>> {
  const rows = await readErp(
    target,
    `SELECT o.order_no, c.customer_no, p.sku, l.qty, l.unit_price
       FROM sales_orders o JOIN customers c ON c.id=o.customer_id
       JOIN sales_order_lines l ON l.order_id=o.id JOIN products p ON p.id=l.product_id
      WHERE o.status='confirmed' AND o.currency='EUR' AND o.created_at>='2026-01-01' ORDER BY o.id, l.line_no`,
  );
  const orders = new Map<string, { customer_code: string; items: unknown[]; note: string }>();
  for (const row of rows) {
    const number = row.order_no as string;
    const order = orders.get(number) ?? { customer_code: row.customer_no as string, items: [], note: number };
    order.items.push({ sku: row.sku, qty: Number(row.qty), price: Math.round(Number(row.unit_price) * 100) });
    orders.set(number, order);
  }
  return orders;
}
