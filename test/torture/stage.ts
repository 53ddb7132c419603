import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { startRedis } from '../support/redis.js';
import { startWatchdog, type Watchdog } from '../support/watchdog.js';
import { WallClock } from './clock-steps.js';
import { Coverage } from './coverage.js';
import { Crew } from './crew.js';
import type { DatabaseServer } from './database-server.js';
import type { Announcement, PastLife } from './history.js';
import { longestText } from './judge-erp.js';
import { type Network, startNetwork } from './network.js';
import { Operator } from './operator.js';
import { isOfNodes, type Plan, type Worker, workers } from './plan.js';
import type { RedisOfRun } from './redis-faults.js';
import { leaseSeconds, settingsOf } from './settings-of-run.js';
import { type Databases, makeDatabases } from './stage-databases.js';
import { webhookSecret } from './stage-tables.js';

export const token = 'canary-token-5d1f0c7e';
/**
 * The time by which the service forgets keys later than it promises: a request may be on its way for so long on a busy
 * machine.
 */
export const onItsWayMs = 2_500;

/** Everything that a run happens on, and what was seen of it so far. */
export interface Stage extends Databases {
  readonly plan: Plan;
  readonly folder: string;
  readonly coverage: Coverage;
  readonly sandbox: Sandbox;
  /** Between each daemon and the service, and between it and the commands. */
  readonly proxies: Record<Worker | 'operator', Network>;
  /** A way to the service under another address, which no node may go. */
  readonly elsewhere: Network;
  /** Null where one daemon delivers at a time, or Redis is left out. */
  readonly redis: RedisOfRun | null;
  readonly server: DatabaseServer | null;
  readonly storeFile: string;
  readonly witnessFile: string;
  readonly crew: Crew;
  readonly operator: Operator;
  /** Orders that were too long for the service at some time. */
  readonly everRefused: Set<string>;
  /**
   * The deeds of somebody else: the records that a person has to look at for them, the bytes and keys that were sent,
   * and the outcome.
   */
  readonly foreign: { records: Set<string>; bodies: Set<string>; keys: Set<string>; serviceIds: Set<string> };
  /** Numbers of the orders whose keys were respelled. */
  readonly respelled: Set<string>;
  /** Sights at the service that must never be, while records were mixed up. */
  readonly breaches: string[];
  /** Records of which a person said what there is at the service. */
  readonly resolved: Map<string, 'delivered' | 'not_delivered'>;
  /** The state of a store when it was lost; null while there was only one. */
  past: PastLife | null;
  /** When its bindings were exported for a recovery. */
  exportedAtMs: number | null;
  /** The time on the machine's clock; null if it is the true time. */
  readonly clock: WallClock | null;
  /** Processes whose clock on the wall was not that of the others, and its lead. */
  readonly clocksApart: Map<number, number>;
  /** Processes of machines that were suspended, and when they went on. */
  readonly resumed: { pid: number; atMs: number }[];
  /** Events that a daemon has taken. */
  readonly announced: Announcement[];
  /** The names of forgotten customers. */
  readonly forgotten: string[];
  /** When the service began to be asked for anything. */
  readonly startedAtMs: number;
  nextOrder(): number;
  /** Ends everything, whatever state it is in. */
  close(): Promise<void>;
}

/** Builds the stage of a plan: the sandbox, the network, the databases; nobody works yet. */
export async function openStage(plan: Plan, server: DatabaseServer | null): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-torture-'));
  const watchdog = startWatchdog(folder);
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const closer of closers.reverse()) await closer();
    await watchdog.release();
  };
  try {
    return await build(plan, server, { folder, watchdog, closers, close });
  } catch (error) {
    await close();
    throw error;
  }
}

interface StageFrame {
  folder: string;
  watchdog: Watchdog;
  /** The resources to close, in the order in which they were opened. */
  closers: (() => unknown)[];
  close(): Promise<void>;
}

async function build(
  plan: Plan,
  server: DatabaseServer | null,
  { folder, watchdog, closers, close }: StageFrame,
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
  const proxies = { A: await toService(), B: await toService(), C: await toService(), operator: await toService() };
  const elsewhere = await toService();
  const redis = plan.dispatcher === 'cluster' ? await redisOfRun(proxyTo, closers) : null;
  const storeFile = join(folder, 'waybill.sqlite');
  const witnessFile = join(folder, 'witness', 'witness.json');
  const on = server && { server, proxy: await proxyTo(server.server.port) };
  const databases = await makeDatabases(plan, on, folder, storeFile, closers);

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
  // Nodes have one address of the service, and each a way of its own.
  const way = isOfNodes(plan) ? 'WAYBILL_SERVICE_PROXY_URL' : 'WAYBILL_SERVICE_BASE_URL';
  const through = ({ port }: Network) => ({ ...env, [way]: `http://127.0.0.1:${port}` });
  const nodeOf = (name: Worker) => (isOfNodes(plan) ? asNode(name, redis, folder) : {});
  const environments = new Map(workers.map((name) => [name as string, { ...through(proxies[name]), ...nodeOf(name) }]));
  const coverage = new Coverage();
  const crew = new Crew(configDir, environments, leaseSeconds * 1000 + 700, watchdog);
  let order = 100_001;
  const stage: Stage = {
    plan,
    folder,
    coverage,
    sandbox,
    proxies,
    elsewhere,
    redis,
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
    clocksApart: new Map(),
    resumed: [],
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

async function redisOfRun(
  proxyTo: (port: number) => Promise<Network>,
  closers: (() => unknown)[],
): Promise<RedisOfRun> {
  const server = await startRedis();
  closers.push(() => server.stop());
  const way = () => proxyTo(server.port);
  return { server, proxies: { A: await way(), B: await way(), C: await way() } };
}

/** The settings that make a daemon a node. All but the first have their witness apart, as on machines of their own. */
function asNode(name: Worker, redis: RedisOfRun | null, folder: string): NodeJS.ProcessEnv {
  return {
    WAYBILL_CLUSTER_NODE: name,
    ...(redis && {
      WAYBILL_CLUSTER_REDIS_HOSTS: JSON.stringify([`127.0.0.1:${redis.proxies[name].port}`]),
      WAYBILL_CLUSTER_REDIS_PASSWORD: redis.server.password,
    }),
    ...(name === 'A' ? {} : { WAYBILL_STORE_WITNESS_FILE: join(folder, `witness-${name}`, 'witness.json') }),
  };
}
