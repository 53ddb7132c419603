import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { createSampleErp } from '../../src/sample-erp/create-sample-erp.js';
import { sampleErpMapping } from '../../src/sample-erp/sample-erp-mapping.js';
import type { FaultInput } from '../../src/sandbox/fault.js';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { startSandbox } from '../../src/sandbox/start-sandbox.js';
import type { MariaDb } from '../support/mariadb.js';
import type { TestDatabase, TestUser } from '../support/mariadb-database.js';
import { Crew } from './crew.js';
import { doDeed, type ErpDesk, longestText, mariaDbDesk, readErp, sqliteDesk, wallTime } from './erp-desk.js';
import type { History } from './history.js';
import { everyRowAccountedFor, serviceEqualsErp, violationsOf } from './invariants.js';
import { drawPlan, type Fault, type Plan, type StoreKind } from './plan.js';
import { openMariaDbStoreDesk, openSqliteStoreDesk, type StoreDesk } from './store-desk.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

export interface SeedResult {
  seed: number;
  violations: { invariant: string; detail: string }[];
  /** How often each fault, deed and point really happened. */
  coverage: Map<string, number>;
  seconds: number;
  /** For a failed seed: what the daemons said. */
  output: string;
}

const token = 'canary-token-5d1f0c7e';
const names = ['A', 'B'] as const;
const leaseSeconds = 2;

/** One history with faults on real processes, databases and sockets, from its seed to its verdict. */
export async function runSeed(
  seed: number,
  store: StoreKind,
  server: MariaDb | null,
  patienceSeconds = 150,
): Promise<SeedResult> {
  const startedAt = performance.now();
  const run = new SeedRun(drawPlan(seed, store), server, patienceSeconds * 1000);
  try {
    const history = await run.run();
    const violations = violationsOf(history);
    return {
      seed,
      violations,
      coverage: run.coverage,
      seconds: (performance.now() - startedAt) / 1000,
      output: violations.length > 0 ? run.output() : '',
    };
  } finally {
    await run.close();
  }
}

class SeedRun {
  readonly coverage = new Map<string, number>();
  readonly #plan: Plan;
  readonly #patienceMs: number;
  readonly #server: MariaDb | null;
  readonly #closers: (() => unknown)[] = [];
  readonly #everRefused = new Set<string>();
  readonly #late: Promise<unknown>[] = [];
  #nextOrder = 100_001;
  #folder = '';
  #sandbox!: Sandbox;
  #erp!: ErpDesk;
  #store!: StoreDesk;
  #crew!: Crew;
  #proxies!: Record<'A' | 'B', TcpProxy>;
  #databaseProxy: TcpProxy | null = null;
  #databases: { store: TestDatabase; erp: TestDatabase; erpUser: TestUser } | null = null;
  #watchErp!: () => Promise<string[]>;

  constructor(plan: Plan, server: MariaDb | null, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#plan = plan;
    this.#server = server;
  }

  async run(): Promise<History> {
    await this.#prepare();
    const { traps, standby } = this.#plan;
    this.#crew.start('A', traps.A);
    if (standby) {
      await sleep(400);
      this.#crew.start('B', traps.B);
    }
    await this.#until(
      5_000,
      () => this.#crew.shifts.some((shift) => shift.reached || shift.output.includes('Delivering from here')),
      20,
    );
    await Promise.all([this.#doDeeds(), this.#doFaults()]);
    await Promise.all(this.#late);
    await this.#heal();
    // Long, because a machine may be busy with other things; it costs nothing where all is well.
    await this.#until(this.#patienceMs, () => this.#isQuiet(), 120);
    const ends = await this.#crew.stop();
    return this.#history(ends);
  }

  output(): string {
    return this.#crew.shifts.map((shift) => `--- ${shift.name} ${shift.pid}\n${shift.output}`).join('\n');
  }

  async close(): Promise<void> {
    await this.#crew?.stop(0);
    for (const close of this.#closers.reverse()) await close();
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true });
  }

  #count(what: string, times = 1): void {
    if (times > 0) this.coverage.set(what, (this.coverage.get(what) ?? 0) + times);
  }

