import { createHash } from 'node:crypto';

/** The fate of one request. `-before`: it has no effect; `-after`: it has its effect, and the answer is lost. */
export const fates = [
  'ok',
  'refuse',
  'timeout-before',
  'timeout-after',
  'reset-before',
  'reset-after',
  'error-before',
  'error-after',
  'gateway-after',
  'throttle',
  'throttle-long',
  'html',
  'cut-off',
  'wrong-total',
  'unreachable',
  'unauthorised',
  'forbidden',
  'in-progress',
  'unknown-customer',
] as const;
export type Fate = (typeof fates)[number];

export interface Profile {
  replaysRefusals: boolean;
  keyLifetimeMs: number;
}

export interface Arrival {
  atMs: number;
  by: string;
  method: string;
  path: string;
  key: string | null;
  bodyHash: string;
  body: string;
  fate: Fate;
  /** The status of a complete and valid answer that the client got; null: it got none. */
  answered: number | null;
  requestId: string;
}

export type Reply =
  | { kind: 'answer' | 'cut-off'; status: number; body: string; headers: Record<string, string> }
  | { kind: 'timeout' | 'reset' | 'unreachable' };

type Fields = { [name: string]: unknown };

export interface Request {
  method: string;
  path: string;
  query: Fields;
  key: string | null;
  body: string;
}

const onlyOfWrites = new Set<Fate>(['refuse', 'in-progress', 'unknown-customer', 'wrong-total']);

interface Answer {
  status: number;
  body: string;
}

/** A quantity that the service never takes. */
export const refusedQty = 99;

/** The service as it is promised to be: it remembers keys for their lifetime, and makes one record for each that it does not know. */
export class ModelService {
  readonly customers = new Map<string, Fields>();
  /** The records by the id that the service gave. */
  readonly orders = new Map<string, Fields>();
  /** Amounts of the unpaid invoices, by number. */
  readonly invoices = new Map<string, number>();
  readonly arrivals: Arrival[] = [];
  /** The fate of the next requests, in order; after that all is well. */
  fates: Fate[] = [];
  readonly #profile: Profile;
  readonly #nowMs: () => number;
  readonly #keys = new Map<string, Answer & { atMs: number; hash: string }>();
  #lastId = 0;

  constructor(profile: Profile, nowMs: () => number) {
    this.#profile = profile;
    this.#nowMs = nowMs;
  }

  ordersOf(reference: string): { id: string; record: Fields }[] {
    return [...this.orders].flatMap(([id, record]) => (record.note === reference ? [{ id, record }] : []));
  }

  receive(by: string, request: Request): Reply {
    const { method, path, key, body } = request;
    const drawn = this.fates.shift() ?? 'ok';
    // A question would get lies here, not troubles.
    const fate = method === 'GET' && onlyOfWrites.has(drawn) ? 'ok' : drawn;
    if (fate === 'unreachable') return { kind: 'unreachable' };
    const requestId = `R-${this.arrivals.length + 1}`;
    const bodyHash = createHash('sha256').update(body).digest('hex');
    const arrival = { atMs: this.#nowMs(), by, method, path, key, bodyHash, body, fate, answered: null, requestId };
    this.arrivals.push(arrival);
    const reply = this.#reply(arrival, request.query);
    if (reply.kind === 'answer' && !(fate === 'html' && reply.status < 300))
      this.arrivals[this.arrivals.length - 1] = { ...arrival, answered: reply.status };
    return 'headers' in reply ? { ...reply, headers: { ...reply.headers, 'x-request-id': requestId } } : reply;
  }

  #reply(arrival: Arrival, query: Fields): Reply {
    const say = (status: number, body: string, headers: Record<string, string> = {}): Reply => ({
      kind: 'answer',
      status,
      body,
      headers,
    });
    switch (arrival.fate) {
      case 'timeout-before':
        return { kind: 'timeout' };
      case 'reset-before':
        return { kind: 'reset' };
      case 'error-before':
        return say(500, 'oops');
      case 'throttle':
        return say(429, 'slow down', { 'retry-after': '1' });
      case 'throttle-long':
        return say(429, 'slow down', { 'retry-after': '90' });
      case 'unauthorised':
        return say(401, 'who are you');
      case 'forbidden':
        return say(403, 'not you');
      case 'in-progress':
        return say(409, 'in progress');
      case 'unknown-customer':
        return say(404, 'unknown customer');
    }
    const answer = arrival.method === 'GET' ? this.#read(arrival.path, query) : this.#withKey(arrival);
    switch (arrival.fate) {
      case 'timeout-after':
        return { kind: 'timeout' };
      case 'reset-after':
        return { kind: 'reset' };
      case 'error-after':
        return say(502, 'oops');
      case 'gateway-after':
        return say(503, 'later', { 'retry-after': '1' });
      case 'html':
        return answer.status < 300 ? say(answer.status, '<html>Welcome</html>') : say(answer.status, answer.body);
      case 'cut-off':
        return { kind: 'cut-off', status: answer.status, body: answer.body.slice(0, 5), headers: {} };
      case 'wrong-total':
        return say(answer.status, answer.body.replace(/"total":\d+/, '"total":1'));
    }
    return say(answer.status, answer.body);
  }

