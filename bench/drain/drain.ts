import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureMariaDb } from '../../test/support/ensure-mariadb.js';
import { ensurePostgres } from '../../test/support/ensure-postgres.js';
import { ensureRedis } from '../../test/support/ensure-redis.js';
import { type MariaDb, startMariaDb } from '../../test/support/mariadb.js';
import { type Postgres, startPostgres } from '../../test/support/postgres.js';
import { type Redis, startRedis } from '../../test/support/redis.js';
import { contenderNames } from './contenders.js';
import { type DrainMeasure, type DrainTask, type StoreWork, workBetween } from './task.js';

export interface DrainOptions {
  orders: number;
  /** How many wait in Waybill's outbox, if more than are sent. */
  waiting?: number;
  rounds: number;
  concurrency: number;
  /** All of them unless some are named. */
  contenders: readonly string[];
}

/** Medians over the rounds. */
export interface DrainResult {
  contender: string;
  ordersPerSecond: number;
  cpuMicrosPerOrder: number;
  peakRssMib: number;
  /** Beside the stock axios loop in the same run. */
  speedRatio: number | null;
  cpuRatio: number | null;
  /** What the store did; null where there is none, or it does not say. PostgreSQL counts each reading as a commit. */
  statementsPerOrder: number | null;
  commitsPerOrder: number | null;
  rowWritesPerOrder: number | null;
}

/** Every contender drains the same orders into the same service, in turns, so that a busy minute of the machine hits all. */
export async function drain(
  options: DrainOptions,
  onMeasure: (contender: string, measure: DrainMeasure) => void = () => undefined,
): Promise<DrainResult[]> {
  const { rounds } = options;
  const names = options.contenders.length > 0 ? options.contenders : contenderNames;
  await using servers = new Servers();
  const measures = new Map<string, DrainMeasure[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const name of names) {
      const measure = await measureOne(name, options, servers);
      measures.get(name)?.push(measure);
      onMeasure(name, measure);
    }
  return summarise(measures, options.orders);
}

