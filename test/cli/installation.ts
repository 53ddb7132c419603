import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { type App, openApp, secretsOf } from '../../src/app.js';
import { type AuditEntry, appendAudit } from '../../src/audit/audit-log.js';
import { run } from '../../src/cli/run.js';
import type { StoreSettings } from '../../src/config/sections/store.js';
import { legacy } from '../../src/model/facts/fact.js';
import { outside } from '../../src/model/outside.js';
import type { Entity, JsonValue } from '../../src/model/record.js';
import { deliver } from '../../src/outbound/deliver/deliver.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { canonicalJson, sha256 } from '../../src/outbound/outbox/content-hash.js';
import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { insertMessages, type NewMessage } from '../../src/outbound/outbox/new-messages.js';
import type { SendRequest } from '../../src/service/compose-request.js';
import type { Sent, ServiceClient } from '../../src/service/service-client.js';
import { putStoreFile } from '../store/migrated-stores.js';
import { behaviour, eachStore } from '../store/stores.js';
import type { MariaDb } from '../support/mariadb.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import type { Postgres } from '../support/postgres.js';
import type { TestDatabase as PostgresDatabase } from '../support/postgres-database.js';
import { sharedMariaDb, sharedPostgres } from '../support/shared-servers.js';

type ServerDatabase = TestDatabase | PostgresDatabase;

export const tokenCanary = 'canary-token-5d1f7c';

export interface Printed {
  code: number;
  stdout: string;
  stderr: string;
}

/** A configuration and a store of its own, with the command line run in this process. */
export interface Installation {
  readonly app: App;
  readonly configDir: string;
  /** Runs `waybill …`; the configuration folder is added. */
  waybill(...argv: string[]): Promise<Printed>;
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields that it looks at
  json<T = any>(...argv: string[]): Promise<T>;
  /** Writes messages the way capture does, with their audit line. */
  capture(...records: CapturedRecord[]): Promise<number[]>;
  /** Delivers what is due; the service is played by `answer`. */
  deliver(answer: (request: SendRequest) => Sent): Promise<void>;
  /** Runs when the test is over, while the store is still open. */
  onEnd(work: () => Promise<void>): void;
}

export interface CapturedRecord {
  entity: Entity;
  sourceKey: string;
  number?: string;
  customerKey?: string;
  record?: { [name: string]: JsonValue };
  /** A row that can't be mapped, and why. */
  unmapped?: string;
  operation?: 'create' | 'update';
  revision?: number;
  /** It waits for the end of the scan that found it. */
  waitsForScan?: boolean;
  /** The columns that tell who it is, as JSON. */
  identity?: string;
}

interface Current {
  app: App;
  configDir: string;
  database: ServerDatabase | null;
  printed: string;
  endings: (() => Promise<void>)[];
}

/** Defines tests of the command line as `onAnyStore` does, each test with an empty store. */
export function onAnyStore(define: (installation: Installation) => void): void {
  eachStore(behaviour(), (kind, name) => {
    describe(`with a ${name} store`, () => {
      let server: MariaDb | Postgres | undefined;
      let current: Current | undefined;
      if (kind !== 'sqlite')
        before(async function () {
          this.timeout(90_000);
          server = await (kind === 'mysql' ? sharedMariaDb() : sharedPostgres());
        });
      beforeEach(async () => {
        const database = (await server?.createDatabase()) ?? null;
        const configDir = configure(kind, database);
        if (kind === 'sqlite') await putStoreFile(join(configDir, 'store.sqlite'));
        const app = await openApp({ configDir, role: 'test', log: 'stderr' });
        current = { app, configDir, database, printed: '', endings: [] };
      });
      afterEach(async () => {
        const ended = existing();
        current = undefined;
        const secrets = secretsOf(ended.app.settings);
        for (const work of ended.endings) await work();
        await ended.app.close();
        await ended.database?.drop();
        rmSync(ended.configDir, { recursive: true, force: true });
        for (const secret of secrets) expect(ended.printed, 'a secret was printed').not.to.contain(secret);
      });
      const existing = () => {
        if (!current) throw new Error('An installation exists only while tests and their hooks run.');
        return current;
      };
      const installation: Installation = {
        get app() {
          return existing().app;
        },
        get configDir() {
          return existing().configDir;
        },
        async waybill(...argv) {
          const printed = await capturingOutput(() =>
            run(['node', 'waybill', ...argv, '--config', existing().configDir]),
          );
          existing().printed += printed.stdout + printed.stderr;
          return printed;
        },
        async json(...argv) {
          const { stdout } = await installation.waybill(...argv, '--json');
          return JSON.parse(stdout);
        },
        capture: (...records) => captureRecords(existing().app, records),
        onEnd: (work) => existing().endings.push(work),
        deliver: (answer) => deliverTo(existing().app, answer),
      };
      define(installation);
    });
  });
}

