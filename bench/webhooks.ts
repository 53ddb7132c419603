import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { receiveWebhooks } from '../src/inbound/webhooks/receive-webhooks.js';
import { KnownSecrets } from '../src/model/secret.js';
import { withBenchLab } from './bench-lab.js';
import { captureAll, deliverUntil } from './jobs.js';
import type { WebhookLoad, WebhookLoadResult } from './webhook-load.js';

export interface WebhooksOptions {
  /** Webhooks a second, of which one in two hundred is valid. */
  perSecond: number;
  seconds: number;
  /** Requests a second that the service allows. */
  limit: number;
}

export interface WebhooksResult extends WebhookLoadResult {
  /** Events in the store afterwards. */
  stored: number;
  /** The share of the service's limit that delivery used while the webhooks came. */
  utilisation: number;
  throttled: number;
}

/** The load goes on a little longer than what is measured. */
const marginSeconds = 3;

/**
 * Delivers under a limit in the process that listens, while another process sends webhooks over real sockets. The
 * records that the valid ones announce are not read: that would be requests of their own within the limit.
 */
export async function webhooks({ perSecond, seconds, limit }: WebhooksOptions): Promise<WebhooksResult> {
  const lab = {
    installation: 'bench-webhooks',
    orders: (seconds + marginSeconds) * limit + 500,
    sandbox: { limits: [{ requests: limit, windowMs: 1000 }], delayMs: [0, 20] as const },
    limits: [{ requests: limit, perSeconds: 1 }],
  };
  const secret = randomBytes(32).toString('base64');
  const settings = (folder: string) => {
    const file = join(folder, 'webhook-secret');
    writeFileSync(file, secret, { mode: 0o600 });
    return { webhooks: { enabled: true, port: 0, secretFiles: [file] } };
  };
  return withBenchLab({ ...lab, settings }, async ({ app, sandbox }) => {
    await captureAll(app);
    const receiver = await receiveWebhooks(app.context, { knownSecrets: new KnownSecrets(), onEvent: () => undefined });
    if (receiver.port === null) throw new Error('There is no port to listen on.');
    const asked = { port: receiver.port, perSecond, seconds: seconds + marginSeconds, secret };
    const done = new AbortController();
    const loading = load(asked).finally(() => done.abort());
    loading.catch(() => undefined); // Whoever awaits it, when delivery has ended, hears of it.
    // Whatever is measured is measured under the load: it is there before the first order goes.
    await new Promise((resolve) => setTimeout(resolve, 500));
    try {
      await deliverUntil(app, done.signal);
      const result = await loading;
      const accepted = sandbox
        .ledger()
        .requests.filter(({ status }) => status !== null && status < 300)
        .map((request) => request.monotonic_ms)
        .sort((a, b) => a - b);
      const [row] = await app.store.read('count events', (tx) => tx.select('SELECT COUNT(*) AS n FROM webhook_event'));
      return {
        ...result,
        stored: Number(row?.n),
        utilisation: Math.round(used(accepted, limit, seconds) * 1000) / 1000,
        throttled: sandbox.counts().throttled,
      };
    } finally {
      await Promise.allSettled([loading]);
      await receiver.close();
    }
  });
}

/** Requests in so many seconds from the first one, by what a sliding window of a second lets through in that time. Pure. */
export function used(acceptedAtMs: readonly number[], limit: number, seconds: number): number {
  const [first = 0] = acceptedAtMs;
  return acceptedAtMs.filter((at) => at < first + seconds * 1000).length / (limit * seconds);
}

/** Sends from another process, and returns when that is gone. @throws when it ended without a result */
async function load(asked: WebhookLoad): Promise<WebhookLoadResult> {
  const child = fork(fileURLToPath(new URL('./webhook-load.js', import.meta.url)));
  let result: WebhookLoadResult | null = null;
  child.once('message', (message) => {
    result = message as WebhookLoadResult;
  });
  // An exit may be seen before the last message; what disconnects has nothing more to say.
  const gone = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  child.send(asked);
  const [[code, signal]] = await gone;
  if (result === null)
    throw new Error(`The process that sends webhooks ended with ${code ?? signal}, without a result`);
  return result;
}
