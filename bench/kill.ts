import { setTimeout as sleep } from 'node:timers/promises';
import type { Tx } from '../src/store/store.js';
import { until, withDaemonLab } from './daemon-lab.js';
import { Servers } from './servers.js';

export interface KillOptions {
  store: 'sqlite' | 'mariadb' | 'postgres';
  kills: number;
  requestsPerSecond: number;
}

/** The state after one kill, and the recovery from it. */
export interface KillResult {
  kill: number;
  /** Requests that the process had sent before. */
  sent: number;
  /** Attempts that may have been sent, as the next process says. */
  inDoubt: number;
  /** Those of them that the service never saw. */
  neverLeft: number;
  /** From the start of the next process to its first request. */
  firstRequestSeconds: number;
}

export interface KillResults {
  kills: KillResult[];
  orders: number;
  duplicates: number;
  throttled: number;
}

/** After this a daemon is in the middle of its drain; it is killed at a random moment of the next three seconds. */
const leastMs = 1_500;
const mostMs = 4_500;
/** After this the service has what a killed process sent. */
const onTheWayMs = 100;

/** A daemon that drains under a limit is killed again and again, and started again at once. */
export async function kill({ store, kills, requestsPerSecond }: KillOptions): Promise<KillResults> {
  await using servers = new Servers();
  const place = await servers.placeFor(`waybill-${store}`);
  const orders = Math.ceil(((kills + 1) * mostMs * requestsPerSecond) / 1000);
  const lab = {
    installation: 'bench-kill',
    customers: 100,
    orders,
    sandbox: { limits: [{ requests: requestsPerSecond, windowMs: 1_000 }], delayMs: [0, 20] as const },
    service: { limits: [{ requests: requestsPerSecond, perSeconds: 1 }] },
    ...(place && { store: { type: store === 'mariadb' ? 'mysql' : store, ...place.database } }),
  };
  // Awaited here, or the server would be stopped at once.
  return await withDaemonLab(lab, async ({ sandbox, start, end, lookBack }) => {
    const requests = () => sandbox.counts().requests;
    const begin = async (): Promise<{ before: number; seconds: number }> => {
      const before = requests();
      const startedAt = performance.now();
      start();
      await until(() => requests() > before, 120_000, 'the first request');
      return { before, seconds: (performance.now() - startedAt) / 1000 };
    };
    const results: KillResult[] = [];
    let lastId = 0;
    let { before } = await begin();
    for (let nth = 1; nth <= kills; nth++) {
      await sleep(leastMs + Math.random() * (mostMs - leastMs));
      await end('SIGKILL');
      await sleep(onTheWayMs);
      const sent = requests() - before;
      const seen = new Set(
        sandbox
          .ledger()
          .requests.slice(before)
          .map(({ idempotency_key: key }) => key),
      );
      const next = await begin();
      before = next.before;
      const inDoubt = await lookBack((tx) => doubtedSince(tx, lastId));
      lastId = inDoubt.at(-1)?.id ?? lastId;
      results.push({
        kill: nth,
        sent,
        inDoubt: inDoubt.length,
        neverLeft: inDoubt.filter(({ sent_key: key }) => !seen.has(key)).length,
        firstRequestSeconds: Math.round(next.seconds * 100) / 100,
      });
    }
    await until(() => sandbox.counts().orders >= orders, 300_000, 'all deliveries');
    await end('SIGTERM');
    const { orders: delivered, duplicateReferences: duplicates, throttled } = sandbox.counts();
    return { kills: results, orders: delivered, duplicates, throttled };
  });
}

/** The writes of which a process that took over says that they may have been sent. */
const doubtedSince = (tx: Tx, id: number) =>
  tx.select<{ id: number; sent_key: string }>(
    "SELECT id, idempotency_key AS sent_key FROM attempt WHERE verdict='unknown' AND message_id IS NOT NULL AND id>? ORDER BY id",
    [id],
  );
