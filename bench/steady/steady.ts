import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '../../test/support/sqlite-file.js';
import { child, message } from '../child.js';
import { benchMapping, createBenchErp, fillBenchErp, insertBenchOrder } from '../drain/orders.js';
import { type Place, Servers } from '../servers.js';
import type { OfficeReport } from './office.js';

export interface SteadyOptions {
  store: 'sqlite' | 'mariadb' | 'postgres';
  /** The ERP's location. Orders are entered into a file only. */
  erp: 'sqlite' | 'mariadb' | 'postgres';
  /** Orders that are entered into the ERP each second; 0: the daemon is idle. */
  perSecond: number;
  seconds: number;
  /** Orders that the ERP holds before. They are delivered first, unless the first capture is what is measured. */
  before: number;
  firstCapture?: boolean;
  /** The orders before are put on record as delivered, instead of being sent. */
  delivered?: boolean;
  /** Everything is read once more while it is measured. */
  sweep?: boolean;
}

export interface SteadyResult {
  /** From the commit in the ERP to the acknowledgement; null where nothing was entered. */
  latencyP50Ms: number | null;
  latencyP99Ms: number | null;
  /** Null where the daemon is idle: to look at its event loop would cost more than it does. */
  loopDelayP99Ms: number | null;
  loopDelayMaxMs: number | null;
  cpuPercent: number;
  /** On the store's server; or, where the store is a file, on the store and on the ERP. */
  statementsPerSecond: number;
  /** The server time per second for the ERP; null if the ERP is a file. */
  erpBusyMsPerSecond: number | null;
  rssMib: number;
  peakRssMib: number;
  /** CPU of the whole process for each order that the sweep read, without what it needs otherwise; null without a sweep. */
  sweepSeconds: number | null;
  sweepCpuMicrosPerOrder: number | null;
  /** From the request to stop to the end of the process. */
  stopSeconds: number;
}

/** The first pass, a prune and what else a daemon does once at its start are no part of what is measured. */
const startMs = 5_000;
/** For half a minute after that V8 gives back what the start needed: more work than all that an idle daemon does. */
const startOfIdleMs = 45_000;

