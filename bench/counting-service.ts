import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A process of its own: a service that acknowledges everything and counts. It is as small as a service on node:http can be, so
 * that the sender is what is measured. Asked for `/arrivals`, it says when each order came; asked to `/throttle`, it answers 429 for
 * two seconds, and counts how often.
 */
let orders = 0;
let throttled = 0;
let throttledUntil = 0;
const arrivals: Record<string, number> = {};
const acknowledged = '2026-01-02T08:00:00Z';

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.method === 'GET' && request.url === '/throttle') throttledUntil = Date.now() + 2_000;
    if (request.method === 'GET') return answer(200, request.url === '/arrivals' ? arrivals : { orders, throttled });
    if (Date.now() < throttledUntil) {
      throttled++;
      response.setHeader('retry-after', '2');
      return answer(429, {});
    }
    const body = JSON.parse(Buffer.concat(chunks).toString());
    if (!body.items) return answer(201, { customer_code: body.customer_code, status: 'active' });
    let total = 0;
    for (const { qty, price } of body.items) total += qty * price;
    orders++;
    arrivals[body.note] ??= Date.now();
    answer(201, { order_id: `S${orders}`, status: 'confirmed', total, created_at: acknowledged });
  });
  const answer = (status: number, body: object) => {
    const text = JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.end(text);
  };
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
process.on('disconnect', () => process.exit());
