import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type App, openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { runSchedule } from '../../src/daemon/schedule.js';
import { entities } from '../../src/model/record.js';
import { readCursor, requestWakeUp, sweepAtNextPass } from '../../src/store/job-runs.js';
import type { Tx } from '../../src/store/store.js';
import { keepSmall } from '../../src/v8.js';
import { countStatements } from '../../test/support/count-statements.js';
import { forged } from '../../test/support/forged.js';
import { captureAll } from '../jobs.js';

/** The daemon's resources since the last report. */
export interface OfficeReport {
  seconds: number;
  cpuSeconds: number;
  /** The delay of the event loop: a request, a signal or a webhook waits as long. Null: it was not measured. */
  loopDelayP99Ms: number | null;
  loopDelayMaxMs: number | null;
  rssMib: number;
  peakRssMib: number;
  /** The statements that the driver of SQLite got, for the ERP and for the store. */
  statements: number;
}

keepSmall();

/** The histogram holds the time between two looks, so that a loop which is never late shows this. */
const lookEveryMs = 10;

/**
 * A process of its own: the daemon's jobs, as `waybill daemon` runs them, and figures of it whenever its parent asks.
 * `isIdle`: nothing looks at the event loop, because that costs more than the daemon itself.
 */
interface Office {
  settings: object;
  isIdle: boolean;
  /** No daemon: what the ERP holds is put on record as delivered, and the process ends. */
  putsDelivered?: boolean;
}
process.once('message', async ({ settings, isIdle, putsDelivered }: Office) => {
  const counted = countStatements();
  const app = await openApp({ settings: settingsFrom(settings), role: 'bench', log: 'stderr' });
  if (putsDelivered) {
    await captureAll(app);
    await app.store.transaction('put all on record as delivered', putDelivered);
    await app.close();
    process.exit();
  }
  const stop = new AbortController();
  const partners = { reader: await app.reader(), client: await app.client() };
  const loopDelay = monitorEventLoopDelay({ resolution: lookEveryMs });
  let cpu = process.cpuUsage();
  let at = performance.now();
  let { statements } = counted;
  const report = (): OfficeReport => {
    const used = process.cpuUsage(cpu);
    const figures = {
      seconds: (performance.now() - at) / 1000,
      cpuSeconds: (used.user + used.system) / 1e6,
      loopDelayP99Ms: isIdle ? null : loopDelay.percentile(99) / 1e6 - lookEveryMs,
      loopDelayMaxMs: isIdle ? null : loopDelay.max / 1e6 - lookEveryMs,
      rssMib: process.memoryUsage.rss() / 2 ** 20,
      peakRssMib: process.resourceUsage().maxRSS / 1024,
      statements: counted.statements - statements,
    };
    loopDelay.reset();
    cpu = process.cpuUsage();
    at = performance.now();
    statements = counted.statements;
    return figures;
  };
  process.on('message', async (message) => {
    if (message === 'stop') stop.abort();
    else if (message === 'sweep') process.send?.(await sweepSeconds(app));
    else process.send?.(report());
  });
  if (!isIdle) loopDelay.enable();
  process.send?.('ready');
  await runSchedule(app.context, partners, stop.signal);
  await app.close();
  await sleep(0);
  process.exit();
});

/** Everything that was captured, as if the service had acknowledged it: to deliver a million orders would take minutes. */
async function putDelivered(tx: Tx): Promise<void> {
  const now = Date.now();
  await tx.run(
    `INSERT INTO binding (entity, source_key, folded_key, service_id, revision, generation, content_hash, mapping_fingerprint,
                          identity, acknowledged, acknowledged_at)
     SELECT m.entity, m.source_key, m.folded_key, CAST(m.id AS CHAR(20)), m.revision, m.generation, m.content_hash,
            m.mapping_fingerprint, m.identity, b.record, ? FROM outbox_message m JOIN message_body b ON b.message_id=m.id`,
    [now],
  );
  await tx.run(`UPDATE outbox_message SET ${forged.delivered}, attempts=1, was_sent=1, first_sent_at=?, closed_at=?`, [
    now,
    now,
  ]);
}

/** Asks for a sweep, and waits for its end. */
async function sweepSeconds({ store }: App): Promise<number> {
  const begunAt = performance.now();
  await store.transaction('ask for a sweep', async (tx) => {
    for (const entity of entities) await sweepAtNextPass(tx, entity);
    await requestWakeUp(tx, 'capture', 'bench', Date.now());
  });
  const isOver = (tx: Tx) => readCursor(tx, 'order').then(({ sweptAt }) => sweptAt !== null);
  while (!(await store.read('look whether the sweep is over', isOver))) await sleep(50);
  return (performance.now() - begunAt) / 1000;
}
