import { setTimeout as sleep } from 'node:timers/promises';
import type { Tx } from '../src/store/store.js';
import { everyAttempt } from '../test/support/every-attempt.js';
import { until, withDaemonLab } from './daemon-lab.js';

export interface OutageOptions {
  /** The kind of outage: nobody listens, or a gateway answers for the service. */
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
  const lab = {
    installation: 'bench-outage',
    customers: 20,
    orders: options.orders,
    service: { deadlineSeconds: 2, concurrency: 4 },
    settings: {
      delivery: { leaseSeconds: 5, probeSeconds: options.probeSeconds },
      schedule: { capture: '* * * * * *', pull: '*/15 * * * * *' },
    },
  };
  return withDaemonLab(lab, async ({ sandbox, start, end, lookBack }) => {
    start();
    await until(() => sandbox.counts().orders >= 5, 60_000, 'the first orders');
    const downAt = Date.now();
    if (options.how === '502') sandbox.setFaults([{ kind: 'status', status: 502 }]);
    else await sandbox.goDown();
    await sleep((options.seconds * 1000) / 2);
    await end('SIGKILL');
    start();
    await sleep((options.seconds * 1000) / 2);
    const before = sandbox.counts().orders;
    const backAt = Date.now();
    if (options.how === '502') sandbox.clearFaults();
    else await sandbox.comeBack();
    await until(() => sandbox.counts().orders > before, 60_000, 'the first delivery');
    const firstDeliverySeconds = (Date.now() - backAt) / 1000;
    await until(() => sandbox.counts().orders >= options.orders, 300_000, 'all deliveries');
    const allDeliveredSeconds = (Date.now() - backAt) / 1000;
    await end('SIGTERM');

    const { attempts, openedAt, parked } = await lookBack(readOutage);
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
  });
}

/** When requests left, when the breaker opened, and what is parked. */
async function readOutage(tx: Tx): Promise<{ attempts: number[]; openedAt: number; parked: number }> {
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
}