function configure(type: StoreSettings['type'], database: ServerDatabase | null): string {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-cli-'));
  const settings = {
    installation: 'test-office',
    erp: { type: 'sqlite', file: 'erp.sqlite', timeZone: 'Europe/Berlin' },
    store: database
      ? {
          type,
          host: database.host,
          port: database.port,
          database: database.database,
          user: database.user,
          passwordFile: 'store-password',
          witnessFile: join(folder, 'witness.json'),
        }
      : { type: 'sqlite', file: join(folder, 'store.sqlite') },
    customers: { query: 'SELECT * FROM customers', key: 'id', fields: { customer_code: 'code' } },
    orders: {
      query: 'SELECT * FROM orders',
      key: 'id',
      startFrom: { column: 'created_at', from: '2026-01-01' },
      customerKey: 'customer_id',
      number: 'order_no',
      lines: {
        query: 'SELECT * FROM lines',
        orderKey: 'order_id',
        sortBy: 'line_no',
        fields: { sku: 'sku', qty: 'quantity', price: 'unit_price' },
      },
    },
    amounts: { currency: 'EUR' },
    service: {
      environment: 'sandbox',
      baseUrl: 'https://sandbox.example.com',
      tokenFile: 'token',
      idempotency: { lifetimeHours: 24 },
      // People say at once what they found.
      maxProcessingSeconds: 0.001,
      // A conflict is a person's business here: the client of these tests can't be asked for anything.
      adoption: { customers: 'off' },
    },
    // Nothing that failed is due again while a test runs.
    delivery: { backoffBaseSeconds: 600, backoffMaxSeconds: 900 },
    log: { level: 'error' },
  };
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('local.yaml', stringify(settings));
  write('token', tokenCanary);
  if (database) write('store-password', database.password);
  return folder;
}

async function captureRecords(app: App, records: readonly CapturedRecord[]): Promise<number[]> {
  const { store, settings, context } = app;
  const nowMs = context.nowMs();
  const messages = records.map((given): NewMessage => {
    const { entity, sourceKey, operation = 'create', revision = 1, number = null } = given;
    const record = canonicalJson(given.record ?? (entity === 'customer' ? customer(sourceKey) : order(sourceKey)));
    const contentHash = sha256(record);
    const unmapped = given.unmapped ?? null;
    return {
      entity,
      sourceKey,
      revision,
      operation,
      generation: 0,
      number,
      customerKey: given.customerKey ?? null,
      waitsForScan: given.waitsForScan ?? false,
      contentHash,
      mappingFingerprint: sha256('mapping'),
      identity: given.identity ?? null,
      record: unmapped === null ? record : null,
      idempotencyKey:
        operation === 'create' && unmapped === null ? createKey(settings.installation, entity, sourceKey, 0) : null,
      parked: unmapped === null ? null : { parkClass: 'unmapped', reason: legacy(unmapped) },
    };
  });
  return store.transaction('capture for a test', async (tx) => {
    const ids = await insertMessages(tx, messages, nowMs);
    await appendAudit(
      tx,
      messages.flatMap((message, i): AuditEntry[] => {
        const base = {
          entity: message.entity,
          sourceKey: message.sourceKey,
          messageId: ids[i] as number,
          actor: 'daemon@erp-host:1',
        };
        const { number, revision, idempotencyKey, contentHash: bodyHash, operation, parked } = message;
        const detail = { number, revision, changedAt: Date.UTC(2026, 10, 3, 8, 15), idempotencyKey, bodyHash };
        const captured: AuditEntry = { ...base, event: 'captured', outcome: operation, detail };
        if (!parked) return [captured];
        return [captured, { ...base, event: 'parked', outcome: parked.parkClass, detail: { reason: parked.reason } }];
      }),
      nowMs,
    );
    return ids;
  });
}

