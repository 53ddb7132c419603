import type { Machine } from '../machine/machine.js';

type Fields = { [name: string]: unknown };

/** The nature of this service, for as long as the history lasts. */
export interface Personality {
  /** The time for which it remembers a key; null: it does not look at keys. */
  keyLifetimeMs: number | null;
  comparesBodies: boolean;
  /** The status of a repeated answer. */
  replayStatus: 'as first' | 200;
  /** Which answers it repeats for a key. */
  stores: 'successes' | 'refusals' | 'all';
  /** The name that it gives a customer. */
  customerIds: 'code' | 'own';
  /** The look-up of an order, and the delay until a new record is found. */
  lookUp: 'none' | 'at once' | 'late';
  lagMs: number;
  updates: 'PATCH' | 'PUT';
  limit: { requests: number; perMs: number } | null;
  /** It refuses with 200 and a flag. */
  flagsRefusals: boolean;
  /** A removed record stays readable, with a state that says so. */
  keepsRemoved: boolean;
  /** The list of invoices comes in another order at every request. */
  shiftsLists: boolean;
  /** Two invoices may have one number. */
  repeatsNumbers: boolean;
  /** It sends webhooks. */
  announces: boolean;
  /** A branch with an ERP of its own sends to it as well. */
  hasBranch: boolean;
  /** People use the desk. */
  hasDesk: boolean;
  /** The ERP is told what became of its records. */
  writesBack: boolean;
  /** The requests that it gets about records that are cancelled or deleted. */
  removals: Record<'orders' | 'customers', Record<'onCancelled' | 'onDeleted', 'nothing' | 'delete'>>;
}

export const fates = [
  'unreachable',
  'reset before',
  'reset after',
  'silent before',
  'silent after',
  'slow commit',
  '500 before',
  '500 after',
  '502 after',
  '503',
  '503 with Retry-After',
  '429',
  '429 for long',
  '401',
  '403',
  '404 as HTML',
  '200 as HTML',
  'cut off',
  '202',
  '409 in progress',
  'refusal',
  'wrong total',
  'redirect',
  'empty 200',
] as const;
export type Fate = (typeof fates)[number];

/** A fate that waits for requests. */
export interface Weather {
  fate: Fate;
  /** The number of requests per window. */
  left: number;
  only: 'all' | 'writes' | 'reads' | 'orders' | 'customers' | 'invoices';
  /** Only of requests that hold this text. */
  holding: string | null;
}

export interface Request {
  method: string;
  path: string;
  query: URLSearchParams;
  key: string | null;
  body: string;
  /** Number of the process that sent it. */
  pid: number;
}

export type Reply =
  | { status: number; headers: Record<string, string>; body: string; isCut?: boolean }
  | 'reset'
  | 'silence';

export interface ServiceRecord {
  id: string;
  kind: 'orders' | 'customers';
  fields: Fields;
  madeBy: 'waybill' | 'hand';
  madeAtMs: number;
  removedAtMs: number | null;
  /** The changes to it, in order, for the story. */
  touchedBy: string[];
  /** Somebody at the service changed it by hand. */
  isEdited: boolean;
}

export interface Invoice {
  no: string;
  customer: string;
  amount: number;
  paid: number;
}

export interface Arrival extends Request {
  nth: number;
  atMs: number;
  fate: Fate | null;
  status: number | null;
}

interface Answer {
  status: number;
  body: Fields | string;
}

const refusedQty = 90;

/** The service: its records, its memory of keys, its moods. It knows nothing of Waybill. */
export class Service {
  readonly records: ServiceRecord[] = [];
  readonly invoices: Invoice[] = [];
  readonly arrivals: Arrival[] = [];
  weather: Weather[] = [];
  /** The service's own observations that may never happen. */
  readonly wrong: string[] = [];
  readonly limitBrokenAtMs: number[] = [];
  /** Asked of every write that takes effect. */
  onEffect: (request: Request, record: ServiceRecord, what: 'create' | 'update' | 'delete') => void = () => undefined;
  #lastId = 100;
  readonly #keys = new Map<string, { atMs: number; content: string; answer: Answer | null }>();

  constructor(
    readonly personality: Personality,
    readonly machine: Machine,
    readonly deadlineMs: number,
    private readonly random: () => number,
  ) {}

  live(kind: 'orders' | 'customers'): ServiceRecord[] {
    return this.records.filter((one) => one.kind === kind && one.removedAtMs === null);
  }

