import { expect } from 'chai';
import fc from 'fast-check';
import { serviceSettings } from '../../src/config/sections/service.js';
import { legacy } from '../../src/model/facts/fact.js';
import type { VerdictKind } from '../../src/model/verdict.js';
import { type AcknowledgementRequest, expectAcknowledgement } from '../../src/service/acknowledgement.js';
import { judge } from '../../src/service/judge.js';
import type { WireExchange } from '../../src/service/wire/wire-exchange.js';
import { isFullMatrix } from '../store/stores.js';
import { told } from '../support/told.js';

const service = (changes: object = {}) =>
  serviceSettings.parse({ environment: 'sandbox', baseUrl: 'https://sandbox.example.com', ...changes });
const profile = service();
const nowMs = Date.UTC(2026, 5, 1, 12);
/** The long form: WAYBILL_RANDOM_ANSWERS=1000000 npm test. */
const numRuns = Number(process.env.WAYBILL_RANDOM_ANSWERS ?? (isFullMatrix ? 30_000 : 5_000));

const order: AcknowledgementRequest = {
  entity: 'order',
  operation: 'create',
  expectedId: null,
  successStatus: 201,
  expectedTotal: 1_300n,
};
const customer: AcknowledgementRequest = { ...order, entity: 'customer', expectedId: 'C-1', expectedTotal: null };
const orderUpdate: AcknowledgementRequest = { ...order, operation: 'update', expectedId: 'O-1', successStatus: 200 };

const orderRemoval: AcknowledgementRequest = {
  ...orderUpdate,
  operation: 'delete',
  successStatus: 204,
  expectedTotal: null,
};

const ack = { order_id: 'O-1', status: 'accepted', created_at: '2026-06-01T12:00:00+02:00', total: 1300 };

