import type { ServiceSettings } from '../config/service-settings.js';
import type { Entity } from '../model/entity.js';
import type { OrderItem } from '../model/record.js';
import type { Verdict } from '../model/verdict.js';
import { orderTotal } from './acknowledgement.js';
import type { TimedExchange } from './exchange.js';
import { Pacer } from './pacer.js';
import { excerptOf, redact } from './redact.js';
import { Transport } from './transport.js';
import { judge } from './verdict.js';

/** What is needed to send one message: frozen bytes and their key, never something to compose. */
export interface SendRequest {
  entity: Entity;
  operation: 'create' | 'update';
  idempotencyKey: string;
  /** The frozen bytes. */
  body: string;
  /** The mapped record as JSON, to check the acknowledgement against. */
  record: string;
  /** The id that the service gave; null before the create is acknowledged. */
  serviceId: string | null;
  gate: () => Promise<string | null>;
}

export interface Sent {
  verdict: Verdict;
  startedAtMs: number | null;
  durationMs: number | null;
  status: number | null;
  requestId: string | null;
  excerpt: string | null;
}

export interface Read {
  exchange: TimedExchange['exchange'];
  startedAtMs: number | null;
  durationMs: number | null;
  requestId: string | null;
}

export interface ServiceClientOptions {
  service: ServiceSettings;
  quickResends: number;
  nowMs: () => number;
}

/** The service's HTTP interface: which path, which headers, and what an answer means. */
export class ServiceClient {
  readonly #service: ServiceSettings;
  readonly #pacer: Pacer;
  readonly #transport: Transport;
  readonly #nowMs: () => number;

  constructor(options: ServiceClientOptions) {
    this.#service = options.service;
    this.#nowMs = options.nowMs;
    const { limit, concurrency } = options.service;
    this.#pacer = new Pacer({
      concurrency,
      limit: limit ? { requests: limit.requests, windowMs: limit.perSeconds * 1000 } : null,
    });
    this.#transport = new Transport({ ...options, pacer: this.#pacer });
  }

  /** Sends one message once and judges the answer. */
  async send(request: SendRequest): Promise<Sent> {
    const { entity, operation } = request;
    const record = JSON.parse(request.record) as { customer_code: string; items?: OrderItem[] };
    const endpoints = this.#service.endpoints;
    const endpoint =
      entity === 'customer'
        ? operation === 'create'
          ? endpoints.createCustomer
          : endpoints.updateCustomer
        : operation === 'create'
          ? endpoints.createOrder
          : endpoints.updateOrder;
    const path = fillPath(endpoint.path, {
      order_id: request.serviceId,
      customer_code: request.serviceId ?? record.customer_code,
    });
    const { idempotency } = this.#service;
    const timed = await this.#transport.exchange({
      method: endpoint.method,
      path,
      headers: {
        ...this.#credential(),
        'Content-Type': 'application/json',
        [idempotency.header]: idempotency.quoted ? `"${request.idempotencyKey}"` : request.idempotencyKey,
      },
      body: request.body,
      gate: request.gate,
    });
    const expectedId = entity === 'customer' ? (request.serviceId ?? record.customer_code) : request.serviceId;
    const verdict = judge(
      this.#service,
      {
        entity,
        operation,
        // A replayed create is answered with the id it had, whatever is bound by now.
        expectedId: entity === 'order' && operation === 'create' ? null : expectedId,
        successStatus: endpoint.successStatus,
        expectedTotal: record.items ? orderTotal(record.items) : null,
      },
      timed.exchange,
      this.#nowMs(),
    );
    return { ...this.#record(timed), verdict: this.#redactVerdict(verdict) };
  }

  /** Reads one page of a list. What it means is the caller's business. */
  async get(path: string, query: Record<string, string>, gate: () => Promise<string | null>): Promise<Read> {
    const timed = await this.#transport.exchange({ method: 'GET', path, query, headers: this.#credential(), gate });
    return {
      exchange: timed.exchange,
      startedAtMs: timed.startedAtMs,
      durationMs: timed.durationMs,
      requestId: requestIdOf(timed),
    };
  }

  /** Requests that are waiting for their turn. */
  get waiting(): number {
    return this.#pacer.waiting;
  }

  close(): void {
    this.#pacer.close();
    this.#transport.close();
  }

  #credential(): Record<string, string> {
    const token = this.#service.token?.reveal();
    return token ? { Authorization: `Bearer ${token}` } : {};
  }

  #secrets(): string[] {
    const token = this.#service.token?.reveal();
    return token ? [token] : [];
  }

  #record(timed: TimedExchange): Omit<Sent, 'verdict'> {
    const { exchange } = timed;
    const answered = exchange.kind === 'answer' || exchange.kind === 'cut_off';
    return {
      startedAtMs: timed.startedAtMs,
      durationMs: timed.durationMs,
      status: answered ? exchange.status : null,
      requestId: requestIdOf(timed),
      excerpt: exchange.kind === 'answer' && exchange.body !== '' ? excerptOf(exchange.body, this.#secrets()) : null,
    };
  }

  /** A service that echoes the token in its error must not bring it into our log. */
  #redactVerdict(verdict: Verdict): Verdict {
    return 'reason' in verdict ? { ...verdict, reason: redact(verdict.reason, this.#secrets()) } : verdict;
  }
}

function requestIdOf({ exchange }: TimedExchange): string | null {
  if (exchange.kind !== 'answer' && exchange.kind !== 'cut_off') return null;
  return exchange.headers['x-request-id'] ?? exchange.headers['request-id'] ?? null;
}

/** Puts acknowledged fields into a path template, percent-encoded so that no value can leave its place. */
function fillPath(template: string, fields: Record<string, string | null>): string {
  return template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = fields[name];
    if (!value) throw new Error(`The path ${template} needs ${name}, which the service has not acknowledged.`);
    return encodeURIComponent(value);
  });
}