export function customer(sourceKey: string) {
  return { customer_code: `K${sourceKey}`, name: `Customer ${sourceKey}` };
}

export function order(sourceKey: string) {
  return { customer_code: 'K1', items: [{ sku: 'A-1', qty: 2, price: 1250 }], note: `SO-${sourceKey}` };
}

async function deliverTo(app: App, answer: (request: SendRequest) => Sent): Promise<void> {
  const lease = await ServiceLease.acquire(app.context);
  if (!(lease instanceof ServiceLease)) throw new Error(`${lease.holder} has the lease`);
  try {
    // Its answers are judged already, and no limit holds it back.
    const client = {
      send: async (request: SendRequest) => answer(request),
      rateLimiter: { usedUp: null, sentInLastSecond: 0, reconsider: () => undefined },
    } as unknown as ServiceClient;
    await deliver(app.context, client, lease, {
      untilDrained: true,
      scope: { only: null },
      retryHorizonMs: 20_000,
      trial: false,
      erp: await app.reader(),
    });
  } finally {
    await lease.release();
  }
}

/** The answers that the service can give. */
export const answers = {
  created: (serviceId: string): Sent => ({
    ...answered(201, null),
    verdict: { kind: 'delivered', serviceId, flag: null, state: 'confirmed' },
  }),
  refused: (reason: string): Sent => ({
    ...answered(400, `{"error":"${reason}"}`),
    verdict: {
      kind: 'refused',
      reason: { code: 'http_refused', status: 400, errorCode: null, message: outside(reason) },
      likeness: `400 : ${reason}`,
    },
  }),
  keyReused: (): Sent => ({
    ...answered(422, '{"error":"idempotency key reused"}'),
    verdict: {
      kind: 'conflict',
      what: 'key_reused',
      reason: { code: 'http_refused', status: 422, errorCode: null, message: outside('idempotency key reused') },
    },
  }),
  timeout: (): Sent => ({
    verdict: { kind: 'in_doubt', reason: { code: 'timed_out' } },
    startedAtMs: Date.now(),
    durationMs: 10_000,
    status: null,
    requestId: null,
    excerpt: null,
  }),
};

function answered(status: number, excerpt: string | null): Omit<Sent, 'verdict'> {
  return { startedAtMs: Date.now(), durationMs: 34, status, requestId: 'req_1', excerpt };
}

/** Returns the output while `work` runs; mocha's own lines never fall in between, because they are printed between tests. */
export async function capturingOutput(work: () => Promise<number>): Promise<Printed> {
  const printed = { stdout: '', stderr: '' };
  const { stdout, stderr } = process;
  const originals = { stdout: stdout.write, stderr: stderr.write };
  const exitCodeBefore = process.exitCode;
  const collector = (name: 'stdout' | 'stderr') =>
    ((chunk: string | Uint8Array, ...rest: unknown[]) => {
      printed[name] += chunk.toString();
      const done = rest.findLast((one) => typeof one === 'function') as (() => void) | undefined;
      done?.();
      return true;
    }) as typeof process.stdout.write;
  stdout.write = collector('stdout');
  stderr.write = collector('stderr');
  try {
    const code = await work();
    return { code, ...printed };
  } finally {
    stdout.write = originals.stdout;
    stderr.write = originals.stderr;
    process.exitCode = exitCodeBefore;
  }
}