  /** The request has left, or provably not. */
  isReachable(request: Request): boolean {
    return this.#draw(request, (fate) => fate === 'unreachable') === null;
  }

  /** @returns what comes back, and after how long */
  receive(request: Request): { reply: Reply; afterMs: number } {
    const fate = this.#draw(request, (one) => one !== 'unreachable');
    const arrival: Arrival = {
      ...request,
      nth: this.arrivals.length,
      atMs: this.machine.elapsedMs,
      fate,
      status: null,
    };
    this.arrivals.push(arrival);
    this.#checkLimit();
    const reply = this.#reply(arrival, fate);
    if (typeof reply !== 'string') {
      arrival.status = reply.status;
      reply.headers['x-request-id'] = `R-${arrival.nth}`;
    }
    const isLate = reply === 'silence';
    return { reply, afterMs: isLate ? this.deadlineMs * 2 : 5 + Math.floor(this.random() * 200) };
  }

  createByHand(kind: 'orders' | 'customers', fields: Fields): ServiceRecord {
    return this.#add(kind, fields, 'hand');
  }

  #draw(request: Request, fits: (fate: Fate) => boolean): Fate | null {
    const area = request.path.split('/')[2];
    const isRead = request.method === 'GET';
    const found = this.weather.find(
      ({ fate, only, holding }) =>
        fits(fate) &&
        ['all', isRead ? 'reads' : 'writes', area].includes(only) &&
        (holding === null || request.body.includes(holding) || request.path.includes(holding)),
    );
    if (!found) return null;
    if (--found.left <= 0) this.weather = this.weather.filter((one) => one !== found);
    return found.fate;
  }

  #checkLimit(): void {
    const { limit } = this.personality;
    if (!limit) return;
    const now = this.machine.elapsedMs;
    const within = this.arrivals.filter(({ atMs }) => now - atMs < limit.perMs);
    if (within.length <= limit.requests) return;
    this.limitBrokenAtMs.push(now);
    this.wrong.push(`limit: ${within.length} requests within ${limit.perMs} ms, ${limit.requests} are allowed`);
  }

  #reply(arrival: Arrival, fate: Fate | null): Reply {
    const say = (status: number, body: Fields | string = {}, headers: Record<string, string> = {}): Reply => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return { status, headers: { ...headers }, body: status === 204 ? '' : text };
    };
    const error = (status: number, code: string, message: string, headers: Record<string, string> = {}) =>
      say(status, { error: { code, message } }, headers);
    switch (fate) {
      case 'reset before':
        return 'reset';
      case 'silent before':
        return 'silence';
      case '503':
        return error(503, 'unavailable', 'come back later');
      case '503 with Retry-After':
        return error(503, 'unavailable', 'come back later', { 'retry-after': '3' });
      case '429':
        return error(429, 'slow', 'slow down', { 'retry-after': '1' });
      case '429 for long':
        return error(429, 'slow', 'slow down', { 'retry-after': '90' });
      case '401':
        return error(401, 'unauthorised', 'who are you');
      case '403':
        return error(403, 'forbidden', 'not you');
      case '404 as HTML':
        return say(404, '<html>Not found</html>');
      case 'redirect':
        return say(302, '', { location: '/elsewhere' });
      case '409 in progress':
        if (arrival.method !== 'GET') return error(409, 'busy', 'a request with this key is in progress');
        break;
    }
    if (arrival.method === 'GET') return this.#wrap(fate, this.#read(arrival), say);
    return this.#wrap(fate, this.#write(arrival, fate), say);
  }

  /** The fate of an answer on its way. */
  #wrap(fate: Fate | null, answer: Answer | 'silence', say: (status: number, body: Fields | string) => Reply): Reply {
    if (answer === 'silence') return 'silence';
    const { status, body } = answer;
    switch (fate) {
      case 'reset after':
        return 'reset';
      case 'silent after':
        return 'silence';
      case '500 after':
        return say(500, 'oops');
      case '502 after':
        return say(502, '<html>Bad gateway</html>');
      case '200 as HTML':
        return status < 300 ? say(status, '<html>Welcome</html>') : say(status, body);
      case 'empty 200':
        return status < 300 ? say(status, '') : say(status, body);
      case '202':
        return status < 300 ? say(202, { state: 'accepted' }) : say(status, body);
      case 'cut off': {
        const whole = say(status, body);
        return typeof whole === 'string'
          ? whole
          : { ...whole, body: whole.body.slice(0, Math.floor(whole.body.length / 2)), isCut: true };
      }
      case 'wrong total':
        return say(
          status,
          typeof body === 'object' && 'total' in body && 'order_id' in body ? { ...body, total: 1 } : body,
        );
    }
    return say(status, body);
  }

  #write(arrival: Arrival, fate: Fate | null): Answer | 'silence' {
    const { key, method, path, body } = arrival;
    const { keyLifetimeMs, comparesBodies, replayStatus, stores } = this.personality;
    const content = `${method} ${path} ${body}`;
    const now = this.machine.elapsedMs;
    const known = key === null || keyLifetimeMs === null ? undefined : this.#keys.get(key);
    if (known && now - known.atMs <= (keyLifetimeMs as number)) {
      if (known.content !== content && comparesBodies)
        return errorOf(422, 'idempotency_mismatch', 'idempotency key was used with another body');
      if (known.answer === null) return errorOf(409, 'busy', 'a request with this key is in progress');
      const { status } = known.answer;
      return { ...known.answer, status: status < 300 && status !== 204 && replayStatus === 200 ? 200 : status };
    }
    const keep = (answer: Answer | null) => {
      if (key === null || keyLifetimeMs === null) return;
      const isStored =
        answer === null || answer.status < 300 || (stores !== 'successes' && answer.status < 500) || stores === 'all';
      if (isStored) this.#keys.set(key, { atMs: now, content, answer });
      else this.#keys.delete(key);
    };
    if (fate === 'slow commit') {
      keep(null);
      this.machine.after(this.deadlineMs + 500 + Math.floor(this.random() * 90_000), null, () =>
        keep(this.#act(arrival)),
      );
      return 'silence';
    }
    const unwilling = fate === 'refusal' ? this.#refusal('not today') : null;
    const answer =
      fate === '500 before' ? errorOf(500, 'internal', 'an error of ours') : (unwilling ?? this.#act(arrival));
    keep(answer);
    return answer;
  }

  #refusal(message: string): Answer {
    if (this.personality.flagsRefusals) return { status: 200, body: { success: false, message } };
    return errorOf(400, 'invalid', message);
  }

  #act(request: Request): Answer {
    const [, , area, rawId] = request.path.split('/');
    const kind = area === 'orders' ? 'orders' : 'customers';
    let fields: Fields = {};
    try {
      if (request.body !== '') fields = JSON.parse(request.body) as Fields;
    } catch {
      return errorOf(400, 'invalid', 'no JSON');
    }
    if (request.method === 'POST' && rawId === undefined) return this.#create(request, kind, fields);
    const id = decodeURIComponent(rawId ?? '');
    const record = this.live(kind).find((one) => one.id === id);
    if (!record) return errorOf(404, 'not_found', `no such ${kind.slice(0, -1)}`);
    if (request.method === 'DELETE') {
      record.removedAtMs = this.machine.elapsedMs;
      record.touchedBy.push(`removed by ${request.key}`);
      this.onEffect(request, record, 'delete');
      return { status: 204, body: '' };
    }
    if (isRefused(fields)) return this.#refusal('too many');
    const code = fields.customer_code;
    if (
      kind === 'orders' &&
      code !== undefined &&
      !this.live('customers').some((one) => one.fields.customer_code === code)
    )
      return errorOf(404, 'unknown', 'unknown customer');
    const namesake = this.live('customers').find((one) => one !== record && one.fields.customer_code === code);
    if (kind === 'customers' && namesake) return errorOf(409, 'exists', 'a customer of this code already exists');
    record.fields = request.method === 'PUT' ? fields : merged(record.fields, fields);
    record.touchedBy.push(`${request.method} ${request.body.slice(0, 200)}`);
    if (kind === 'customers' && this.personality.customerIds === 'code')
      record.id = String(record.fields.customer_code);
    this.onEffect(request, record, 'update');
    return { status: 200, body: this.#acknowledgement(record) };
  }

  #create(request: Request, kind: 'orders' | 'customers', fields: Fields): Answer {
    if (kind === 'customers') {
      const code = String(fields.customer_code);
      const known = this.live('customers').find((one) => one.fields.customer_code === code);
      if (known) return errorOf(409, 'exists', 'the customer already exists');
    } else {
      if (!this.live('customers').some((one) => one.fields.customer_code === fields.customer_code))
        return errorOf(404, 'unknown', 'unknown customer');
      if (isRefused(fields)) return this.#refusal('too many');
    }
    const record = this.#add(kind, fields, 'waybill');
    this.onEffect(request, record, 'create');
    return { status: 201, body: this.#acknowledgement(record) };
  }

  #add(kind: 'orders' | 'customers', fields: Fields, madeBy: 'waybill' | 'hand'): ServiceRecord {
    const isCode = kind === 'customers' && this.personality.customerIds === 'code';
    const id = isCode ? String(fields.customer_code) : `${kind === 'orders' ? 'O' : 'K'}-${++this.#lastId}`;
    const record: ServiceRecord = {
      id,
      kind,
      fields,
      madeBy,
      madeAtMs: this.machine.elapsedMs,
      removedAtMs: null,
      touchedBy: [],
      isEdited: false,
    };
    this.records.push(record);
    return record;
  }

  #acknowledgement({ id, kind, fields }: ServiceRecord): Fields {
    if (kind === 'customers') return { customer_code: fields.customer_code, customer_id: id, status: 'active' };
    return {
      order_id: id,
      status: 'confirmed',
      created_at: new Date(this.machine.wallMs).toISOString(),
      total: totalOf(fields),
    };
  }

  #read({ path, query }: Request): Answer {
    const { keepsRemoved, lookUp, lagMs } = this.personality;
    const [, , area, rawId] = path.split('/');
    if (area === 'invoices')
      return rawId === undefined ? this.#listInvoices(query) : this.#readInvoice(decodeURIComponent(rawId));
    const kind = area === 'orders' ? 'orders' : 'customers';
    const shown = this.records.filter((one) => one.kind === kind && (one.removedAtMs === null || keepsRemoved));
    const bodyOf = (one: ServiceRecord): Fields => ({
      ...one.fields,
      ...this.#acknowledgement(one),
      ...(one.removedAtMs === null ? {} : { status: 'removed' }),
    });
    if (rawId !== undefined) {
      const id = decodeURIComponent(rawId);
      const record =
        shown.findLast((one) => one.id === id && one.removedAtMs === null) ?? shown.findLast((one) => one.id === id);
      return record ? { status: 200, body: bodyOf(record) } : errorOf(404, 'not_found', `no such ${kind.slice(0, -1)}`);
    }
    const settledMs = this.machine.elapsedMs - (lookUp === 'late' ? lagMs : 0);
    const found = shown.filter(
      (one) =>
        one.madeAtMs <= settledMs && [...query].every(([name, value]) => String(one.fields[name] ?? '') === value),
    );
    return { status: 200, body: { data: found.map(bodyOf) } };
  }

  invoiceBody({ no, customer, amount, paid }: Invoice): Fields {
    const status = paid >= amount ? 'paid' : 'unpaid';
    return { invoice_no: no, amount: amount - paid, due_date: '2026-07-01', status, customer_code: customer };
  }

  unpaid(): Invoice[] {
    return this.invoices.filter(({ amount, paid }) => paid < amount);
  }

  #listInvoices(query: URLSearchParams): Answer {
    const [size, page] = [Number(query.get('limit')), Number(query.get('page'))];
    const customer = query.get('customer_code');
    const rows = this.unpaid().filter((one) => customer === null || one.customer === customer);
    if (this.personality.shiftsLists) rows.sort(() => this.random() - 0.5);
    const shown = rows.slice((page - 1) * size, page * size).map((one) => this.invoiceBody(one));
    return { status: 200, body: { data: shown, total: rows.length } };
  }

  #readInvoice(no: string): Answer {
    const found = this.invoices.findLast((one) => one.no === no);
    return found ? { status: 200, body: this.invoiceBody(found) } : errorOf(404, 'not_found', 'no such invoice');
  }
}

function errorOf(status: number, code: string, message: string): Answer {
  return { status, body: { error: { code, message } } };
}

type Items = { qty?: number; price?: number }[] | undefined;

function isRefused({ items }: Fields): boolean {
  return ((items as Items) ?? []).some(({ qty = 0 }) => qty >= refusedQty);
}

export function totalOf({ items }: Fields): number {
  return ((items as Items) ?? []).reduce((sum, { qty = 0, price = 0 }) => sum + qty * price, 0);
}

/** As RFC 7396 says: null takes a field away. */
function merged(fields: Fields, patch: Fields): Fields {
  const result = { ...fields, ...patch };
  for (const [name, value] of Object.entries(patch)) if (value === null) delete result[name];
  return result;
}
