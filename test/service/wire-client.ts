import { type ServiceSettings, serviceSettings } from '../../src/config/sections/service.js';
import type { SendRequest } from '../../src/service/compose-request.js';
import { realFiles } from '../../src/service/credential/watched-files.js';
import { noPlaces } from '../../src/service/failure-mark.js';
import {
  type ReadQuestion,
  type Sent,
  ServiceClient,
  type ServiceClientOptions,
} from '../../src/service/service-client.js';
import type { OpenClient } from '../../src/service/wire/connections.js';

export const token = 'canary-token-0123456789';

export function serviceAt(baseUrl: string, changes: object = {}): ServiceSettings {
  // More than any test sends: what is not about the pace must not wait for it.
  const limits = [{ requests: 1_000, perSeconds: 1 }];
  return serviceSettings.parse({ environment: 'sandbox', baseUrl, token, limits, ...changes });
}

export const orderRecord = {
  customer_code: 'C1',
  items: [{ sku: 'Ä-1', qty: 2, price: 650 }],
  note: 'Müller & Söhne „eilig“ 🚚',
};
export const acknowledgement = {
  order_id: 'O-1',
  status: 'accepted',
  created_at: '2026-06-01T12:00:00+02:00',
  total: 1300,
};
export const created = { kind: 'answer' as const, status: 201, body: JSON.stringify(acknowledgement) };

export function sending(changes: Partial<SendRequest> = {}): SendRequest {
  const body = changes.body ?? JSON.stringify(orderRecord);
  return {
    entity: 'order',
    operation: 'create',
    idempotencyKey: 'key-1',
    body,
    record: body,
    serviceId: null,
    gate: { ask: async () => null },
    ...changes,
  };
}

/** The question for a page of a list, which is read as what its answer says. */
export function page(path = '/v2/invoices', query: Record<string, string> = {}): ReadQuestion<{ body: string }> {
  return {
    endpoint: 'listInvoices',
    path,
    query,
    answers: [200],
    places: noPlaces,
    read: (_status, _json, body) => ({ body }),
  };
}

/** Looked at so often that no test has to wait for it. */
const quickFiles = { ...realFiles, lookEveryMs: 25 };

/** Clients that are closed when the test is over. */
export class Clients {
  readonly #open: ServiceClient[] = [];
  /** See `WireLab`. */
  openClient: OpenClient | undefined;

  at(baseUrl: string, changes: object = {}, quickResends = 2, more: Partial<ServiceClientOptions> = {}): ServiceClient {
    const service = serviceAt(baseUrl, changes);
    const way = this.openClient ? { openClient: this.openClient } : {};
    const client = new ServiceClient({ service, quickResends, nowMs: Date.now, files: quickFiles, ...way, ...more });
    this.#open.push(client);
    return client;
  }

  closeAll(): void {
    for (const client of this.#open.splice(0)) client.close();
  }
}

/** Runs `send` and says how long it took, in milliseconds. */
export async function timed(send: () => Promise<Sent>): Promise<Sent & { tookMs: number }> {
  const started = performance.now();
  const sent = await send();
  return { ...sent, tookMs: performance.now() - started };
}
