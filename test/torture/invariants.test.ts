import { expect } from 'chai';
import type { LedgerOrder, LedgerRequest } from '../../src/sandbox/ledger.js';
import type { AttemptRow, History, MessageRow, PastLife } from './history.js';
import { invariants, violationsOf } from './invariants.js';
import type { WitnessEvent } from './store-witness.js';

type Doctored = { -readonly [Name in keyof History]: History[Name] };

/** One customer and one order that went through as they should: what every invariant has nothing to say against. */
function soundHistory(): Doctored {
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
    request_id: `r${id}`,
  });
  let seq = 0;
  const event = (what: WitnessEvent['what'], at: number, more: Partial<WitnessEvent>): WitnessEvent => ({
    seq: ++seq,
    what,
    at_ms: at,
    message_id: null,
    entity: null,
    source_key: null,
    old_state: null,
    new_state: null,
    old_first_sent: null,
    new_first_sent: null,
    epoch: 1,
    lease_epoch: 1,
    text: null,
    ...more,
  });
  const way = (id: number, entity: string, at: number): WitnessEvent[] => {
    const record = { message_id: id, entity, source_key: '1' };
    return [
      event('message-changed', at, { ...record, old_state: 'pending', new_state: 'sending' }),
      event('attempt', at, { message_id: id, text: `k${id}` }),
      event('message-changed', at + 9, { ...record, old_state: 'sending', new_state: 'delivered', new_first_sent: at }),
      event('attempt-settled', at + 9, { message_id: id, text: 'delivered' }),
    ];
  };
  return {
    limit: { requests: 2, windowMs: 100 },
    replaysRefusals: false,
    forgotKeys: false,
    everRefused: new Set(),
    removals: { onCancelled: 'nothing', onDeleted: 'nothing', maxRemovals: 10 },
    past: null,
    recoveredAtMs: null,
    hadBindings: false,
    resolved: new Map(),
    arrivals: [
      { monotonicMs: 110, atMs: 110, request: 'POST /v1/customers', pid: 7 },
      { monotonicMs: 210, atMs: 210, request: 'POST /v1/orders', pid: 7 },
    ],
    ledger: {
      requests: [request('r1', 'k1', '/v1/customers', 111), request('r2', 'k2', '/v1/orders', 211)],
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
    messages: [message(1, 'customer', 'k1', 'K1'), message(2, 'order', 'k2', 'o1')],
    attempts: [attempt(1, 'k1', 105), attempt(2, 'k2', 205)],
    bindings: [
      { entity: 'customer', source_key: '1', service_id: 'K1' },
      { entity: 'order', source_key: '1', service_id: 'o1' },
    ],
    events: [event('lease', 10, { text: 'daemon@here:7' }), ...way(1, 'customer', 105), ...way(2, 'order', 205)],
    texts: [{ where: 'the log', text: 'all is well' }],
    secrets: ['secret-of-ours'],
    ends: [0],
    endedByForce: false,
  };
}

/** Its store is lost at that moment, with all that was noted until then. */
function loseStore(history: Doctored, endedAtMs: number): void {
  const { messages, attempts, bindings, events } = history;
  history.past = { messages, attempts, bindings, events, endedAtMs, text: '' };
}

const first = <T>(list: readonly T[]): T => list[0] as T;
const last = <T>(list: readonly T[]): T => list.at(-1) as T;

