import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '../../test/support/sqlite-file.js';
import { child, message } from '../child.js';
import { benchMapping, createBenchErp, insertBenchOrder } from '../drain/orders.js';
import { Servers } from '../servers.js';
import type { NodeMeasure, NodeTask } from './node.js';

export interface ClusterOptions {
  orders: number;
  rounds: number;
  /** Requests a second that the service allows, all nodes together. */
  limit: number;
}

/** `local`: one deliverer alone, as without `cluster.enabled`. */
const variants = [
  { name: 'local', nodes: 1, isCluster: false, withRedis: false },
  ...[1, 2, 3].flatMap((nodes) => [
    { name: `${nodes} from the store`, nodes, isCluster: true, withRedis: false },
    { name: `${nodes} over Redis`, nodes, isCluster: true, withRedis: true },
  ]),
];
type Variant = (typeof variants)[number];

/** The limit of a service that stops nobody. */
const noLimit = 10_000;
const settleMs = 2_000;
const idleMs = 5_000;
/** Orders that are entered one by one, the next when the last one has come. */
const single = 15;

interface ClusterResult {
  nodes: string;
  ordersPerSecond: number;
  /** Totals over all nodes. */
  cpuMicrosPerOrder: number;
  storeStatementsPerOrder: number;
  /** Scripts of BullMQ count as one. */
  redisCommandsPerOrder: number;
  /** Of the store a second, when all is delivered. */
  idleStatements: number;
  /** From the commit in the ERP, captured at once, to its arrival while nothing else is to be done: the middle and the slowest of 15. */
  latencyMs: number;
  slowestMs: number;
  /** Answers of 429 after the first one, in the two seconds for which the service asked; null: it did not. */
  throttledAgain: number | null;
  /** The largest and the smallest part that a node had. */
  shares: string;
}

/** One, two and three nodes drain the same orders from one MariaDB, beside one deliverer alone, in turns. Medians by speed. */
export async function cluster({ rounds, ...options }: ClusterOptions): Promise<ClusterResult[]> {
  await using servers = new Servers();
  const results = new Map<string, ClusterResult[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const variant of variants) results.get(variant.name)?.push(await measure(variant, options, servers));
  return [...results.values()].map((all) => {
    all.sort((a, b) => a.ordersPerSecond - b.ordersPerSecond);
    return all[Math.floor(all.length / 2)] as ClusterResult;
  });
}

async function measure(
  { name, nodes, isCluster, withRedis }: Variant,
  { orders, limit }: Omit<ClusterOptions, 'rounds'>,
  servers: Servers,
): Promise<ClusterResult> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-cluster-'));
  const service = child('counting-service.js');
  const processes = Array.from({ length: nodes }, () => child('cluster/node.js'));
  try {
    const { url } = (await message(service)) as { url: string };
    const store = await servers.placeFor('waybill-mariadb');
    const redis = await servers.redis();
    await redis.run('FLUSHALL');
    const file = join(folder, 'erp.sqlite');
    createBenchErp(file, orders);
    for (const [i, node] of processes.entries()) {
      const settings = {
        ...benchMapping,
        installation: 'bench-cluster',
        erp: { type: 'sqlite', file, timeZone: 'UTC' },
        store: { type: 'mysql', witnessFile: join(folder, `witness-${i}.json`), ...store?.database },
        service: {
          environment: 'sandbox',
          baseUrl: url,
          token: 'a-token-for-the-bench',
          limits: [{ requests: limit, perSeconds: 1 }],
          idempotency: { lifetimeHours: 24 },
        },
        cluster: {
          enabled: isCluster,
          node: `node-${i}`,
          redis: withRedis ? { hosts: [`${redis.host}:${redis.port}`], password: redis.password } : {},
        },
        log: { level: 'error' },
      };
      const task: NodeTask = { settings, captures: i === 0 };
      node.send(task);
      await message(node);
    }
    const before = { store: await store?.work(), redis: await commandsOf(redis) };
    const startedAt = performance.now();
    for (const node of processes) node.send('start');
    const counts = async () => (await (await fetch(url)).json()) as { orders: number; throttled: number };
    // Under a limit the second half is told once to slow down, and is not timed.
    const timed = limit < noLimit ? Math.floor(orders / 2) : orders;
    while ((await counts()).orders < timed) await sleep(20);
    const seconds = (performance.now() - startedAt) / 1000;
    if (timed < orders) await fetch(`${url}/throttle`);
    while ((await counts()).orders < orders) await sleep(20);
    const { throttled } = await counts();
    const after = { store: await store?.work(), redis: await commandsOf(redis) };
    await sleep(settleMs);
    const idleFrom = await store?.work();
    await sleep(idleMs);
    const idle = ((await store?.work())?.statements ?? 0) - (idleFrom?.statements ?? 0);
    const latencies = await latenciesOf(file, orders, processes[0] as ChildProcess, url);
    const ended = processes.map((node) => message(node));
    for (const node of processes) node.send('stop');
    const measures = (await Promise.all(ended)) as NodeMeasure[];
    await store?.drop();
    const each = (value: number) => Number((value / orders).toFixed(2));
    const shares = measures.map(({ delivered }) => Math.round((delivered / orders) * 100)).sort((a, b) => b - a);
    return {
      nodes: name,
      ordersPerSecond: Math.round(timed / seconds),
      cpuMicrosPerOrder: Math.round((measures.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) * 1e6) / orders),
      storeStatementsPerOrder: each((after.store?.statements ?? 0) - (before.store?.statements ?? 0)),
      redisCommandsPerOrder: each(after.redis - before.redis),
      idleStatements: Math.round(idle / (idleMs / 1_000)),
      latencyMs: latencies[Math.floor(single / 2)] as number,
      slowestMs: latencies.at(-1) as number,
      throttledAgain: timed < orders ? Math.max(0, throttled - 1) : null,
      shares: `${shares.join('/')} %`,
    };
  } finally {
    service.kill();
    for (const node of processes) node.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Enters orders one by one, and has them captured. @returns the time that each took, the shortest first */
async function latenciesOf(erpFile: string, before: number, captures: ChildProcess, url: string): Promise<number[]> {
  const erp = openSqlite(erpFile);
  const arrivals = async () => (await (await fetch(`${url}/arrivals`)).json()) as Record<string, number>;
  const latencies: number[] = [];
  try {
    for (let nth = 1; nth <= single; nth++) {
      const number = insertBenchOrder(erp, before + nth);
      const enteredAt = Date.now();
      captures.send('capture');
      let arrivedAt: number | undefined;
      while (arrivedAt === undefined) {
        await sleep(50);
        arrivedAt = (await arrivals())[number];
      }
      latencies.push(arrivedAt - enteredAt);
    }
  } finally {
    erp.close();
  }
  return latencies.sort((a, b) => a - b);
}

/** The requests of its clients to a Redis server so far; the commands inside a script count as one. */
async function commandsOf(redis: { run(...command: string[]): Promise<unknown> }): Promise<number> {
  const stats = String(await redis.run('INFO', 'commandstats'));
  const asked = /^cmdstat_(?:evalsha|eval|set):calls=(\d+)/gm;
  return [...stats.matchAll(asked)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}
