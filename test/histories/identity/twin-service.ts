import { type AxiosAdapter, AxiosHeaders, type InternalAxiosRequestConfig } from 'axios';
import type { Entity } from '../../../src/model/record.js';

/** The fate of one create. */
export type Fate =
  | 'ok'
  /** It has no effect, and the answer proves nothing. */
  | 'lost-before'
  /** It has its effect, and the answer proves nothing. */
  | 'lost-after'
  /** It is acknowledged with the id of a record that is there, and has no effect. */
  | 'same-id'
  /** It is refused because a record with its number or code is there. */
  | 'exists';

export interface TwinRecord {
  madeAt: string;
  id: string;
  entity: Entity;
  /** The key of the ERP's row that made it; null: others made it. */
  maker: string | null;
  body: { [field: string]: unknown };
  /** It is there no more, and a search goes on showing it. */
  isRemoved?: boolean;
}

export interface TwinWatch {
  /** Whose create this key is. */
  makerOf(entity: Entity, idempotencyKey: string): Promise<string | null>;
  /** Called before a create makes a record. */
  creates(entity: Entity, maker: string | null): Promise<void>;
  /** Called before an update writes over a record. */
  updates(entity: Entity, id: string, idempotencyKey: string): Promise<void>;
}

interface Answer {
  status: number;
  body: object;
}

const items = (body: TwinRecord['body']) => body.items as { qty: number; price: number }[];

/** A service that remembers keys for a day, and holds customers with one code and orders with one number. */
export class TwinService {
  readonly records = new Map<string, TwinRecord>();
  /** Ids that it acknowledged for a record that it did not make for it. */
  readonly lied = new Set<string>();
  fates: Record<Entity, Fate[]> = { customer: [], order: [] };
  readonly #answers = new Map<string, { id: string; atMs: number; said: string }>();

  constructor(
    /** True if it knows customers by their code alone. */
    private readonly isCodeId: boolean,
    private readonly lifetimeMs: number,
    private readonly nowMs: () => number,
    private readonly watch: TwinWatch,
  ) {}

  of(entity: Entity): TwinRecord[] {
    return [...this.records.values()].filter((one) => one.entity === entity && !one.isRemoved);
  }

  /** Somebody else enters a record. */
  addForeign(entity: Entity, body: TwinRecord['body']): void {
    if (this.isCodeId && this.#matching(entity, this.#nameOf(entity, body)).length > 0) return;
    this.#add(entity, null, body);
  }

  readonly adapter: AxiosAdapter = async (config) => {
    const { status, body } = await this.#answer(config);
    return {
      status,
      statusText: '',
      headers: new AxiosHeaders(),
      config,
      data: status === 204 ? '' : JSON.stringify(body),
    };
  };

  async #answer(config: InternalAxiosRequestConfig): Promise<Answer> {
    const [, , plural = '', id = ''] = (config.url ?? '').split('/');
    const entity: Entity = plural === 'orders' ? 'order' : 'customer';
    // With quotes it is another key to this service.
    const shown = String(config.headers.get('Idempotency-Key'));
    const key = shown.replaceAll('"', '');
    const method = (config.method ?? '').toUpperCase();
    if (method === 'GET') return this.#find(entity, String((config.params as { q: string }).q));
    const record = this.records.get(decodeURIComponent(id));
    const absent = { status: 404, body: { error: { code: 'not_found' } } };
    if (method === 'DELETE') {
      if (!record || record.isRemoved) return absent;
      await this.watch.updates(entity, record.id, key);
      record.isRemoved = true;
      return { status: 204, body: {} };
    }
    const body = JSON.parse(String(config.data)) as TwinRecord['body'];
    if (method === 'POST') return this.#create(entity, key, shown, body);
    if (!record || record.isRemoved) return absent;
    await this.watch.updates(entity, record.id, key);
    Object.assign(record.body, body);
    return this.#shown(record, 200);
  }

  async #create(entity: Entity, key: string, shown: string, body: TwinRecord['body']): Promise<Answer> {
    const before = this.#answers.get(shown);
    const said = JSON.stringify(body);
    if (before && this.nowMs() - before.atMs < this.lifetimeMs) {
      if (before.said !== said) return { status: 422, body: { error: { code: 'idempotency_key_reused' } } };
      return this.#shown(this.records.get(before.id) as TwinRecord, 201);
    }
    const fate = this.fates[entity].shift() ?? 'ok';
    const lost = { status: 502, body: {} };
    if (fate === 'lost-before') return lost;
    const byCode =
      this.isCodeId && entity === 'customer' ? this.#matching(entity, String(body.customer_code))[0] : undefined;
    const other = byCode ?? (fate === 'same-id' ? this.of(entity)[0] : undefined);
    if (other && fate !== 'exists') {
      this.lied.add(other.id);
      return this.#shown({ ...other, body }, 201);
    }
    if (fate === 'exists' && this.#matching(entity, this.#nameOf(entity, body)).length > 0)
      return { status: 409, body: { error: { code: 'conflict', message: 'already exists' } } };
    const maker = await this.watch.makerOf(entity, key);
    await this.watch.creates(entity, maker);
    const record = this.#add(entity, maker, body);
    this.#answers.set(shown, { id: record.id, atMs: this.nowMs(), said });
    return fate === 'lost-after' ? lost : this.#shown(record, 201);
  }

  #find(entity: Entity, name: string): Answer {
    const shown = [...this.records.values()].filter((one) => one.entity === entity && this.#isCalled(one, name));
    return { status: 200, body: { data: shown.map((one) => this.#shown(one, 200).body) } };
  }

  #matching(entity: Entity, name: string): TwinRecord[] {
    return this.of(entity).filter((one) => this.#isCalled(one, name));
  }

  #isCalled({ entity, body }: TwinRecord, name: string): boolean {
    return this.#nameOf(entity, body) === name;
  }

  #nameOf(entity: Entity, body: TwinRecord['body']): string {
    return String(entity === 'order' ? body.note : body.customer_code);
  }

  #add(entity: Entity, maker: string | null, body: TwinRecord['body']): TwinRecord {
    const given = `${entity === 'order' ? 'o' : 'c'}-${this.records.size + 1}`;
    const id = this.isCodeId && entity === 'customer' ? String(body.customer_code) : given;
    const record = { id, entity, maker, body, madeAt: new Date(this.nowMs()).toISOString() };
    this.records.set(id, record);
    return record;
  }

  #shown({ id, entity, body, madeAt, isRemoved }: TwinRecord, status: number): Answer {
    if (entity === 'customer') return { status, body: { id, customer_code: body.customer_code, name: body.name } };
    const total = items(body).reduce((sum, { qty, price }) => sum + qty * price, 0);
    const { customer_code, note } = body;
    return {
      status,
      body: {
        order_id: id,
        status: isRemoved ? 'cancelled' : 'confirmed',
        created_at: madeAt,
        total,
        customer_code,
        note,
      },
    };
  }
}