/** A daemon on a schedule of a second, while orders are entered into the ERP. */
export async function steady(options: SteadyOptions): Promise<SteadyResult> {
  const { perSecond, seconds, before } = options;
  if (options.erp !== 'sqlite' && perSecond > 0) throw new Error('Orders are entered into a SQLite ERP only.');
  await using servers = new Servers();
  const folder = await mkdtemp(join(tmpdir(), 'waybill-steady-'));
  const service = child('counting-service.js');
  const offices: ChildProcess[] = [];
  const openOffice = (): ChildProcess => {
    const office = child('steady/office.js');
    offices.push(office);
    return office;
  };
  try {
    const { url } = (await message(service)) as { url: string };
    const file = join(folder, 'erp.sqlite');
    const erpPlace = await servers.placeFor(`waybill-${options.erp}`);
    if (erpPlace?.query) await fillBenchErp({ query: erpPlace.query }, serverType(options.erp), before);
    else createBenchErp(file, before);
    await erpPlace?.vacuum?.();
    const place = await servers.placeFor(`waybill-${options.store}`);
    const task = {
      settings: settingsOf(options, folder, url, place?.database, erpPlace),
      isIdle: perSecond === 0 && !options.firstCapture && !options.sweep,
    };
    if (options.delivered) {
      // In a process of its own, whose heap is gone before anything is measured.
      const maker = openOffice();
      maker.send({ ...task, putsDelivered: true });
      const [code] = await once(maker, 'exit');
      if (code !== 0) throw new Error('The orders before could not be put on record as delivered.');
    }
    const office = openOffice();
    office.send(task);
    await message(office);
    const awaited = options.delivered ? 0 : before;
    if (!options.firstCapture) await until(async () => (await seen(url)) >= awaited);
    if (perSecond === 0 && !options.firstCapture) await sleep(task.isIdle ? startOfIdleMs : startMs);
    const report = async () => {
      office.send('report');
      return (await message(office)) as OfficeReport;
    };
    await report();
    const workBefore = await place?.work();
    const busyBeforeMs = await erpPlace?.busyMs?.();
    const committedAt = new Map<string, number>();
    const erp = perSecond > 0 ? openSqlite(file) : null;
    const startedAt = performance.now();
    for (let n = 0; n < perSecond * seconds; n++) {
      const dueMs = startedAt + (n * 1000) / perSecond - performance.now();
      if (dueMs > 0) await sleep(dueMs);
      if (erp) committedAt.set(insertBenchOrder(erp, before + n + 1), Date.now());
    }
    erp?.close();
    let sweepSeconds: number | null = null;
    if (options.sweep) {
      office.send('sweep');
      sweepSeconds = (await message(office)) as number;
    }
    const endsAt = startedAt + seconds * 1000;
    if (perSecond === 0)
      await until(async () => performance.now() >= endsAt || (options.firstCapture && (await seen(url)) >= awaited));
    else await until(async () => (await seen(url)) >= awaited + committedAt.size);
    const figures = await report();
    const workAfter = await place?.work();
    const busyAfterMs = await erpPlace?.busyMs?.();
    const arrivals = (await (await fetch(`${url}/arrivals`)).json()) as Record<string, number>;
    const latencies = [...committedAt].map(([note, at]) => (arrivals[note] ?? Number.NaN) - at).sort((a, b) => a - b);
    const statements = workBefore && workAfter ? workAfter.statements - workBefore.statements : figures.statements;
    return {
      latencyP50Ms: percentile(latencies, 0.5),
      latencyP99Ms: percentile(latencies, 0.99),
      loopDelayP99Ms: figures.loopDelayP99Ms && round(figures.loopDelayP99Ms),
      loopDelayMaxMs: figures.loopDelayMaxMs && round(figures.loopDelayMaxMs),
      cpuPercent: Number(((figures.cpuSeconds / figures.seconds) * 100).toFixed(2)),
      statementsPerSecond: round(statements / figures.seconds),
      erpBusyMsPerSecond:
        busyBeforeMs === undefined || busyAfterMs === undefined
          ? null
          : round((busyAfterMs - busyBeforeMs) / figures.seconds),
      rssMib: round(figures.rssMib),
      peakRssMib: round(figures.peakRssMib),
      sweepSeconds: sweepSeconds && round(sweepSeconds),
      sweepCpuMicrosPerOrder: sweepSeconds && round((figures.cpuSeconds * 1e6) / before),
      stopSeconds: round(await stopSeconds(office)),
    };
  } finally {
    for (const office of offices) office.kill();
    service.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function stopSeconds(office: ChildProcess): Promise<number> {
  const begunAt = performance.now();
  const ended = once(office, 'exit');
  office.send('stop');
  await ended;
  return (performance.now() - begunAt) / 1000;
}

function settingsOf(
  { store, erp, perSecond }: SteadyOptions,
  folder: string,
  url: string,
  database: object | undefined,
  erpPlace: Place | undefined,
): object {
  return {
    ...benchMapping,
    installation: 'bench-steady',
    erp: {
      timeZone: 'UTC',
      ...(erpPlace
        ? { type: serverType(erp), ...erpPlace.database }
        : { type: 'sqlite', file: join(folder, 'erp.sqlite') }),
    },
    store: {
      witnessFile: join(folder, 'witness.json'),
      ...(database
        ? { type: serverType(store), ...database }
        : { type: 'sqlite', file: join(folder, 'waybill.sqlite') }),
    },
    service: {
      environment: 'sandbox',
      baseUrl: url,
      token: 'a-token-for-the-bench',
      limits: [{ requests: 1_000_000, perSeconds: 1 }],
      idempotency: { lifetimeHours: 24 },
    },
    invoices: { enabled: false },
    ...(perSecond > 0 ? { schedule: { capture: '* * * * * *' } } : {}),
    log: { level: 'error' },
  };
}

function serverType(kind: SteadyOptions['store']): 'mysql' | 'postgres' {
  return kind === 'postgres' ? 'postgres' : 'mysql';
}

async function seen(url: string): Promise<number> {
  return ((await (await fetch(url)).json()) as { orders: number }).orders;
}

async function until(isTrue: () => Promise<boolean | undefined>): Promise<void> {
  while (!(await isTrue())) await sleep(200);
}

/** @param sorted ascending */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
