import type { LedgerRequest } from '../../src/lab/sandbox/ledger.js';
import type { AttemptRow, History, MessageRow } from './history.js';
import type { WitnessEvent } from './store-witness.js';

/** A history that a test may change. */
export type Doctored = { -readonly [Name in keyof History]: History[Name] };

/** One customer and one order that went through as they should: what every invariant has nothing to say against. */
export function soundHistory(): Doctored {
  const body = { customer_code: 'K1', note: 'A-1', items: [{ sku: 'S', qty: 2, price: 1250 }] };
  const request = (id: string, key: string, path: string, at: number): LedgerRequest => ({
    request_id: id,
    received_at_ms: at,
    at_ms: at,
    monotonic_ms: at,
    answered_at_ms: at + 5,
    method: 'POST',
    path,
    idempotency_key: key,
    body_sha256: `hash of ${key}`,
    status: 201,
    throttled: false,
    replayed: false,
    fault: null,
  });
  const message = (id: number, entity: string, key: string, serviceId: string): MessageRow => ({
    id,
    entity,
    source_key: '1',
    revision: 1,
    operation: 'create',
    generation: 0,
    state: 'delivered',
    park_class: null,
    reason: null,
    idempotency_key: key,
    body_hash: `hash of ${key}`,
    service_id: serviceId,
    flag: null,
  });
  const attempt = (id: number, key: string, at: number): AttemptRow => ({
    id,
    message_id: id,
    purpose: 'create',
    number: 1,
    epoch: 1,
    idempotency_key: key,
    body_hash: `hash of ${key}`,
    intended_at: at,
    started_at: at + 1,
    verdict: 'delivered',
    reason: null,
    request_id: `r${id}`,
  });
  const read: LedgerRequest = {
    ...request('r3', '', '/v1/orders/o1', 240),
    method: 'GET',
    idempotency_key: null,
    body_sha256: null,
    status: 200,
  };
  const asked: AttemptRow = {
    ...attempt(3, '', 235),
    message_id: null,
    purpose: 'read_order',
    idempotency_key: null,
    body_hash: null,
    verdict: 'read',
  };
  let seq = 0;
  const event = (what: WitnessEvent['what'], at: number, more: Partial<WitnessEvent>): WitnessEvent => ({
    seq: ++seq,
    what,
    at_ms: at,
    message_id: null,
    attempt_id: null,
    entity: null,
    source_key: null,
    old_state: null,
    new_state: null,
    old_first_sent: null,
    new_first_sent: null,
    old_park_class: null,
    old_waits_for: null,
    epoch: 1,
    lease_epoch: 1,
    text: null,
    ...more,
  });
  const way = (id: number, entity: string, at: number): WitnessEvent[] => {
    const record = { message_id: id, entity, source_key: '1' };
    return [
      event('message-changed', at, { ...record, old_state: 'pending', new_state: 'sending' }),
      event('attempt', at, { message_id: id, attempt_id: id, text: `k${id}` }),
      event('message-changed', at + 9, { ...record, old_state: 'sending', new_state: 'delivered', new_first_sent: at }),
      event('attempt-settled', at + 9, { message_id: id, attempt_id: id, text: 'delivered' }),
    ];
  };
  return {
    limit: { requests: 2, windowMs: 100 },
    replaysRefusals: false,
    keyLifetimeMs: null,
    everRefused: new Set(),
    removals: { onCancelled: 'nothing', onDeleted: 'nothing', maxRemovals: 10 },
    maxUpdates: 2,
    past: null,
    recoveredAtMs: null,
    exportedAtMs: null,
    resolved: new Map(),
    respelled: new Set(),
    breaches: [],
    arrivals: [
      { monotonicMs: 110, atMs: 110, request: 'POST /v1/customers', pid: 7 },
      { monotonicMs: 210, atMs: 210, request: 'POST /v1/orders', pid: 7 },
      { monotonicMs: 240, atMs: 240, request: 'GET /v1/orders/o1', pid: 7 },
    ],
    operatorArrivals: [],
    ledger: {
      requests: [request('r1', 'k1', '/v1/customers', 111), read, request('r2', 'k2', '/v1/orders', 211)],
      customers: [
        {
          customer_code: 'K1',
          record: { customer_code: 'K1', name: 'Anna', country: 'DE' },
          key: 'k1',
          created_at: '',
          requests: ['r1'],
        },
      ],
      orders: [
        {
          order_id: 'o1',
          key: 'k2',
          reference: 'A-1',
          record: body,
          status: 'confirmed',
          total: 2500,
          created_at: '',
          requests: ['r2'],
        },
      ],
      deleted: [],
    },
    erp: {
      customers: [{ id: '1', customer_no: 'K1', name: 'Anna', country: 'DE', email: null }],
      orders: [
        {
          id: '1',
          order_no: 'A-1',
          customer_id: '1',
          status: 'confirmed',
          currency: 'EUR',
          total: '25.00',
          remark: null,
          created_at: '2026-02-01',
        },
      ],
      lines: [{ id: '1', order_id: '1', line_no: '1', qty: '2.000', unit_price: '12.50', sku: 'S' }],
      deletedOrders: [],
    },
    erpTouched: [],
    clockForwardAt: null,
    announced: [{ orderId: 'o1', sentAtMs: 240 }],
    writtenBack: [
      {
        order_key: '1',
        order_number: 'A-1',
        service_order_id: 'o1',
        service_status: 'confirmed',
        service_total: '25.000000',
        parked_class: null,
      },
    ],
    forgotten: ['Erased 1 Alpha'],
    pruned: [],
    messages: [message(1, 'customer', 'k1', 'K1'), message(2, 'order', 'k2', 'o1')],
    attempts: [attempt(1, 'k1', 105), asked, attempt(2, 'k2', 205)],
    bindings: [
      { entity: 'customer', source_key: '1', service_id: 'K1' },
      { entity: 'order', source_key: '1', service_id: 'o1' },
    ],
    events: [event('lease', 10, { text: 'daemon@here:7' }), ...way(1, 'customer', 105), ...way(2, 'order', 205)],
    operated: [],
    resumedAt: [],
    texts: [{ where: 'the log', text: 'all is well' }],
    secrets: ['secret-of-ours'],
    ends: [0],
    endedByForce: false,
  };
}