const answer = (status: number, body: unknown = '', headers: Record<string, string> = {}): WireExchange => ({
  kind: 'answer',
  status,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const cutOff = (status: number, headers: Record<string, string> = {}): WireExchange => ({
  kind: 'cut_off',
  status,
  headers,
  reason: legacy('the body broke off'),
});
const coded = (code: string, message = 'words') => ({ error: { code, message } });
/** A verdict with its facts in words. */
type ToldVerdict = { kind: VerdictKind } & { [name: string]: unknown };

const decide = (exchange: WireExchange, request = order, of = profile): ToldVerdict =>
  told(judge(of, expectAcknowledgement(of, request), exchange, nowMs));

interface Row {
  title: string;
  exchange: WireExchange;
  request?: AcknowledgementRequest;
  expected: ToldVerdict;
}

/** The rows of the verdict table, in its order; each has a case at least. */
const table: { [row: string]: Row[] } = {
  'success, complete and valid': [
    { title: 'order', exchange: answer(201, ack), expected: { kind: 'delivered', serviceId: 'O-1', flag: null } },
    {
      title: 'order with fields that nobody knows, after a byte order mark',
      exchange: answer(201, `\uFEFF${JSON.stringify({ ...ack, links: [] })}`),
      expected: { kind: 'delivered', serviceId: 'O-1' },
    },
    {
      title: 'order in UTC with fractions of a second',
      exchange: answer(201, { ...ack, created_at: '2026-06-01T10:00:00.123Z' }),
      expected: { kind: 'delivered' },
    },
    {
      title: 'order with a number for its id, every digit kept',
      exchange: answer(201, JSON.stringify(ack).replace('"O-1"', '12345678901234567890')),
      expected: { kind: 'delivered', serviceId: '12345678901234567890' },
    },
    {
      title: 'order with a small number for its id',
      exchange: answer(201, { ...ack, order_id: 17 }),
      expected: { kind: 'delivered', serviceId: '17' },
    },
    {
      title: "order with its state in the service's own word",
      exchange: answer(201, { ...ack, status: 'on hold' }),
      expected: { kind: 'delivered', state: 'on hold' },
    },
    {
      title: 'customer that is named',
      exchange: answer(201, { customer_code: 'C-1' }),
      request: customer,
      expected: { kind: 'delivered', serviceId: 'C-1', flag: null },
    },
    {
      title: 'customer that is not named',
      exchange: answer(201, {}),
      request: customer,
      expected: { kind: 'delivered', serviceId: 'C-1' },
    },
    {
      title: 'update',
      exchange: answer(200, {}),
      request: orderUpdate,
      expected: { kind: 'delivered', serviceId: 'O-1' },
    },
    ...[
      ['a local time', { ...ack, created_at: '2026-06-01 12:00:00' }],
      ['Unix time', { ...ack, created_at: 1_780_000_000 }],
      ['no time', { ...ack, created_at: undefined }],
      ['a number for its state', { ...ack, status: 1 }],
      ['no state', { ...ack, status: undefined }],
      ['no total', { ...ack, total: null }],
      ['its id alone', { order_id: 'O-1' }],
    ].map(([title, body]) => ({
      title: `order with ${title}, on which nothing depends`,
      exchange: answer(201, body),
      expected: { kind: 'delivered' as const, serviceId: 'O-1', flag: null },
    })),
    ...[200, 203, 299].map((status) => ({
      title: `order that a repetition shows with HTTP ${status}`,
      exchange: answer(status, ack),
      request: { ...order, isRepeated: true },
      expected: { kind: 'delivered' as const, serviceId: 'O-1', flag: null },
    })),
    ...[200, 201].map((status) => ({
      title: `order with HTTP ${status}, which is one of a list`,
      exchange: answer(status, ack),
      request: { ...order, successStatus: [201, 200] },
      expected: { kind: 'delivered' as const, serviceId: 'O-1' },
    })),
    {
      title: 'customer without a body',
      exchange: answer(201),
      request: customer,
      expected: { kind: 'delivered', serviceId: 'C-1' },
    },
    {
      title: 'update without a body',
      exchange: answer(200),
      request: orderUpdate,
      expected: { kind: 'delivered', serviceId: 'O-1' },
    },
    {
      title: 'update with 204, which has no body',
      exchange: answer(204),
      request: { ...orderUpdate, successStatus: 204 },
      expected: { kind: 'delivered', serviceId: 'O-1' },
    },
  ],
  'success, body cut off': [
    { title: 'order', exchange: cutOff(201), expected: { kind: 'in_doubt' } },
    { title: 'update', exchange: cutOff(200), request: orderUpdate, expected: { kind: 'in_doubt' } },
  ],
  'success, complete but invalid': [
    ...[
      ['no body', ''],
      ['HTML', '<!doctype html><p>hello</p>'],
      ['half of the JSON', JSON.stringify(ack).slice(0, 40)],
      ['JSON and something behind it', `${JSON.stringify(ack)} x`],
      ['a list', [ack]],
      ['null', 'null'],
      ['another shape', { result: 'ok' }],
      ['an id that is a fraction', { ...ack, order_id: 1.5 }],
      ['an id with a control character', { ...ack, order_id: 'O\u0000' }],
      ['an id with half of a letter', { ...ack, order_id: 'O\ud800' }],
      ['an id from bytes that were no UTF-8', { ...ack, order_id: 'O\ufffd' }],
      ['two ids', `{"order_id":"O-2",${JSON.stringify(ack).slice(1)}`],
      ['a total with more digits than a number holds', JSON.stringify(ack).replace('1300', '1300.00000000000000001')],
      ['an id without a letter', { ...ack, order_id: '' }],
      ['a total in text', { ...ack, total: '1300' }],
      ['a fractional total', { ...ack, total: 13.5 }],
      ['a total beyond safe integers', JSON.stringify(ack).replace('1300', '9007199254740993')],
    ].map(([title, body]) => ({
      title: title as string,
      exchange: answer(201, body),
      expected: { kind: 'invalid' as const },
    })),
    {
      title: 'another customer',
      exchange: answer(201, { customer_code: 'C-2' }),
      request: customer,
      expected: { kind: 'invalid' },
    },
    {
      title: 'another order',
      exchange: answer(200, { order_id: 'O-2' }),
      request: orderUpdate,
      expected: { kind: 'invalid' },
    },
    ...[200, 202, 204, 206, 299].map((status) => ({
      title: `HTTP ${status} with a JSON object, which names the setting that is wrong`,
      exchange: answer(status, ack),
      expected: {
        kind: 'invalid' as const,
        reason: `HTTP ${status}, but service.endpoints.createOrder.successStatus is 201. If the service acknowledges with ${status}, set service.endpoints.createOrder.successStatus to it.`,
      },
    })),
    ...[
      ['without an id', 200, { result: 'ok' }],
      ['without a body', 204, ''],
      ['that only promises', 202, ack],
    ].map(([title, status, body]) => ({
      title: `a repetition ${title}`,
      exchange: answer(status as number, body),
      request: { ...order, isRepeated: true },
      expected: { kind: 'invalid' as const },
    })),
    ...[200, 204].map((status) => ({
      title: `HTTP ${status} without a body where another success is expected`,
      exchange: answer(status),
      request: { ...orderUpdate, successStatus: 201 },
      expected: { kind: 'invalid' as const },
    })),
    {
      title: 'a new order with 204',
      exchange: answer(204),
      request: { ...order, successStatus: 204 },
      expected: { kind: 'invalid' },
    },
  ],
  'timeout, reset, 408, 5xx, unlisted': [
    { title: 'timeout', exchange: { kind: 'timeout', reason: legacy('late') }, expected: { kind: 'in_doubt' } },
    { title: 'reset', exchange: { kind: 'broken', reason: legacy('ECONNRESET') }, expected: { kind: 'in_doubt' } },
    ...[408, 500, 502, 503, 504, 599, 600].map((status) => ({
      title: `HTTP ${status}`,
      exchange: answer(status, ack),
      expected: { kind: 'in_doubt' as const },
    })),
    ...[200, 202, 204, 299].flatMap((status) =>
      ['<!doctype html><p>back soon</p>', [ack]].map((body, i) => ({
        title: `HTTP ${status} with a page, or a list (${i})`,
        exchange: answer(status, body),
        expected: { kind: 'in_doubt' as const },
      })),
    ),
    ...[200, 400, 404, 409, 422, 500].map((status) => ({
      title: `HTTP ${status}, body cut off: it does not say what exists`,
      exchange: cutOff(status),
      expected: { kind: 'in_doubt' as const },
    })),
  ],
  'provably nothing sent': [
    {
      title: 'refused connection',
      exchange: { kind: 'unreachable', reason: legacy('ECONNREFUSED'), tls: false },
      expected: { kind: 'unavailable', tls: false },
    },
    {
      title: 'TLS',
      exchange: { kind: 'unreachable', reason: legacy('expired'), tls: true },
      expected: { kind: 'unavailable', tls: true },
    },
    { title: 'held back', exchange: { kind: 'not_sent', reason: legacy('paused') }, expected: { kind: 'not_sent' } },
  ],
  'slow down': [
    {
      title: '429 with seconds',
      exchange: answer(429, '', { 'retry-after': '7' }),
      expected: { kind: 'throttled', retryAfterMs: 7_000 },
    },
    { title: '429 without a time', exchange: answer(429), expected: { kind: 'throttled', retryAfterMs: null } },
    {
      title: '429, body cut off',
      exchange: cutOff(429, { 'retry-after': '7' }),
      expected: { kind: 'throttled', retryAfterMs: 7_000 },
    },
    {
      title: '503 with a date',
      exchange: answer(503, '', { 'retry-after': 'Mon, 01 Jun 2026 12:00:30 GMT' }),
      expected: { kind: 'throttled', retryAfterMs: 30_000, mayHaveTakenEffect: true },
    },
    {
      title: '503 with junk',
      exchange: answer(503, '', { 'retry-after': 'soon 5' }),
      expected: { kind: 'throttled', retryAfterMs: null },
    },
  ],
  unauthorised: [
    { title: '401', exchange: answer(401, coded('unauthorized')), expected: { kind: 'unauthorised' } },
    { title: '401, body cut off', exchange: cutOff(401), expected: { kind: 'unauthorised' } },
  ],
  misconfigured: [
    ...[403, 407, 300, 301, 302, 303, 304, 307, 308].map((status) => ({
      title: `HTTP ${status}`,
      exchange: answer(status, ack),
      expected: { kind: 'misconfigured' as const },
    })),
    {
      title: '308, which says where to go',
      exchange: answer(308, '', { location: 'https://user:pw@new.example.com/v2/orders?key=1' }),
      expected: {
        kind: 'misconfigured',
        reason:
          'HTTP 308: it points to https://new.example.com/v2/orders. If that is where records go now, correct service.baseUrl, or the path of the endpoint.',
      },
    },
    { title: '302, body cut off', exchange: cutOff(302), expected: { kind: 'misconfigured' } },
  ],
  'in progress': [
    { title: '409', exchange: answer(409, coded('request_in_progress')), expected: { kind: 'busy' } },
    { title: '409 in words', exchange: answer(409, 'a request is in progress'), expected: { kind: 'busy' } },
  ],
  'key reused with another body': [
    {
      title: '422',
      exchange: answer(422, coded('idempotency_key_reused')),
      expected: { kind: 'conflict', what: 'key_reused' },
    },
  ],
  'already exists': [
    {
      title: '409',
      exchange: answer(409, coded('already_exists')),
      expected: { kind: 'conflict', what: 'already_exists' },
    },
  ],
  'unknown customer': [
    {
      title: 'a 404 whose body repeats the order, and with it the customer',
      exchange: answer(404, { ...coded('not_here', 'no such thing'), request: { customer_code: 'K1' } }),
      expected: { kind: 'refused' },
    },
    {
      title: '404 of an order',
      exchange: answer(404, coded('customer_not_found')),
      expected: { kind: 'unknown_customer' },
    },
    {
      title: '404 of a customer is no such thing',
      exchange: answer(404, coded('customer_not_found')),
      request: customer,
      expected: { kind: 'refused' },
    },
  ],
  'the record to be removed is not there': [
    ...[
      answer(410),
      answer(404, coded('order_not_found')),
      answer(404, coded('not_found', 'There is no such order')),
      answer(404, 'This order does not exist.'),
    ].map((exchange, i) => ({
      title: `answer ${i + 1} says so`,
      exchange,
      request: orderRemoval,
      expected: { kind: 'delivered' as const, serviceId: 'O-1' },
    })),
    ...[
      answer(404),
      answer(404, coded('not_found', 'There is nothing at this address')),
      answer(404, '<html><h1>404 Not Found</h1>The requested URL /v1/orders/O-1 was not found on this server.</html>'),
      answer(404, { timestamp: 1, status: 404, error: 'Not Found', path: '/v1/orders/O-1' }),
      answer(404, 'Cannot DELETE /v1/order/O-1'),
    ].map((exchange, i) => ({
      title: `bare 404 number ${i + 1} may be about the address`,
      exchange,
      request: orderRemoval,
      expected: { kind: 'refused' as const },
    })),
    {
      title: 'a 404 about a customer is none about the order',
      exchange: answer(404, coded('not_found', 'There is no such customer')),
      request: orderRemoval,
      expected: { kind: 'unknown_customer' },
    },
  ],
  'other 4xx': [400, 402, 404, 405, 406, 409, 410, 413, 415, 422, 451, 499].map((status) => ({
    title: `HTTP ${status}`,
    exchange: answer(status, coded('wrong', 'sku is too long')),
    expected: { kind: 'refused' as const, reason: `HTTP ${status} wrong: sku is too long` },
  })),
};

describe('the verdict', () => {
  for (const [row, cases] of Object.entries(table)) {
    describe(row, () => {
      for (const { title, exchange, request, expected } of cases) {
        it(`${title}: ${expected.kind}`, () => {
          expect(decide(exchange, request)).to.include(expected);
        });
      }
    });
  }

  describe('words of the record that the service repeats', () => {
    const remarks = ['repair in progress, call first', 'already exists elsewhere', 'ask for idempotency', 'customer'];
    for (const remark of remarks)
      it(`decide nothing: "${remark}"`, () => {
        const rejected = { remark };
        for (const status of [404, 409, 422]) {
          const { kind } = decide(answer(status, { ...coded('order_shipped', 'It has left.'), rejected }));
          expect(kind, String(status)).to.equal('refused');
        }
        const gone = answer(404, { ...coded('order_not_found', 'Gone.'), request: { customer_code: 'K1' } });
        expect(decide(gone, orderRemoval).kind).to.equal('delivered');
      });

    it('count as they are where the body is no JSON', () => {
      expect(decide(answer(409, '<html><p>A request is in progress</p>')).kind).to.equal('busy');
      expect(decide(answer(409, '"it already exists"'))).to.include({ kind: 'conflict', what: 'already_exists' });
    });

    it('are looked for at the places that the profile names', () => {
      const told = service({ errorBody: { code: ['fault.no'], message: ['fault.text'] } });
      const body = { fault: { no: 7, text: 'a request is in progress' }, error: { message: 'already exists' } };
      expect(decide(answer(409, body), order, told).kind).to.equal('busy');
    });
  });

  it('flags a total that is not what the lines add up to, and only where it is asked to', () => {
    const wrong = answer(201, { ...ack, total: 1301 });
    expect(decide(wrong)).to.deep.include({ kind: 'delivered', serviceId: 'O-1' });
    expect(decide(wrong)).to.have.property('flag').that.includes('1301').and.includes('1300');
    expect(decide(wrong, order, service({ checkTotal: 'off' }))).to.have.property('flag', null);
    expect(decide(wrong, { ...order, expectedTotal: null })).to.have.property('flag', null);
    expect(decide(answer(200, { total: 1 }), orderUpdate))
      .to.have.property('flag')
      .that.is.a('string');
  });

  it('compares totals exactly where numbers would not', () => {
    const total = Number.MAX_SAFE_INTEGER;
    const request = { ...order, expectedTotal: BigInt(total) + 1n };
    expect(decide(answer(201, { ...ack, total }), request))
      .to.have.property('flag')
      .that.is.a('string');
  });

  it('goes by the words of the profile before the usual meaning of a status', () => {
    const odd = service({
      answers: {
        inProgress: [{ status: 429, code: 'concurrent' }],
        keyReused: [{ status: 403, pattern: 'used' }],
        alreadyExists: [{ status: 303 }],
        unknownCustomer: [{ status: 400, code: 'X17', pattern: 'customer' }],
      },
    });
    expect(decide(answer(429, coded('concurrent')), order, odd).kind).to.equal('busy');
    expect(decide(answer(429, coded('rate')), order, odd).kind).to.equal('throttled');
    expect(decide(answer(403, 'Key USED before'), order, odd)).to.include({ kind: 'conflict', what: 'key_reused' });
    expect(decide(answer(303), order, odd)).to.include({ kind: 'conflict', what: 'already_exists' });
    expect(decide(answer(400, coded('X17', 'no such customer')), order, odd).kind).to.equal('unknown_customer');
    expect(decide(answer(400, coded('X17', 'no such sku')), order, odd).kind).to.equal('refused');
    expect(decide(answer(409, coded('request_in_progress')), order, odd).kind).to.equal('refused');
  });

  it('takes no answer for a reused key where the service compares no bodies', () => {
    const reused = answer(422, coded('idempotency_key_reused'));
    expect(decide(reused, order, service({ idempotency: { comparesBodies: false } })).kind).to.equal('refused');
  });

  it('reads an acknowledgement where the profile says it stands', () => {
    const odd = service({
      acknowledgement: {
        orderId: 'data.id',
        orderState: 'data.state',
        orderTotal: 'data.sum',
        orderCreatedAt: 'meta.at',
      },
    });
    const body = { data: { id: 4711, state: 'new', sum: 1300 }, meta: { at: ack.created_at } };
    expect(decide(answer(201, body), order, odd)).to.deep.equal({
      kind: 'delivered',
      serviceId: '4711',
      flag: null,
      state: 'new',
      total: 1300,
    });
    expect(decide(answer(201, ack), order, odd).kind).to.equal('invalid');
    const renamed = service({ acknowledgement: { customerId: 'id', customerState: 'state' } });
    const unknown = { ...customer, expectedId: null };
    expect(decide(answer(201, { id: 'cus_1', state: 'new' }), unknown, renamed)).to.include({
      kind: 'delivered',
      serviceId: 'cus_1',
      state: 'new',
    });
    expect(decide(answer(201, { customer_code: 'C-1' }), unknown, renamed).kind).to.equal('invalid');
  });

  it('does without a total where none is checked, also with one that is none', () => {
    const off = service({ checkTotal: 'off' });
    for (const total of [undefined, null, '1300', 13.5]) {
      const verdict = decide(answer(201, { ...ack, total }), order, off);
      expect(verdict).to.include({ kind: 'delivered', flag: null }).and.to.not.have.property('total');
    }
  });

  for (const total of ['13.00', '13.5', '1300.0', '1.3e3', '13e2', '"13.00"'])
    it(`compares no total of ${total} with amounts in the smallest unit, and names the setting`, () => {
      const reason =
        /^HTTP 20\d, but no valid acknowledgement: total: [^ ]+ has a decimal point or an exponent.*set service\.checkTotal: off\.$/;
      const created = JSON.stringify(ack).replace('1300', total);
      expect(decide(answer(201, created))).to.have.property('kind', 'invalid');
      expect(decide(answer(201, created)))
        .to.have.property('reason')
        .that.matches(reason);
      const changed = decide(answer(200, `{"total":${total}}`), orderUpdate);
      expect(changed).to.have.property('reason').that.matches(reason);
      expect(decide(answer(201, created), order, service({ checkTotal: 'off' }))).to.deep.include({
        kind: 'delivered',
        serviceId: 'O-1',
        flag: null,
      });
    });

  it('reads an error where the profile says it stands', () => {
    const odd = service({
      errorBody: { code: ['fault.no'], message: ['fault.text'] },
      answers: { inProgress: [{ status: 409, code: '7' }] },
    });
    expect(decide(answer(400, { fault: { no: 9, text: 'bad sku' } }), order, odd)).to.deep.include({
      kind: 'refused',
      reason: 'HTTP 400 9: bad sku',
    });
    expect(decide(answer(409, { fault: { no: 7, text: 'wait' } }), order, odd).kind).to.equal('busy');
  });

  describe('whatever a service answers', () => {
    const status = fc.oneof(
      fc.constantFrom(200, 201, 204, 302, 400, 401, 404, 409, 422, 429, 503),
      fc.integer({ min: 100, max: 999 }),
    );
    const field = fc.oneof(
      fc.constantFrom<unknown>('O-1', 'C-1', '', null, 17, 1300, -1, 1.5, 2 ** 53, '2026-06-01T12:00:00Z', [], {}),
      fc.string(),
      fc.jsonValue(),
    );
    const nearly = fc.record(
      { order_id: field, status: field, created_at: field, total: field, customer_code: field, error: field },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      nearly.map((value) => JSON.stringify(value)),
      fc.tuple(nearly, fc.nat(60)).map(([value, at]) => JSON.stringify({ ...ack, ...value }).slice(0, at)),
      nearly.map((value) => JSON.stringify({ ...ack, ...value })),
      fc.integer().map((total) => JSON.stringify({ ...ack, total })),
    );
    const headers = fc.dictionary(fc.constantFrom('retry-after', 'content-type', '__proto__'), fc.string());
    const exchange: fc.Arbitrary<WireExchange> = fc.oneof(
      { weight: 8, arbitrary: fc.record({ kind: fc.constant('answer' as const), status, headers, body }) },
      fc
        .record({ status, headers, text: fc.string() })
        .map(({ text, ...head }): WireExchange => ({ kind: 'cut_off', ...head, reason: legacy(text) })),
    );
    const request = fc.constantFrom(order, customer, orderUpdate);

    it('never throws, and delivers only on the exact status with a valid acknowledgement', () => {
      let delivered = 0;
      fc.assert(
        fc.property(exchange, request, (received, asked) => {
          const verdict = decide(received, asked);
          if ('reason' in verdict) expect(String(verdict.reason).length).to.be.at.most(1_000);
          if (verdict.kind !== 'delivered') return;
          delivered++;
          expect(received).to.include({ kind: 'answer', status: asked.successStatus });
          const { body: text } = received as { body: string };
          const value = JSON.parse(text === '' ? '{}' : text);
          if (asked.entity === 'order' && asked.operation === 'create') {
            expect(String(value.order_id)).to.not.equal('');
            const total = value.total ?? null;
            expect(total === null || Number.isSafeInteger(total)).to.equal(true);
            expect(verdict.flag === null).to.equal(total === null || total === 1300);
            expect(verdict.serviceId).to.equal(String(value.order_id));
          } else {
            expect(verdict.serviceId).to.equal(asked.expectedId);
          }
        }),
        { numRuns },
      );
      expect(delivered, 'or this proves nothing').to.be.greaterThan(numRuns / 600);
    });

    it('calls nothing refused that may have taken effect, and waits a day at most', () => {
      fc.assert(
        fc.property(exchange, (received) => {
          const verdict = decide(received);
          if (verdict.kind === 'refused') {
            const { status: given } = received as { status: number };
            expect(received.kind).to.equal('answer');
            expect(given >= 400 && given < 500 && given !== 408).to.equal(true);
          }
          if (verdict.kind === 'throttled' && verdict.retryAfterMs !== null) {
            expect(verdict.retryAfterMs).to.be.within(0, 86_400_000);
          }
        }),
        { numRuns: 3_000 },
      );
    });
  });
});

describe('a 403', () => {
  it('that speaks of a block names the setting for it', () => {
    const said = [
      'blocked',
      'Your IP was banned',
      'rate limit exceeded',
      '<html><body>Too many requests</body></html>',
    ];
    for (const body of said)
      expect(decide(answer(403, body)), body)
        .to.include({ kind: 'misconfigured' })
        .and.have.property('reason')
        .that.matches(/service\.answers\.blocked/);
  });

  it('that speaks of anything else does not', () => {
    for (const body of ['', 'forbidden', 'operation not permitted', 'no moderate access', 'urban area'])
      expect(decide(answer(403, body)), body)
        .to.have.property('reason')
        .that.does.not.match(/answers/);
  });

  it('that is named there rests instead', () => {
    const named = service({ answers: { blocked: [{ status: 403, pattern: 'blocked' }] } });
    expect(decide(answer(403, 'blocked'), order, named)).to.include({ kind: 'throttled', reason: 'HTTP 403: blocked' });
  });
});
