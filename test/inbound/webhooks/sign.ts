import { createHmac } from 'node:crypto';
import type { WebhookRequest } from '../../../src/inbound/webhooks/verify.js';

export const standardSecret = `whsec_${Buffer.from('a signing secret of thirty bytes').toString('base64')}`;
export const otherSecret = `whsec_${Buffer.from('another secret of thirty-one bytes').toString('base64')}`;
export const hmacSecret = 'a-text-of-more-than-16-characters';

export interface Parts {
  id?: string;
  atMs?: number;
  secret?: string;
  headers?: Record<string, string>;
}

/** A request as Standard Webhooks has it, signed by hand: the library must agree with the specification, not with itself. */
export function standardRequest(
  body: string,
  { id = 'evt_1', atMs = Date.now(), ...more }: Parts = {},
): WebhookRequest {
  const key = Buffer.from((more.secret ?? standardSecret).replace('whsec_', ''), 'base64');
  const timestamp = String(Math.floor(atMs / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return requestOf(body, {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
    ...more.headers,
  });
}

export function requestOf(body: string | Buffer, headers: Record<string, string>): WebhookRequest {
  return {
    method: 'POST',
    url: '/webhooks',
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(body),
  };
}

export function paidEvent(invoiceNo: string, id?: string): string {
  return JSON.stringify({ ...(id ? { id } : {}), type: 'payment.succeeded', data: { invoice_no: invoiceNo } });
}
