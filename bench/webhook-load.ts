import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';

/** A request of the parent process. */
export interface WebhookLoad {
  port: number;
  perSecond: number;
  seconds: number;
  /** base64. */
  secret: string;
}

export interface WebhookLoadResult {
  sent: number;
  /** Answers by their status; `none`: there was none. */
  answers: Record<string, number>;
  valid: number;
  /** Measured from the first to the last request. */
  perSecond: number;
  p99Ms: number;
}

const connections = 64;
const stepMs = 10;

/** One in two hundred is signed by the secret; of the rest most are forged, and some are compressed, of another type or stale. */
function headersOf(nth: number, body: string, secret: string): Record<string, string> {
  const kind = nth % 200;
  const timestamp = String(Math.floor(Date.now() / 1000) - (kind === 3 ? 900 : 0));
  const id = `load_${process.pid}_${nth}`;
  const key = kind === 0 || kind === 3 ? Buffer.from(secret, 'base64') : 'somebody else';
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': kind === 1 ? 'text/plain' : 'application/json',
    ...(kind === 2 ? { 'content-encoding': 'gzip' } : {}),
    'content-length': String(Buffer.byteLength(body)),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

async function load({ port, perSecond, seconds, secret }: WebhookLoad): Promise<WebhookLoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const answers: Record<string, number> = {};
  const times: number[] = [];
  const under: Promise<void>[] = [];
  const total = perSecond * seconds;
  const begin = performance.now();
  let sent = 0;
  const send = (nth: number) =>
    new Promise<void>((resolve) => {
      const body = JSON.stringify({
        type: 'payment.succeeded',
        data: { invoice_no: `INV-${nth}`, pad: 'x'.repeat(200) },
      });
      const at = performance.now();
      const end = (status: string) => {
        answers[status] = (answers[status] ?? 0) + 1;
        times.push(performance.now() - at);
        resolve();
      };
      const headers = headersOf(nth, body, secret);
      const one = request({ port, host: '127.0.0.1', path: '/webhooks', method: 'POST', headers, agent }, (answer) => {
        answer.resume().on('end', () => end(String(answer.statusCode)));
      });
      one.on('error', () => end('none')).end(body);
    });
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor(((performance.now() - begin) / 1000) * perSecond));
      while (sent < due) under.push(send(sent++));
      if (sent < total) return;
      clearInterval(timer);
      resolve();
    }, stepMs);
  });
  await Promise.all(under);
  const tookSeconds = (performance.now() - begin) / 1000;
  agent.destroy();
  times.sort((a, b) => a - b);
  return {
    sent,
    answers,
    valid: Math.ceil(total / 200),
    perSecond: Math.round(sent / tookSeconds),
    p99Ms: Math.round(times[Math.floor(times.length * 0.99)] ?? 0),
  };
}

process.once('message', (asked: WebhookLoad) => {
  void load(asked).then((result) => process.send?.(result, () => process.disconnect()));
});
