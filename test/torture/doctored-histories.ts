import type { LedgerOrder } from '../../src/lab/sandbox/ledger.js';
import { claimOf, first, last, loseStore, parkAs, released, resolveAs, slowDown, unpark } from './doctor.js';
import type { PastLife } from './history.js';
import type { Doctored } from './sound-history.js';
import type { WitnessEvent } from './store-witness.js';

/** The change to a sound history, and the invariant that has to notice. */
export const doctored: Record<string, Record<string, (history: Doctored) => void>> = {
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
  'one-record-one-identity': {
    'two records are bound to one of the service': (h) => {
      h.bindings = [...h.bindings, { entity: 'order', source_key: '2', service_id: 'o1' }];
    },
    'an order is bound to one with another number': (h) => {
      first(h.erp.orders).order_no = 'A-2';
    },
    'an order is at the customer of another': (h) => {
      h.bindings = h.bindings.with(0, { entity: 'customer', source_key: '1', service_id: 'K2' });
    },
    'a record of the service was written for two of ours': (h) => {
      h.messages = [...h.messages, { ...last(h.messages), id: 3, source_key: '2' }];
      h.attempts = [...h.attempts, { ...last(h.attempts), id: 3, message_id: 3, request_id: 'r3' }];
      first(h.ledger.orders).requests.push('r3');
    },
    'an order was seen at another customer for a while': (h) => {
      h.breaches = ['order A-1 went to customer K2'];
    },
  },
  'every-row-accounted-for': {
    'a row was never captured': (h) => {
      h.messages = h.messages.filter((message) => message.entity !== 'order');
      h.bindings = h.bindings.filter((binding) => binding.entity !== 'order');
    },
    'an order is parked without a cause': (h) => {
      Object.assign(last(h.messages), { state: 'parked', park_class: 'refused' });
    },
    'an order is parked as unproven, and nothing has destroyed its proof': (h) => {
      h.keyLifetimeMs = 2_000;
      Object.assign(last(h.messages), { state: 'parked', park_class: 'unproven' });
      parkAs(h, 'unproven', 1_000);
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
    'what was lost was exported before, and is there still': (h) => {
      h.removals = { ...h.removals, onDeleted: 'delete' };
      h.erp = { ...h.erp, orders: [], deletedOrders: h.erp.orders };
      loseStore(h, 10_000);
      h.exportedAtMs = 9_000;
      h.messages = [];
      h.bindings = [];
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
  'holds-are-kept': {
    'three updates were let go where two are allowed': (h) => {
      h.events = [...h.events, ...released(3, 'update')];
    },
    'eleven removals were let go where ten are allowed': (h) => {
      h.events = [...h.events, ...released(11, 'removal')];
    },
    'something held went on, and nobody had confirmed it': (h) => {
      unpark(h, 'held');
    },
    'something held went on twice, and was confirmed once': (h) => {
      const { message_id: id, at_ms: at } = unpark(h, 'held');
      unpark(h, 'held');
      h.operated = [{ message_id: id as number, at, outcome: 'confirm_send' }];
    },
    'something held went on that was to be discarded': (h) => {
      const { message_id: id, at_ms: at } = unpark(h, 'held');
      h.operated = [{ message_id: id as number, at, outcome: 'confirm_discard' }];
    },
    'something was claimed before its scan had let it go': (h) => {
      claimOf(h).old_waits_for = 'scan';
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
    ...Object.fromEntries(
      ['unavailable', 'not_sent'].map((verdict) => [
        `a request arrived whose attempt is called ${verdict}`,
        (h: Doctored) => {
          const resend = { ...last(h.ledger.requests), request_id: 'r3' };
          h.ledger = { ...h.ledger, requests: [...h.ledger.requests, resend] };
          h.attempts = [...h.attempts, { ...last(h.attempts), id: 3, verdict, request_id: null }];
        },
      ]),
    ),
    'a write was claimed after its request': (h) => {
      const nth = h.events.findLastIndex(({ what }) => what === 'attempt');
      h.events = h.events.with(nth, { ...(h.events[nth] as WitnessEvent), at_ms: 300 });
    },
    'a write was never claimed': (h) => {
      h.events = h.events.filter(({ what, text }) => what !== 'attempt' || text !== 'k2');
    },
    'a reading was intended after its request': (h) => {
      const reading = h.attempts.find(({ purpose }) => purpose === 'read_order');
      h.attempts = h.attempts.map((one) => (one === reading ? { ...one, intended_at: 300 } : one));
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
    'a person had a command ask in the same window': (h) => {
      h.operatorArrivals = [205, 206].map((ms) => ({ monotonicMs: ms, atMs: ms, request: 'GET /v1/orders' }));
    },
  },
  'waits-when-told': {
    'a page was asked for while the service had said "in a second"': (h) => {
      slowDown(h, 'seconds', 500);
    },
    'somebody said resume before the service said "tomorrow"': (h) => {
      slowDown(h, 'absurd', 50_000);
      h.resumedAt = [300];
    },
    'who restarted did not know of it': (h) => {
      slowDown(h, 'absurd', 50_000);
      last(h.attempts).epoch = 2;
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
    'what a look-up found raised no flag, and the line of the person who said so is not there': (h) => {
      last(h.attempts).purpose = 'look_up';
      last(h.attempts).verdict = 'found';
      resolveAs(h, 'delivered');
      h.operated = [];
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
    'what may exist was superseded': (h) => {
      const parked = parkAs(h, 'unproven', 9);
      h.events = [...h.events, { ...parked, seq: 99, old_state: 'parked', new_state: 'superseded' }];
    },
    'what may exist got another create beside it': (h) => {
      const parked = parkAs(h, 'conflict', 9);
      const create: WitnessEvent = {
        ...parked,
        seq: 99,
        what: 'message',
        message_id: 3,
        old_state: null,
        new_state: 'pending',
        text: 'create',
      };
      h.events = [...h.events, create];
    },
    'a conflict became pending by itself': (h) => {
      unpark(h, 'conflict');
    },
    'what was unproven was in doubt again by itself': (h) => {
      unpark(h, 'unproven', 'in_doubt');
    },
    'a conflict became pending that a person said is there': (h) => {
      unpark(h, 'conflict');
      resolveAs(h, 'delivered');
    },
    'a conflict became pending, and the line that says why is of nobody': (h) => {
      unpark(h, 'conflict');
      resolveAs(h, 'not_delivered');
      h.resolved = new Map();
    },
    'a conflict became pending after a look-up that found it': (h) => {
      unpark(h, 'conflict');
      h.attempts = [...h.attempts, { ...last(h.attempts), id: 9, purpose: 'look_up', verdict: 'found' }];
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
    'a message was settled in an older epoch': (h) => {
      (h.events.findLast(({ what }) => what === 'message-changed') as WitnessEvent).lease_epoch = 2;
    },
    'a message was claimed in an older epoch': (h) => {
      claimOf(h).lease_epoch = 2;
    },
  },
  'no-send-without-the-lease': {
    'somebody else had it': (h) => {
      first(h.events).text = 'daemon@here:8';
    },
  },
  'announced-is-read': {
    'an event was taken, and its order not read after that': (h) => {
      h.announced = [{ orderId: 'o1', sentAtMs: 241 }];
    },
  },
  'written-back-as-acknowledged': {
    'the ERP is told nothing': (h) => {
      h.writtenBack = [];
    },
    'the ERP is told an older total': (h) => {
      h.writtenBack = [{ ...first(h.writtenBack ?? []), service_total: '12.500000' }];
    },
    'the ERP is told an older status': (h) => {
      h.writtenBack = [{ ...first(h.writtenBack ?? []), service_status: 'packed' }];
    },
    'what was there is emptied': (h) => {
      h.writtenBack = [{ ...first(h.writtenBack ?? []), order_number: null }];
    },
  },
  'forgotten-is-gone': {
    'a body is left': (h) => {
      h.texts = [{ where: 'the store', text: '{"name":"Erased 1 Alpha"}' }];
    },
  },
  'prunes-only-what-is-over': {
    'a message was pruned that waits for a person': (h) => {
      h.pruned = [{ ...last(h.messages), state: 'parked' }];
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
