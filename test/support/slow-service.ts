import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The fate of a request for an order: it takes effect after so long, or when the test releases it, whether its client
 * is still there or not; or never. `failure`: it is answered 500 instead, and nothing is made. `made and failed`: it is
 * made once, and each request is answered 500.
 */
export type OrderFate = { afterMs: number } | 'held' | 'lost' | 'failure' | 'made and failed';

export interface SlowService {
  readonly url: string;
  /** The records: an id for each, and the number of the ERP as its note. */
  readonly orders: readonly { id: string; note: string }[];
  /** Each request for an order, and each question for one. */
  readonly requests: readonly { method: string; note: string; atMs: number; key: string | undefined }[];
  /** Requests that were received and have not taken effect yet. */
  readonly underWay: number;
  /** @param key the idempotency key, for those who look at it */
  fateOf: (note: string, key?: string) => OrderFate;
  /** Held requests take effect now. */
  release(): void;
  close(): Promise<void>;
}

/**
 * A service without idempotency keys, as many are: each request makes an order. It goes on with what it has received when the
 * client has left, and its list shows at once what it has made.
 */
export async function startSlowService(fateOf: SlowService['fateOf']): Promise<SlowService> {
  const orders: { id: string; note: string }[] = [];
  const requests: { method: string; note: string; atMs: number; key: string | undefined }[] = [];
  const underWay = new Map<() => void, NodeJS.Timeout | null>();
  const answer = (response: ServerResponse, status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service');
    const method = request.method ?? '';
    const key = request.headers['idempotency-key']?.toString();
    if (method === 'GET') {
      const note = searchParams.get('note') ?? '';
      requests.push({ method, note, atMs: performance.now(), key });
      const data = orders.filter((order) => order.note === note).map(({ id }) => ({ order_id: id, note }));
      answer(response, 200, { data });
      return;
    }
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text) as { customer_code: string; note: string; items: { qty: number; price: number }[] };
    if (pathname === '/v1/customers') {
      answer(response, 201, { customer_code: body.customer_code });
      return;
    }
    const { note } = body;
    requests.push({ method, note, atMs: performance.now(), key });
    const fate = service.fateOf(note, key);
    if (fate === 'failure' || fate === 'made and failed') {
      const isThere = orders.some((order) => order.note === note);
      if (fate === 'made and failed' && !isThere) orders.push({ id: `ord_${orders.length + 1}`, note });
      answer(response, 500, { error: 'it failed' });
      return;
    }
    if (fate === 'lost') {
      request.socket.destroy();
      return;
    }
    const takeEffect = () => {
      underWay.delete(takeEffect);
      const id = `ord_${orders.length + 1}`;
      orders.push({ id, note });
      const total = body.items.reduce((sum, { qty, price }) => sum + qty * price, 0);
      answer(response, 201, { order_id: id, status: 'open', total, created_at: '2026-11-27T18:00:00Z' });
    };
    underWay.set(takeEffect, fate === 'held' ? null : setTimeout(takeEffect, fate.afterMs));
  };
  const server = createServer((request, response) => {
    receive(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const service = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    orders,
    requests,
    get underWay() {
      return underWay.size;
    },
    fateOf,
    release: () => {
      for (const [takeEffect, timer] of underWay) if (timer === null) takeEffect();
    },
    close: () => {
      for (const timer of underWay.values()) if (timer) clearTimeout(timer);
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return service;
}

/** The look-up of an order. */
export const slowLookUp = {
  path: '/v1/orders',
  query: { note: '{note}' },
  list: 'data',
  id: 'order_id',
  match: { note: '{note}' },
  absenceProves: true,
};