/** What is done to a sound history, and which invariant has to notice. */
const doctored: Record<string, Record<string, (history: Doctored) => void>> = {
  'one-record-per-reference': {
    'an order is there twice': (h) => {
      const twin: LedgerOrder = { ...first(h.ledger.orders), order_id: 'o2' };
      h.ledger = { ...h.ledger, orders: [...h.ledger.orders, twin] };
    },
    'the service holds an order that nobody entered': (h) => {
      const stranger: LedgerOrder = { ...first(h.ledger.orders), order_id: 'o2', reference: 'A-2' };
      h.ledger = { ...h.ledger, orders: [...h.ledger.orders, stranger] };
    },
  },
  'every-row-accounted-for': {
    'a row was never captured': (h) => {
      h.messages = h.messages.filter((message) => message.entity !== 'order');
    },
    'an order is parked without a cause': (h) => {
      Object.assign(last(h.messages), { state: 'parked', park_class: 'refused' });
    },
    'a bad row is delivered': (h) => {
      first(h.erp.lines).qty = '1.500';
    },
  },
  'service-equals-erp': {
    'an edit never arrived': (h) => {
      first(h.erp.lines).unit_price = '25.00';
      first(h.erp.lines).qty = '1.000';
    },
    'a customer has another name': (h) => {
      first(h.erp.customers).name = 'Berta';
    },
  },
  'removals-as-configured': {
    'what was deleted in the ERP is there still': (h) => {
      h.removals = { ...h.removals, onDeleted: 'delete' };
      h.erp = { ...h.erp, orders: [], deletedOrders: h.erp.orders };
    },
    'what was cancelled says nothing of it': (h) => {
      h.removals = { ...h.removals, onCancelled: { patch: { remark: 'cancelled' } } };
      first(h.erp.orders).status = 'cancelled';
    },
    'something was deleted although nothing is configured': (h) => {
      first(h.erp.orders).status = 'cancelled';
      h.ledger = { ...h.ledger, orders: [], deleted: [{ entity: 'order', id: 'o1', reference: 'A-1', key: 'k2' }] };
    },
    'something was deleted that nobody removed': (h) => {
      h.removals = { ...h.removals, onDeleted: 'delete', onCancelled: 'delete' };
      h.ledger = { ...h.ledger, orders: [], deleted: [{ entity: 'order', id: 'o1', reference: 'A-1', key: 'k2' }] };
    },
  },
  'held-until-recovered': {
    'something was sent before anybody said recover': (h) => {
      loseStore(h, 200);
      h.recoveredAtMs = 250;
    },
    'nobody ever recovered it': (h) => {
      loseStore(h, 300);
    },
  },
  'one-key-one-body': {
    'bytes changed within the life of the second store': (h) => {
      loseStore(h, 100);
      const resend = { ...last(h.ledger.requests), request_id: 'r3', body_sha256: 'another' };
      h.ledger = { ...h.ledger, requests: [...h.ledger.requests, resend] };
    },
    'a resend carried other bytes': (h) => {
      const resend = { ...last(h.ledger.requests), request_id: 'r3', body_sha256: 'another' };
      h.ledger = { ...h.ledger, requests: [...h.ledger.requests, resend] };
    },
  },
  'one-create-key-per-record': {
    'a retry took a new key': (h) => {
      h.messages = [...h.messages, { ...last(h.messages), id: 3, revision: 2, idempotency_key: 'k3' }];
    },
    'the generation moved without a refusal': (h) => {
      last(h.messages).generation = 1;
    },
  },
  'every-request-has-its-attempt': {
    'a request nobody wrote down': (h) => {
      const more = { ...last(h.ledger.requests), request_id: 'r3' };
      h.ledger = { ...h.ledger, requests: [...h.ledger.requests, more] };
    },
    'an attempt was written after its request': (h) => {
      last(h.attempts).intended_at = 300;
    },
    'a request of the first store, and only the second one has its attempt': (h) => {
      loseStore(h, 250);
      h.past = { ...(h.past as PastLife), attempts: h.attempts.slice(0, 1) };
    },
    'an attempt has no outcome': (h) => {
      last(h.attempts).verdict = null;
    },
  },
  'customer-before-order': {
    'the order was claimed first': (h) => {
      const [lease, ...rest] = h.events;
      h.events = [lease as WitnessEvent, ...rest.slice(4), ...rest.slice(0, 4)];
    },
  },
  'within-the-limit': {
    'three requests in one window': (h) => {
      h.arrivals = [...h.arrivals, { ...last(h.arrivals), monotonicMs: 160, atMs: 160 }].map((arrival, i) => ({
        ...arrival,
        monotonicMs: 110 + i * 49,
      }));
    },
  },
  'delivered-means-acknowledged': {
    'the answer was a page for people': (h) => {
      last(h.ledger.requests).fault = 'html';
    },
    'nobody answered': (h) => {
      last(h.attempts).request_id = null;
    },
    'a wrong total raised no flag': (h) => {
      last(h.ledger.requests).fault = 'wrong-total';
    },
    'the service has no such order': (h) => {
      last(h.messages).service_id = 'o9';
    },
  },
  'legal-transitions': {
    'what was delivered became pending': (h) => {
      const event = h.events.findLast(({ what }) => what === 'message-changed') as WitnessEvent;
      h.events = [...h.events, { ...event, seq: 99, old_state: 'delivered', new_state: 'pending' }];
    },
    'the first send moved': (h) => {
      const event = h.events.findLast(({ what }) => what === 'message-changed') as WitnessEvent;
      event.old_first_sent = 1;
    },
    'a doubt was forgotten': (h) => {
      const event = h.events.findLast(({ what }) => what === 'message-changed') as WitnessEvent;
      h.events = [
        { ...event, seq: 0, old_state: 'sending', new_state: 'in_doubt', new_first_sent: null },
        { ...event, seq: 0, old_state: 'sending', new_state: 'pending', new_first_sent: null },
      ];
    },
  },
  'no-stale-epoch': {
    'an outcome of an older epoch': (h) => {
      last(h.events).lease_epoch = 2;
    },
  },
  'no-send-without-the-lease': {
    'somebody else had it': (h) => {
      first(h.events).text = 'daemon@here:8';
    },
  },
  'erp-untouched': {
    'a row was written': (h) => {
      h.erpTouched = ['UPDATE sales_orders'];
    },
  },
  'no-secret-anywhere': {
    'the token is in the log': (h) => {
      h.texts = [{ where: 'the log', text: 'Authorization: Bearer secret-of-ours' }];
    },
  },
  'stops-when-told': {
    'it had to be killed': (h) => {
      h.ends = ['SIGKILL'];
    },
  },
};

describe('the invariants', () => {
  it('have nothing to say against a sound history', () => {
    expect(violationsOf(soundHistory())).to.deep.equal([]);
  });

  it('judge each store by what it knew, when the first one was lost', () => {
    const history = soundHistory();
    loseStore(history, 150);
    history.recoveredAtMs = 170;
    expect(violationsOf(history)).to.deep.equal([]);
  });

  it('allow the second store other bytes under the key of the first', () => {
    const history = soundHistory();
    loseStore(history, 200);
    history.recoveredAtMs = 205;
    const again = { ...first(history.ledger.requests), request_id: 'r3', received_at_ms: 230, body_sha256: 'another' };
    history.ledger = { ...history.ledger, requests: [...history.ledger.requests, again] };
    expect(invariants['one-key-one-body']?.(history)).to.deep.equal([]);
  });

  it('are all proven to notice something', () => {
    expect(Object.keys(doctored).sort()).to.deep.equal(Object.keys(invariants).sort());
  });

  for (const [invariant, cases] of Object.entries(doctored))
    for (const [what, doctor] of Object.entries(cases))
      it(`${invariant} notices: ${what}`, () => {
        const history = soundHistory();
        doctor(history);
        expect(invariants[invariant]?.(history)).to.not.deep.equal([]);
      });
});
