import { createHmac, randomUUID } from 'node:crypto';
import type { SandboxOptions, WebhookOptions } from './options.js';

/** A webhook as it went out, with the status of each answer; null for none. */
interface SentWebhook {
  id: string;
  type: string;
  body: string;
  headers: Record<string, string>;
  answers: (number | null)[];
}

/** Sends webhooks one after the other, each once, and remembers them, so that they can be sent again. */
export class WebhookSender {
  readonly sent: SentWebhook[] = [];
  #line: Promise<unknown> = Promise.resolve();

  /** Throws a TypeError while `webhooks` is not set. @returns the id of the event */
  announce(options: SandboxOptions, type: string, data: unknown): string {
    const { url, ...signing } = requireWebhooks(options);
    const nowMs = options.nowMs();
    const id = `evt_${randomUUID()}`;
    const timestamp = String(Math.floor(nowMs / 1000));
    const body = JSON.stringify({ id, type, timestamp: new Date(nowMs).toISOString(), data });
    const webhook: SentWebhook = {
      id,
      type,
      body,
      headers: signatureHeaders(signing, id, timestamp, body),
      answers: [],
    };
    this.sent.push(webhook);
    this.#send(url, webhook);
    return id;
  }

  /** Sends one again, byte for byte. @returns the status of the answer; null for none */
  async repeat(options: SandboxOptions, id: string): Promise<number | null> {
    const { url } = requireWebhooks(options);
    const webhook = this.sent.find((one) => one.id === id);
    if (!webhook) throw new TypeError(`There was no webhook ${id}`);
    this.#send(url, webhook);
    await this.#line;
    return webhook.answers.at(-1) ?? null;
  }

  /** Resolves when all of them were answered or have failed. */
  async settled(): Promise<void> {
    await this.#line;
  }

  #send(url: string, { body, headers, answers }: SentWebhook): void {
    this.#line = this.#line.then(async () => {
      try {
        const answer = await fetch(url, { method: 'POST', body, headers, signal: AbortSignal.timeout(10_000) });
        await answer.arrayBuffer();
        answers.push(answer.status);
      } catch {
        answers.push(null);
      }
    });
  }
}

function requireWebhooks({ webhooks }: SandboxOptions): WebhookOptions {
  if (!webhooks) throw new TypeError('The option webhooks is not set');
  return webhooks;
}

function signatureHeaders(
  { scheme = 'standard', secret }: Omit<WebhookOptions, 'url'>,
  id: string,
  timestamp: string,
  body: string,
): Record<string, string> {
  const type = { 'content-type': 'application/json' };
  if (scheme === 'hmac') {
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
    return { ...type, 'x-signature': `sha256=${signature}`, 'x-timestamp': timestamp };
  }
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...type, 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
