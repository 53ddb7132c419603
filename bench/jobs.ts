import type { App } from '../src/app.js';
import { sync } from '../src/operator/sync.js';
import { type DeliverOptions, deliver } from '../src/outbound/deliver/deliver.js';
import { ServiceLease } from '../src/outbound/deliver/service-lease.js';

/** Delivers what was captured until it is told to end. */
export async function deliverUntil(
  { context, client, reader }: App,
  signal: AbortSignal,
  onProgress: NonNullable<DeliverOptions['onProgress']> = () => undefined,
): Promise<void> {
  const lease = await ServiceLease.acquire(context);
  if (!(lease instanceof ServiceLease)) throw new Error(`Somebody else delivers: ${lease.holder}`);
  try {
    await deliver(context, await client(), lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erp: await reader(),
      signal,
      onProgress,
    });
  } finally {
    await lease.release();
  }
}

/** Captures everything that waits in the ERP. */
export async function captureAll({ context, client, reader }: App): Promise<void> {
  await sync(context, { reader: await reader(), client }, { stages: ['capture'] });
}
