import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { child, message } from '../child.js';
import { Servers } from '../servers.js';
import { contenderNames } from './contenders.js';
import { type DrainMeasure, type DrainTask, workBetween } from './task.js';

export interface DrainOptions {
  orders: number;
  /** Messages that wait in Waybill's outbox, if more than are sent. */
  waiting?: number;
  rounds: number;
  concurrency: number;
  /** All of them unless some are named. */
  contenders: readonly string[];
  /** A file, for what the main thread of the one measured last does; that takes time of its own. */
  flameGraph?: string;
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
  /**
   * Statements and commits of the store; null without a store, or where it keeps no count. PostgreSQL counts each
   * reading as a commit.
   */
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
  { orders, waiting = orders, concurrency, flameGraph }: DrainOptions,
  servers: Servers,
): Promise<DrainMeasure> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-drain-'));
  const service = child('counting-service.js');
  const contender = child('drain/contender.js');
  try {
    const { url: serviceUrl } = (await message(service)) as { url: string };
    const place = await servers.placeFor(name);
    const task: DrainTask = {
      orders,
      waiting,
      concurrency,
      serviceUrl,
      folder,
      ...(flameGraph && { flameGraph: resolve(flameGraph) }),
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
