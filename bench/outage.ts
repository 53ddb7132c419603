import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openApp } from '../src/app.js';
import { createSampleErp, sampleErpMapping } from '../src/lab/sample-erp/create-sample-erp.js';
import { startSandbox } from '../src/lab/sandbox/start-sandbox.js';
import { everyAttempt } from '../test/support/every-attempt.js';

export interface OutageOptions {
  /** How the service is away: nobody listens, or its gateway answers for it. */
  how: 'refused' | '502';
  seconds: number;
  orders: number;
  probeSeconds: number;
}

export interface OutageResult {
  downSeconds: number;
  /** Requests that left in the outage, after the breaker had opened. */
  probes: number;
  /** Shortest time between two of them. */
  shortestGapSeconds: number | null;
  /** From the return to the first delivery. */
  firstDeliverySeconds: number;
  /** From the return until everything was delivered. */
  allDeliveredSeconds: number;
  parked: number;
  orders: number;
  duplicates: number;
}

/** A service that is down for minutes, a daemon as a real process, and a kill and restart of it in between. */
export async function outage(options: OutageOptions): Promise<OutageResult> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-outage-'));
  const sandbox = await startSandbox({});
  const erp = join(folder, 'erp.sqlite');
  await createSampleErp({ target: { type: 'sqlite', file: erp }, customers: 20, orders: options.orders });
  const configDir = join(folder, 'config');
  await mkdir(configDir);
  await writeFile(
    join(configDir, 'local.yaml'),
    JSON.stringify({
      ...sampleErpMapping,
      installation: 'bench-outage',
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: erp },
      store: { type: 'sqlite', file: join(folder, 'waybill.sqlite') },
      service: {
        environment: 'sandbox',
        baseUrl: sandbox.url,
        deadlineSeconds: 2,
        concurrency: 4,
        idempotency: { lifetimeHours: 24 },
      },
      delivery: { leaseSeconds: 5, probeSeconds: options.probeSeconds },
      schedule: { capture: '* * * * * *', pull: '*/15 * * * * *' },
    }),
  );
  const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
  const start = () => {
    const env = { PATH: process.env.PATH, HOME: folder, WAYBILL_SERVICE_TOKEN: 'sandbox-token' };
    const child = spawn(process.execPath, [main, 'daemon', '--config', configDir], {
      cwd: folder,
      env,
      stdio: 'ignore',
    });
    return { kill: (signal: NodeJS.Signals) => child.kill(signal), ended: once(child, 'exit') };
  };
  let daemon = start();
  try {
    await until(() => sandbox.counts().orders >= 5, 60_000, 'the first orders');
    const downAt = Date.now();
    if (options.how === '502') sandbox.setFaults([{ kind: 'status', status: 502 }]);
    else await sandbox.goDown();
    await sleep((options.seconds * 1000) / 2);
    daemon.kill('SIGKILL');
    await daemon.ended;
    daemon = start();
    await sleep((options.seconds * 1000) / 2);
    const before = sandbox.counts().orders;
    const backAt = Date.now();
    if (options.how === '502') sandbox.clearFaults();
    else await sandbox.comeBack();
    await until(() => sandbox.counts().orders > before, 60_000, 'the first delivery');
    const firstDeliverySeconds = (Date.now() - backAt) / 1000;
    await until(() => sandbox.counts().orders >= options.orders, 300_000, 'all deliveries');
    const allDeliveredSeconds = (Date.now() - backAt) / 1000;
    daemon.kill('SIGTERM');
    await daemon.ended;

    const { attempts, openedAt, parked } = await lookBack(configDir);
    const inOutage = attempts.filter((at) => at > Math.max(downAt, openedAt) && at < backAt);
    const gaps = inOutage.slice(1).map((at, i) => at - (inOutage[i] as number));
    return {
      downSeconds: (backAt - downAt) / 1000,
      probes: inOutage.length,
      shortestGapSeconds: gaps.length > 0 ? Math.min(...gaps) / 1000 : null,
      firstDeliverySeconds,
      allDeliveredSeconds,
      parked,
      orders: sandbox.counts().orders,
      duplicates: sandbox.counts().duplicateReferences,
    };
  } finally {
    daemon.kill('SIGKILL');
    await daemon.ended;
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the store remembers: when requests left, when the breaker opened, and what is parked. */
async function lookBack(configDir: string): Promise<{ attempts: number[]; openedAt: number; parked: number }> {
  process.env.WAYBILL_SERVICE_TOKEN = 'sandbox-token';
  const app = await openApp({ configDir, role: 'bench', log: 'stderr', readOnly: true });
  try {
    return await app.store.read('look back', async (tx) => {
      const rows = await tx.select(
        `SELECT started_at AS at FROM ${everyAttempt} WHERE started_at IS NOT NULL ORDER BY started_at`,
      );
      const [opened] = await tx.select("SELECT MIN(at) AS at FROM audit_log WHERE event='pause' AND outcome='outage'");
      const [parked] = await tx.select("SELECT COUNT(*) AS n FROM audit_log WHERE event='parked'");
      return {
        attempts: rows.map((row) => Number(row.at)),
        openedAt: Number(opened?.at ?? 0),
        parked: Number(parked?.n ?? 0),
      };
    });
  } finally {
    await app.close();
    delete process.env.WAYBILL_SERVICE_TOKEN;
  }
}

async function until(done: () => boolean, withinMs: number, what: string): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!done()) {
    if (performance.now() > endsAt) throw new Error(`It did not happen within ${withinMs} ms: ${what}`);
    await sleep(10);
  }
}