async function measureOne(
  name: string,
  { orders, waiting = orders, concurrency }: DrainOptions,
  servers: Servers,
): Promise<DrainMeasure> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-drain-'));
  const service = child('service.js');
  const contender = child('contender.js');
  try {
    const { url: serviceUrl } = (await message(service)) as { url: string };
    const place = await servers.placeFor(name);
    const task: DrainTask = {
      orders,
      waiting,
      concurrency,
      serviceUrl,
      folder,
      ...(place ? { database: place.database } : {}),
    };
    contender.send({ name, task });
    await message(contender);
    const before = await place?.work();
    contender.send('start');
    const measure = (await message(contender)) as DrainMeasure;
    const after = await place?.work();
    const { orders: seen } = (await (await fetch(serviceUrl)).json()) as { orders: number };
    if (seen < orders || seen > waiting)
      throw new Error(`${name}: the service saw ${seen} orders, and ${orders} were to be sent.`);
    await place?.drop();
    return before && after ? { ...measure, work: workBetween(before, after) } : measure;
  } finally {
    service.kill();
    contender.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

function child(file: string): ChildProcess {
  return fork(join(import.meta.dirname, file), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

/** The next message of a process. @throws when it ends instead */
async function message(from: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const end = (code: number | null) => ended.abort(new Error(`${from.spawnfile} ended with ${code} and said nothing.`));
  from.once('exit', end);
  try {
    return (await once(from, 'message', { signal: ended.signal }))[0];
  } finally {
    from.off('exit', end);
  }
}

interface Place {
  database: NonNullable<DrainTask['database']>;
  /** What the server has done so far. */
  work(): Promise<StoreWork | undefined>;
  drop(): Promise<void>;
}

/** Private servers, started when a contender first needs one. */
class Servers implements AsyncDisposable {
  #mariaDb: MariaDb | undefined;
  #postgres: Postgres | undefined;
  #redis: Redis | undefined;

  async placeFor(name: string): Promise<Place | undefined> {
    if (name === 'waybill-mariadb') return this.#inMariaDb();
    if (name === 'waybill-postgres' || name === 'pg-boss') return this.#inPostgres();
    return name === 'bullmq' ? this.#inRedis() : undefined;
  }

  async #inMariaDb(): Promise<Place> {
    ensureMariaDb();
    this.#mariaDb ??= await startMariaDb({ arguments: ['--innodb-buffer-pool-size=512M'] });
    const database = await this.#mariaDb.createDatabase();
    const server = this.#mariaDb;
    return {
      database,
      drop: () => database.drop(),
      work: async () => {
        const connection = await server.connect();
        const [rows] = await connection.query(
          "SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^(questions|com_commit|handler_(write|update|delete))$'",
        );
        await connection.end();
        const of = new Map(
          (rows as { Variable_name: string; Value: string }[]).map((row) => [row.Variable_name, Number(row.Value)]),
        );
        const rowWrites = [...of]
          .filter(([key]) => key.startsWith('Handler'))
          .reduce((sum, [, value]) => sum + value, 0);
        return { statements: of.get('Questions') ?? 0, commits: of.get('Com_commit') ?? 0, rowWrites };
      },
    };
  }

  async #inPostgres(): Promise<Place> {
    ensurePostgres();
    this.#postgres ??= await startPostgres({ settings: ['shared_buffers=256MB'] });
    const database = await this.#postgres.createDatabase();
    return {
      database,
      drop: () => database.drop(),
      work: async () => {
        await database.query('SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()');
        const [row] = await database.query(
          'SELECT xact_commit AS commits, tup_inserted + tup_updated + tup_deleted AS rows FROM pg_stat_database WHERE datname = current_database()',
        );
        return { statements: Number.NaN, commits: Number(row.commits), rowWrites: Number(row.rows) };
      },
    };
  }

  async #inRedis(): Promise<Place> {
    ensureRedis();
    this.#redis ??= await startRedis();
    const { host, port, password } = this.#redis;
    const redis = this.#redis;
    return {
      database: { host, port, password, user: '', database: '' },
      work: async () => undefined,
      drop: () => redis.empty(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mariaDb?.stop();
    await this.#postgres?.stop();
    await this.#redis?.stop();
  }
}

/** Medians, and ratios to the stock axios loop. Pure. */
export function summarise(measures: ReadonlyMap<string, readonly DrainMeasure[]>, orders: number): DrainResult[] {
  const of = (name: string, value: (measure: DrainMeasure) => number): number | null => {
    const all = (measures.get(name) ?? []).map(value).sort((a, b) => a - b);
    const median = all[Math.floor(all.length / 2)];
    return median === undefined || Number.isNaN(median) ? null : median;
  };
  const seconds = (name: string) => of(name, (measure) => measure.seconds);
  const cpu = (name: string) => of(name, (measure) => measure.cpuSeconds);
  const ratio = (a: number | null, b: number | null) => (a === null || b === null ? null : round(a / b, 3));
  return [...measures.keys()].map((contender) => ({
    contender,
    ordersPerSecond: round(orders / (seconds(contender) ?? Number.NaN), 0),
    cpuMicrosPerOrder: round(((cpu(contender) ?? Number.NaN) * 1e6) / orders, 0),
    peakRssMib: round(of(contender, (measure) => measure.peakRssMib) ?? Number.NaN, 0),
    speedRatio: ratio(seconds('axios'), seconds(contender)),
    cpuRatio: ratio(cpu(contender), cpu('axios')),
    statementsPerOrder: ratio(
      of(contender, ({ work }) => work?.statements ?? Number.NaN),
      orders,
    ),
    commitsPerOrder: ratio(
      of(contender, ({ work }) => work?.commits ?? Number.NaN),
      orders,
    ),
    rowWritesPerOrder: ratio(
      of(contender, ({ work }) => work?.rowWrites ?? Number.NaN),
      orders,
    ),
  }));
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
