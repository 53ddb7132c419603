import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { missingCoverage } from './coverage.js';
import { type DatabaseServer, startDatabaseServer } from './database-server.js';
import { type DispatcherKind, dispatcherKinds, isOfNodes, type StoreKind, storeKinds } from './plan.js';
import { runSeed, type SeedResult } from './run-seed.js';

export interface TortureReport {
  seeds: number;
  violations: number;
  coverage: Record<string, number>;
  /** Names that came up less than once in ten seeds; asked from a hundred seeds on. */
  missing: string[];
  seconds: number;
  failures: { seed: number; invariant: string; detail: string }[];
}

export interface TortureOptions {
  seeds: readonly number[];
  store: StoreKind;
  dispatcher?: DispatcherKind;
  /** Seeds under way at once: they wait most of the time. */
  parallel: number;
  onResult?: (result: SeedResult) => void;
  /** Ends at the first violation that fits. */
  stopAt?: (violation: { invariant: string }) => boolean;
  /** The longest time for a run to become quiet after it was healed. */
  patienceSeconds?: number;
}

/** Runs seeds side by side, each with processes and databases of its own. */
export async function torture(options: TortureOptions): Promise<TortureReport> {
  const startedAt = performance.now();
  const { store, dispatcher = 'local' } = options;
  const waiting = [...options.seeds];
  const results: SeedResult[] = [];
  let stopped = false;
  // One after the other: two that prepare their data at once would meet in the temporary folder.
  let starting: Promise<unknown> = Promise.resolve();
  const startServer = (store: Exclude<StoreKind, 'sqlite'>): Promise<DatabaseServer> => {
    const started = starting.then(() => startDatabaseServer(store));
    starting = started;
    return started;
  };
  const worker = async () => {
    // A server of its own, because one of the faults is its restart.
    let server: DatabaseServer | null = null;
    try {
      if (store !== 'sqlite') server = await startServer(store);
      for (let seed = waiting.shift(); seed !== undefined && !stopped; seed = waiting.shift()) {
        const result = await runSeed(seed, { store, dispatcher }, server, options.patienceSeconds).catch(
          (error: Error): SeedResult => ({
            seed,
            // Not a broken promise, but nothing was proven either.
            violations: [{ invariant: 'run-to-its-end', detail: error.stack ?? error.message }],
            coverage: new Map(),
            seconds: 0,
            output: '',
          }),
        );
        results.push(result);
        options.onResult?.(result);
        if (options.stopAt && result.violations.some(options.stopAt)) stopped = true;
      }
    } finally {
      await server?.server.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.parallel, options.seeds.length) }, worker));

  const coverage: Record<string, number> = {};
  for (const result of results)
    for (const [name, times] of result.coverage) coverage[name] = (coverage[name] ?? 0) + times;
  const failures = results.flatMap(({ seed, violations }) => violations.map((violation) => ({ seed, ...violation })));
  return {
    seeds: results.length,
    violations: failures.length,
    coverage: Object.fromEntries(Object.entries(coverage).sort(([a], [b]) => (a < b ? -1 : 1))),
    missing: missingCoverage(coverage, results.length, store, dispatcher),
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    failures,
  };
}

const usage =
  'npm run torture -- --seeds N [--seed FIRST] [--store sqlite|mariadb|postgres] [--dispatcher local|nodes|cluster] [--parallel N] [--logs DIR] [--json]';

/** The command line. @returns the exit code: 0 all held, 1 something did not or did not come up, 2 wrong usage */
export async function runTorture(args: string[]): Promise<number> {
  let values: {
    [name in 'seeds' | 'seed' | 'store' | 'dispatcher' | 'parallel' | 'logs' | 'list' | 'patience' | 'until']?: string;
  } & {
    json?: boolean;
  };
  try {
    ({ values } = parseArgs({
      args,
      options: {
        seeds: { type: 'string' },
        seed: { type: 'string' },
        store: { type: 'string' },
        dispatcher: { type: 'string' },
        parallel: { type: 'string' },
        logs: { type: 'string' },
        json: { type: 'boolean' },
        list: { type: 'string' },
        patience: { type: 'string' },
        until: { type: 'string' },
      },
    }));
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  const count = Number(values.seeds ?? '1');
  const first = Number(values.seed ?? '1');
  const dispatcher = (values.dispatcher ?? 'local') as DispatcherKind;
  // Nodes are three programs.
  const parallel = Number(values.parallel ?? (isOfNodes({ dispatcher }) ? '1' : '4'));
  // Nodes share a store that is a server.
  const stores: readonly StoreKind[] = isOfNodes({ dispatcher }) ? ['mariadb', 'postgres'] : storeKinds;
  const store = (values.store ?? stores[0]) as StoreKind;
  const areNumbers = [count, first, parallel].every((n) => Number.isSafeInteger(n) && n > 0);
  if (!areNumbers || !dispatcherKinds.includes(dispatcher) || !stores.includes(store)) {
    console.error(usage);
    return 2;
  }
  const say = values.json ? console.error : console.log;
  // Always kept: what is drawn comes again, what the machine did meanwhile does not.
  const logs = values.logs ?? join(tmpdir(), 'waybill-torture');
  await mkdir(logs, { recursive: true });
  const report = await torture({
    // For the proof: chosen seeds, less patience, and an end when what was looked for is found.
    seeds: values.list
      ? values.list.split(',').map(Number)
      : Array.from({ length: count }, (_, index) => first + index),
    ...(values.patience ? { patienceSeconds: Number(values.patience) } : {}),
    ...(values.until ? { stopAt: ({ invariant }) => (values.until ?? '').split(',').includes(invariant) } : {}),
    store,
    dispatcher,
    parallel,
    onResult: ({ seed, violations, seconds, output }) => {
      say(`seed ${seed}: ${violations.length === 0 ? 'held' : 'BROKEN'} after ${seconds.toFixed(1)} s`);
      for (const { invariant, detail } of violations.slice(0, 10)) say(`  ${invariant}: ${detail}`);
      if (violations.length === 0) return;
      say(`  again: npm run torture -- --seeds 1 --seed ${seed} --store ${store} --dispatcher ${dispatcher}`);
      const log = join(logs, `${store}-${dispatcher}-${seed}.log`);
      say(`  what the daemons and the store said: ${log}`);
      writeFileSync(log, output);
    },
  });
  if (values.json) console.log(JSON.stringify(report, null, 2));
  else {
    for (const [name, times] of Object.entries(report.coverage)) say(`${name.padEnd(40)} ${times}`);
    say(`${report.seeds} seeds in ${report.seconds} s, ${report.violations} violations`);
  }
  for (const name of report.missing) say(`missing: ${name} came up in less than one of ten seeds`);
  return report.violations > 0 || report.missing.length > 0 ? 1 : 0;
}