  async #until(ms: number, look: () => boolean | Promise<boolean>, everyMs: number): Promise<boolean> {
    const endsAt = performance.now() + ms;
    while (performance.now() < endsAt) {
      if (await look()) return true;
      await sleep(everyMs);
    }
    return false;
  }

  async #prepare(): Promise<void> {
    const plan = this.#plan;
    this.#folder = await mkdtemp(join(tmpdir(), 'waybill-torture-'));
    const configDir = join(this.#folder, 'config');
    await mkdir(configDir);

    this.#sandbox = await startSandbox({
      token,
      seed: plan.seed,
      limits: [{ requests: plan.limit.requests, windowMs: plan.limit.perSeconds * 1000 }],
      replayRefusals: plan.replaysRefusals,
      delayMs: [0, 25],
      extraOrderFields: ['remark'],
      maxStringLength: longestText,
      // Later than the settings promise by as long as a claimed request may wait for its turn.
      ...(plan.keyLifetimeSeconds === null ? {} : { keyLifetimeMs: (plan.keyLifetimeSeconds + 4.5) * 1000 }),
    });
    this.#closers.push(() => this.#sandbox.close());
    this.#proxies = { A: await this.#proxyTo(this.#sandbox.port), B: await this.#proxyTo(this.#sandbox.port) };

    const env: NodeJS.ProcessEnv = {
      PATH: process.env.PATH,
      HOME: this.#folder,
      TMPDIR: process.env.TMPDIR,
      NODE_ENV: 'production',
      WAYBILL_SERVICE_TOKEN: token,
    };
    const places = this.#server ? await this.#prepareMariaDb(this.#server, env) : await this.#prepareSqlite();
    await writeFile(join(configDir, 'local.yaml'), JSON.stringify({ ...this.#settings(), ...places }, null, 2));
    const environments = new Map(
      names.map((name) => [
        name as string,
        { ...env, WAYBILL_SERVICE_BASE_URL: `http://127.0.0.1:${this.#proxies[name].port}` },
      ]),
    );
    this.#crew = new Crew(configDir, environments, leaseSeconds * 1000 + 700);
  }

  async #proxyTo(port: number): Promise<TcpProxy> {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port });
    this.#closers.push(() => proxy.close());
    return proxy;
  }

  #settings(): Record<string, unknown> {
    const plan = this.#plan;
    return {
      installation: `torture-${plan.seed}`,
      customers: sampleErpMapping.customers,
      orders: {
        ...sampleErpMapping.orders,
        settleSeconds: 1,
        fields: { remark: { column: 'remark', optional: true } },
      },
      amounts: sampleErpMapping.amounts,
      service: {
        environment: 'sandbox',
        baseUrl: this.#sandbox.url,
        deadlineSeconds: 0.6,
        concurrency: plan.concurrency,
        limit: plan.limit,
        idempotency: {
          replaysRefusals: plan.replaysRefusals,
          ...(plan.keyLifetimeSeconds === null ? {} : { lifetimeHours: plan.keyLifetimeSeconds / 3600 }),
        },
      },
      capture: { overlapSeconds: plan.overlapSeconds, sweepMinutes: plan.sweepSeconds / 60, pageSize: 40 },
      delivery: {
        leaseSeconds,
        drainSeconds: 4,
        backoffBaseSeconds: 0.1,
        backoffMaxSeconds: 0.5,
        probeSeconds: 0.4,
      },
      schedule: { capture: '* * * * * *', pull: '*/2 * * * * *' },
    };
  }

  async #prepareSqlite(): Promise<Record<string, unknown>> {
    const erpFile = join(this.#folder, 'erp.sqlite');
    const storeFile = join(this.#folder, 'waybill.sqlite');
    await createSampleErp({ target: { type: 'sqlite', file: erpFile }, ...this.#plan.erp });
    this.#erp = sqliteDesk(erpFile);
    this.#store = await openSqliteStoreDesk(storeFile);
    this.#closers.push(
      () => this.#erp.close(),
      () => this.#store.close(),
    );
    // It moves when any connection but this one commits something.
    const version = async () => (await this.#erp.read('PRAGMA data_version'))[0]?.data_version;
    const before = await version();
    this.#watchErp = async () => ((await version()) === before ? [] : ['somebody else wrote into the ERP database']);
    return {
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: erpFile },
      store: { type: 'sqlite', file: storeFile },
    };
  }

  async #prepareMariaDb(server: MariaDb, env: NodeJS.ProcessEnv): Promise<Record<string, unknown>> {
    const erp = await server.createDatabase();
    const store = await server.createDatabase();
    this.#closers.push(
      () => erp.drop(),
      () => store.drop(),
    );
    const connection = await server.connect(erp.database);
    await createSampleErp({ target: { type: 'mysql', connection }, ...this.#plan.erp });
    // More than it needs, so that a write would succeed and be seen.
    const erpUser = await server.createUser([`SELECT, INSERT, UPDATE, DELETE ON \`${erp.database}\`.*`]);
    this.#closers.push(() => erpUser.drop());
    await connection.query('CREATE TABLE touched (what VARCHAR(200) NOT NULL)');
    for (const table of ['customers', 'sales_orders', 'sales_order_lines', 'products'])
      for (const event of ['INSERT', 'UPDATE', 'DELETE'])
        await connection.query(
          `CREATE TRIGGER ${table}_${event} AFTER ${event} ON ${table} FOR EACH ROW
             BEGIN IF USER() LIKE '${erpUser.user}@%' THEN INSERT INTO touched VALUES ('${event} ${table}'); END IF; END`,
        );
    await connection.end();
    this.#watchErp = async () => (await this.#erp.read('SELECT what FROM touched')).map((row) => `${row.what}`);
    this.#erp = mariaDbDesk(() => server.connect(erp.database));
    this.#store = await openMariaDbStoreDesk(store);
    this.#databases = { store, erp, erpUser };
    this.#databaseProxy = await this.#proxyTo(server.port);
    env.WAYBILL_ERP_PASSWORD = erpUser.password;
    env.WAYBILL_STORE_PASSWORD = store.password;
    const { host, port } = { host: '127.0.0.1', port: this.#databaseProxy.port };
    return {
      erp: { ...sampleErpMapping.erp, type: 'mysql', host, port, database: erp.database, user: erpUser.user },
      store: { type: 'mysql', host, port, database: store.database, user: store.user },
    };
  }

  async #doDeeds(): Promise<void> {
    const startedAt = performance.now();
    for (const { atMs, deed } of this.#plan.deeds) {
      await sleep(Math.max(0, atMs - (performance.now() - startedAt)));
      const done = doDeed(this.#erp, deed, () => this.#nextOrder++).then((record) => {
        if (record === null) return;
        this.#count(`deed:${deed.kind}`);
        if (deed.kind === 'refused-order') this.#everRefused.add(record);
      });
      // Nobody waits for somebody else's open transaction, or for one who can't make up his mind.
      if (deed.kind === 'late-commit' || deed.kind === 'there-and-back') this.#late.push(done);
      else await done;
    }
  }

  async #doFaults(): Promise<void> {
    const startedAt = performance.now();
    await Promise.all(
      this.#plan.faults.map(async ({ atMs, fault }) => {
        await sleep(Math.max(0, atMs - (performance.now() - startedAt)));
        await this.#doFault(fault);
      }),
    );
  }

  async #doFault(fault: Fault): Promise<void> {
    const writes = { path: { regex: '^/v1/' } };
    const serviceFault = (input: FaultInput) => this.#sandbox.addFaults([input]);
    const all = Object.values(this.#proxies);
    if (!fault.kind.startsWith('service-')) this.#count(`fault:${fault.kind}`);
    switch (fault.kind) {
      case 'service-429':
        serviceFault({
          kind: 'status',
          status: 429,
          headers: retryAfter(fault.form),
          match: writes,
          times: fault.times,
          body: { error: { code: 'too_many_requests', message: `torture ${fault.form}` } },
        });
        return;
      case 'service-5xx':
        serviceFault({ kind: 'status', status: fault.status, match: writes, times: fault.times });
        return;
      case 'service-echoes-token':
        serviceFault({
          kind: 'status',
          status: 500,
          match: writes,
          times: fault.times,
          body: { error: { code: 'internal', message: `request with Bearer ${token} failed` } },
        });
        return;
      case 'service-hang':
        serviceFault({
          kind: 'hang',
          effect: fault.times % 2 === 0 ? 'done' : 'none',
          match: writes,
          times: fault.times,
        });
        return;
      case 'service-trickle':
        serviceFault({ kind: 'trickle', intervalMs: 20, match: writes, times: fault.times });
        return;
      case 'service-wrong-total':
        serviceFault({ kind: 'wrong-total', match: { path: '/v1/orders' }, times: fault.times });
        return;
      case 'service-reset-before':
      case 'service-reset-after-commit':
      case 'service-cut-off':
      case 'service-html':
        serviceFault({
          kind: fault.kind.slice('service-'.length) as 'cut-off',
          match: writes,
          times: fault.times,
        });
        return;
      case 'service-forgets-keys': {
        // It takes effect, and then nobody gets an answer until the key is forgotten.
        const [order] = (await readErp(this.#erp)).orders.filter((one) => one.status === 'confirmed').slice(-1);
        const match = { method: 'POST', bodyIncludes: order?.order_no as string };
        this.#sandbox.setFaults([
          { kind: 'reset-after-commit', match, times: 1 },
          { kind: 'status', status: 500, match, times: 1_000 },
        ]);
        await sleep((this.#plan.keyLifetimeSeconds as number) * 1000 + 6_500);
        this.#count('fault:service-forgets-keys');
        this.#sandbox.clearFaults();
        // Nobody knows whether it is there. A change to it must not make another one.
        await this.#erp.run([
          [
            "UPDATE sales_orders SET remark='changed', updated_at=? WHERE id=?",
            wallTime(Date.now()),
            Number(order?.id),
          ],
        ]);
        await sleep(1_500);
        return;
      }
      case 'network-cut':
        for (const proxy of all) proxy.cut();
        return;
      case 'network-delay':
        for (const proxy of all) proxy.delay(40);
        await sleep(fault.forMs);
        for (const proxy of all) proxy.heal();
        return;
      case 'network-half-open':
        for (const proxy of all) proxy.halfOpen();
        await sleep(fault.forMs);
        for (const proxy of all) proxy.heal();
        return;
      case 'process-kill':
        if (!this.#crew.signal(fault.who, 'SIGKILL')) this.#crew.signal('A', 'SIGKILL');
        return;
      case 'process-stop':
        if (!this.#crew.signal(fault.who, 'SIGTERM')) this.#crew.signal('A', 'SIGTERM');
        return;
      case 'process-freeze':
        this.#crew.signal(fault.who, 'SIGSTOP');
        await sleep(fault.forMs);
        this.#crew.signal(fault.who, 'SIGCONT');
        return;
      case 'database-lock':
        await this.#holdLock(fault.forMs);
        return;
      case 'database-deadlock':
        for (let i = 0; i < 6; i++) await this.#provokeDeadlock();
        return;
      case 'database-kill-connections':
        await this.#killConnections();
        return;
      case 'database-network-cut':
        this.#databaseProxy?.cut();
        return;
      case 'database-restart':
        await this.#server?.kill();
        await this.#server?.restart();
        return;
    }
  }

  async #holdLock(forMs: number): Promise<void> {
    if (!this.#databases || !this.#server) {
      const database = new Database(join(this.#folder, 'waybill.sqlite'), { timeout: 5 });
      const locked = await this.#until(
        3_000,
        () => {
          try {
            database.exec('BEGIN IMMEDIATE');
            return true;
          } catch {
            return false;
          }
        },
        7,
      );
      await sleep(forMs);
      if (locked) database.exec('ROLLBACK');
      database.close();
      return;
    }
    await this.#atServer(async (connection) => {
      await connection.query('START TRANSACTION');
      // Waiting for the lease, nothing is written yet; waiting for an attempt, half of the outcome is.
      const locked = await this.#until(
        2_000,
        async () => {
          const [rows] = await connection.query(
            forMs % 2 === 0
              ? "SELECT * FROM lease WHERE name='service' FOR UPDATE"
              : 'SELECT id FROM attempt WHERE verdict IS NULL AND message_id IS NOT NULL FOR UPDATE',
          );
          return (rows as unknown[]).length > 0;
        },
        5,
      );
      if (locked) await sleep(Math.max(forMs, 1_250));
      await connection.query('ROLLBACK');
    });
  }

  async #provokeDeadlock(): Promise<void> {
    await this.#atServer(async (connection) => {
      await connection.query('CREATE TABLE IF NOT EXISTS torture_weight (n INT)');
      await connection.query('START TRANSACTION');
      // The heavier transaction survives, and that is to be this one.
      await connection.query('INSERT INTO torture_weight SELECT seq FROM seq_1_to_300');
      await connection.query("SELECT id FROM outbox_message WHERE state='sending' ORDER BY id DESC LIMIT 8 FOR UPDATE");
      await sleep(40);
      await connection.query("SELECT * FROM lease WHERE name='service' FOR UPDATE");
      await connection.query('ROLLBACK');
    });
  }

  async #killConnections(): Promise<void> {
    if (!this.#databases) return;
    const { store, erpUser } = this.#databases;
    await this.#atServer(async (connection) => {
      const [rows] = await connection.query('SELECT id, user FROM information_schema.processlist');
      for (const row of rows as { id: number; user: string }[])
        if (row.user === store.user || row.user === erpUser.user)
          await connection.query(`KILL ${row.id}`).catch(() => undefined);
    });
  }

  /** What a fault does at the database server may meet another fault there: then it has had its effect. */
  async #atServer(work: (connection: Awaited<ReturnType<MariaDb['connect']>>) => Promise<void>): Promise<void> {
    if (!this.#server || !this.#databases) return;
    try {
      const connection = await this.#server.connect(this.#databases.store.database);
      connection.on('error', () => undefined);
      try {
        await work(connection);
      } finally {
        connection.destroy();
      }
    } catch {
      // The server is being restarted, or chose us as the victim.
    }
  }

  async #heal(): Promise<void> {
    for (const { fault, fired } of this.#sandbox.faults()) this.#count(`fault:${faultName(fault)}`, fired);
    this.#sandbox.clearFaults();
    for (const proxy of Object.values(this.#proxies)) proxy.heal();
    this.#databaseProxy?.heal();
    this.#crew.heal();
  }

  async #isQuiet(): Promise<boolean> {
    await this.#resumeFromAbsurdWaits();
    const open = await this.#store.rows(
      `SELECT COUNT(*) AS n FROM outbox_message m WHERE state IN ('sending','in_doubt')
         OR (state='pending' AND (operation='create' OR EXISTS
              (SELECT 1 FROM binding b WHERE b.entity=m.entity AND b.source_key=m.source_key)))`,
    );
    // An order may wait for ever for a customer that waits for a person; the invariants say whether it may.
    if (Number(open[0].n) > 0 && !this.#mayStayOpen()) return false;
    const history = await this.#history([]);
    return everyRowAccountedFor(history).length === 0 && serviceEqualsErp(history).length === 0;
  }

  #mayStayOpen(): boolean {
    return this.#plan.keyLifetimeSeconds !== null;
  }

  /** "Come back tomorrow" is heeded; a person who knows better says so. */
  async #resumeFromAbsurdWaits(): Promise<void> {
    const pauses = await this.#store.rows<{ cause: string; until_at: number | null }>('SELECT * FROM lane_pause');
    const absurd = pauses.some(
      (pause) => pause.cause === 'throttled' && Number(pause.until_at ?? 0) > Date.now() + 60_000,
    );
    if (!absurd) return;
    this.#count('operator:resume');
    const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
    const args = [main, 'resume', '--reason', 'it is back', '--config', join(this.#folder, 'config')];
    await promisify(execFile)(process.execPath, args, {
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        WAYBILL_SERVICE_TOKEN: token,
        ...(this.#databases
          ? {
              WAYBILL_STORE_PASSWORD: this.#databases.store.password,
              WAYBILL_ERP_PASSWORD: this.#databases.erpUser.password,
            }
          : {}),
      },
    });
  }

  async #history(ends: (number | string)[]): Promise<History> {
    const { limit, replaysRefusals, keyLifetimeSeconds } = this.#plan;
    const number = (value: unknown) => (value === null ? null : Number(value));
    const numbers = <Row extends object>(rows: Row[], ...columns: (keyof Row)[]): Row[] =>
      rows.map((row) => ({ ...row, ...Object.fromEntries(columns.map((column) => [column, number(row[column])])) }));
    const { rows } = this.#store;
    const isOver = ends.length > 0;
    if (isOver) this.#countPoints();
    return {
      limit: { requests: limit.requests, windowMs: limit.perSeconds * 1000 },
      replaysRefusals,
      forgotKeys: keyLifetimeSeconds !== null,
      everRefused: this.#everRefused,
      arrivals: isOver
        ? names.flatMap((name) =>
            this.#proxies[name].arrivals.map((arrival) => ({ ...arrival, pid: this.#pidAt(name, arrival.atMs) })),
          )
        : [],
      ledger: this.#sandbox.ledger(),
      erp: await readErp(this.#erp),
      erpTouched: isOver ? await this.#watchErp() : [],
      messages: numbers(await rows('SELECT * FROM outbox_message'), 'id', 'revision', 'generation'),
      bindings: await rows('SELECT entity, source_key, service_id FROM binding'),
      attempts: isOver
        ? numbers(
            await rows('SELECT * FROM attempt'),
            'id',
            'message_id',
            'number',
            'epoch',
            'intended_at',
            'started_at',
          )
        : [],
      events: isOver
        ? numbers(
            await rows('SELECT * FROM torture_witness ORDER BY seq'),
            'seq',
            'at_ms',
            'message_id',
            'old_first_sent',
            'new_first_sent',
            'epoch',
            'lease_epoch',
          )
        : [],
      texts: isOver
        ? [
            { where: 'the store', text: await this.#store.everything() },
            ...this.#crew.shifts.map((shift) => ({ where: `the output of ${shift.name}`, text: shift.output })),
          ]
        : [],
      secrets: [token, ...(this.#databases ? [this.#databases.store.password, this.#databases.erpUser.password] : [])],
      ends,
      endedByForce: this.#crew.shifts.some((shift) => shift.reached && shift.end === 'SIGKILL') && isOver,
    };
  }

  #pidAt(name: string, atMs: number): number {
    return this.#crew.shifts.findLast((shift) => shift.name === name && shift.startedAtMs <= atMs)?.pid ?? -1;
  }

  #countPoints(): void {
    for (const { reached, trap } of this.#crew.shifts) {
      if (!reached) continue;
      this.#count(`point:${reached}`);
      if (trap?.signal === 'SIGSTOP') this.#count('fault:process-freeze-at-point');
    }
    const takeovers = this.#crew.shifts.filter((shift) => shift.output.includes('Took over from')).length;
    this.#count('fault:takeover', takeovers);
    if (this.#crew.shifts.some((shift) => shift.output.includes('Standing by'))) this.#count('fault:standby');
  }
}

function retryAfter(form: string): Record<string, string> {
  switch (form) {
    case 'seconds':
      return { 'retry-after': '1' };
    case 'http-date':
      return { 'retry-after': new Date(Date.now() + 1_500).toUTCString() };
    case 'junk':
      return { 'retry-after': 'soon, we hope' };
    case 'past':
      return { 'retry-after': new Date(Date.now() - 3_600_000).toUTCString() };
    case 'absurd':
      return { 'retry-after': '86400' };
    default:
      return {};
  }
}

function faultName(fault: { kind: string; status?: number; body?: unknown }): string {
  if (fault.kind !== 'status') return `service-${fault.kind}`;
  const message = (fault.body as { error?: { message?: string } } | undefined)?.error?.message ?? '';
  if (fault.status === 429) return `service-429-${message.split(' ')[1]}`;
  return message.includes('Bearer') ? 'service-echoes-token' : 'service-5xx';
}
