import { EventEmitter } from 'node:events';
import { openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { deliver } from '../../src/outbound/deliver/deliver.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { openDispatcher } from '../../src/outbound/dispatch/cluster-dispatcher.js';
import { captureAll } from '../jobs.js';

/** The task that a node is given at its start. */
export interface NodeTask {
  settings: object;
  /** It captures what is to be sent. */
  captures: boolean;
}

export interface NodeMeasure {
  cpuSeconds: number;
  delivered: number;
}

/** A process of its own: one node. It says that it is ready, delivers when told, captures when told, and reports when told to stop. */
process.once('message', async ({ settings, captures }: NodeTask) => {
  const app = await openApp({ settings: settingsFrom(settings), role: 'bench', log: 'stderr' });
  if (captures) await captureAll(app);
  const { context } = app;
  const [client, erp] = [await app.client(), await app.reader()];
  // To join is no part of what is measured.
  const lease = await ServiceLease.acquire(context, undefined, 'node');
  if (!(lease instanceof ServiceLease)) throw new Error(`Somebody else delivers: ${lease.holder}`);
  const dispatcher = await openDispatcher(context);
  await dispatcher?.settled();
  process.send?.('ready');
  process.once('message', async () => {
    const enough = new AbortController();
    const news = new EventEmitter();
    process.on('message', async (told) => {
      if (told === 'stop') return enough.abort();
      await captureAll(app);
      news.emit('due');
    });
    const cpu = process.cpuUsage();
    const { delivered } = await deliver(context, client, lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erp,
      dispatcher,
      news,
      signal: enough.signal,
    });
    const used = process.cpuUsage(cpu);
    await dispatcher?.close();
    await lease.release();
    await app.close();
    const measure: NodeMeasure = { cpuSeconds: (used.user + used.system) / 1e6, delivered: delivered.orders };
    process.send?.(measure, () => process.exit());
  });
});