  /** A key that it remembers gets its first answer again; a key with another body gets none. */
  #withKey(arrival: Arrival): Answer {
    const { key, method, path } = arrival;
    const hash = `${method} ${path} ${arrival.bodyHash}`;
    const known = key === null ? undefined : this.#keys.get(key);
    if (known && arrival.atMs - known.atMs <= this.#profile.keyLifetimeMs) {
      if (known.hash === hash) return known;
      return { status: 422, body: '{"error":{"code":"idempotency_mismatch"}}' };
    }
    const answer = arrival.fate === 'refuse' ? refusal('not today') : this.#act(method, path, arrival.body);
    if (key !== null && (answer.status < 300 || this.#profile.replaysRefusals))
      this.#keys.set(key, { ...answer, atMs: arrival.atMs, hash });
    return answer;
  }

  #read(path: string, query: Fields): Answer {
    const say = (value: object): Answer => ({ status: 200, body: JSON.stringify(value) });
    if (path === '/v1/orders') {
      const found = this.ordersOf(String(query.reference));
      return say({
        orders: found.map(({ id, record }) => ({ order_id: id, note: record.note, total: totalOf(record) })),
      });
    }
    if (path !== '/v2/invoices') {
      const record = this.customers.get(decodeURIComponent(path.split('/')[3] ?? ''));
      return record ? say(record) : { status: 404, body: '{}' };
    }
    const [size, page] = [Number(query.limit), Number(query.page)];
    const rows = [...this.invoices]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([invoice_no, amount]) => {
        return { invoice_no, amount, due_date: '2026-07-01', status: 'unpaid' };
      });
    return say({ data: rows.slice((page - 1) * size, page * size), total: rows.length });
  }

  #act(method: string, path: string, text: string): Answer {
    const [, , collection, id] = path.split('/');
    const fields = text === '' ? {} : (JSON.parse(text) as Fields);
    const records = collection === 'orders' ? this.orders : this.customers;
    if (method === 'POST') return collection === 'orders' ? this.#createOrder(fields) : this.#createCustomer(fields);
    const record = records.get(decodeURIComponent(id ?? ''));
    if (!record)
      return { status: 404, body: `{"error":{"code":"not_found","message":"no such ${collection?.slice(0, -1)}"}}` };
    if (method === 'DELETE') {
      records.delete(id as string);
      return { status: 204, body: '' };
    }
    if (qtyOf(fields) === refusedQty) return refusal('too many');
    records.set(id as string, method === 'PUT' ? fields : { ...record, ...fields });
    return {
      status: 200,
      body: JSON.stringify(
        collection === 'orders'
          ? { order_id: id, total: totalOf(records.get(id as string) as Fields) }
          : { customer_code: id },
      ),
    };
  }

  #createCustomer(fields: Fields): Answer {
    const code = String(fields.customer_code);
    if (this.customers.has(code)) return { status: 409, body: '{"error":{"message":"already exists"}}' };
    this.customers.set(code, fields);
    return { status: 201, body: JSON.stringify({ customer_code: code }) };
  }

  #createOrder(fields: Fields): Answer {
    if (!this.customers.has(String(fields.customer_code))) return { status: 404, body: 'unknown customer' };
    if (qtyOf(fields) === refusedQty) return refusal('too many');
    const id = `O-${++this.#lastId}`;
    this.orders.set(id, fields);
    const body = {
      order_id: id,
      status: 'open',
      created_at: new Date(this.#nowMs()).toISOString(),
      total: totalOf(fields),
    };
    return { status: 201, body: JSON.stringify(body) };
  }
}

function refusal(message: string): Answer {
  return { status: 400, body: JSON.stringify({ error: { code: 'invalid', message } }) };
}

type Items = readonly { qty: number; price: number }[] | undefined;

function qtyOf({ items }: Fields): number | undefined {
  return (items as Items)?.[0]?.qty;
}

function totalOf({ items }: Fields): number {
  return ((items as Items) ?? []).reduce((sum, item) => sum + item.qty * item.price, 0);
}
