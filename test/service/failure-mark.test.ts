import { expect } from 'chai';
import fc from 'fast-check';
import { serviceSettings } from '../../src/config/sections/service.js';
import type { LookUpEndpoint } from '../../src/config/sections/service-endpoints.js';
import { invoicePagePlaces, readInvoicePage } from '../../src/inbound/invoices/invoice-page.js';
import { Unusable, usualErrorPlaces } from '../../src/model/verdict.js';
import { expectAcknowledgement } from '../../src/service/acknowledgement.js';
import { findFailureMark } from '../../src/service/failure-mark.js';
import { type Expectation, judge } from '../../src/service/judge.js';
import { expectFinding } from '../../src/service/look-up.js';
import { recordQuestion } from '../../src/service/read-record.js';
import { told } from '../support/told.js';

const places = { values: ['data.order.id', 'data.total'], id: 'data.order.id' };
const find = (answer: unknown, errors: Partial<typeof usualErrorPlaces> = {}, at = places) =>
  findFailureMark(answer, at, { ...usualErrorPlaces, ...errors });

describe('the mark by which a success says that it failed', () => {
  const marked: [unknown, string][] = [
    [{ success: false }, 'success is false'],
    [{ ok: false, order_id: 'O-1' }, 'ok is false'],
    [{ Success: 0 }, 'Success is 0'],
    [{ success: 'false' }, 'success is "false"'],
    [{ success: ' No ' }, 'success is " No "'],
    [{ success: '0' }, 'success is "0"'],
    [{ success: '' }, 'success is ""'],
    [{ success: null }, 'success is null'],
    [{ success: [] }, 'it has success'],
    [{ isSuccess: false }, 'isSuccess is false'],
    [{ is_ok: false }, 'is_ok is false'],
    [{ succeeded: false }, 'succeeded is false'],
    [{ data: { success: false } }, 'data.success is false'],
    [{ data: { order: { ok: false, id: 'O-1' } } }, 'data.order.ok is false'],
    [{ error: 'not allowed' }, 'error is "not allowed"'],
    [{ error: true, order_id: 'O-1' }, 'error is true'],
    [{ error: { code: 'E17', message: 'no' } }, 'it has error'],
    [{ errors: [{ field: 'sku' }] }, 'it has errors'],
    [{ data: { order: { id: 'O-1' }, errors: ['x'] } }, 'it has data.errors'],
    [{ code: 'E17', message: 'not valid' }, 'code is "E17"'],
    [{ code: 4001, detail: 'not valid' }, 'code is 4001'],
    [{ status: 'error' }, 'status is "error"'],
    [{ elsewhere: { success: false } }, 'elsewhere.success is false'],
    [{ response: { errors: ['x'] } }, 'it has response.errors'],
    [{ fault: 'not allowed' }, 'fault is "not allowed"'],
    [{ status: 'fail', data: null }, 'status is "fail"'],
    [{ status: 422, title: 'Not valid' }, 'status is 422'],
  ];
  for (const [answer, mark] of marked)
    it(`is found in ${JSON.stringify(answer)}`, () => expect(find(answer)).to.equal(mark));

  const unmarked: unknown[] = [
    {},
    undefined,
    'ok',
    [{ success: false }],
    { success: true, ok: 1 },
    // A part of a record has flags of its own.
    { data: { order: { id: 'O-1' } }, payment: { success: false }, fault: 'x' },
    { success: 'yes' },
    { success: { id: 'O-1' } },
    { error: null, errors: [] },
    { error: '', errors: {} },
    { error: false },
    { error: 0 },
    { error: { code: 0, message: '' } },
    { error: 'none', errors: [null] },
    { error: 'N/A', errors: '[]' },
    { error: '-' },
    { error: 'No errors found.' },
    { code: 200, message: 'order changed' },
    { code: 0, message: 'OK' },
    { code: 'C-1', name: 'a customer with a code' },
    { status: 'failed', data: { order: { id: 'O-1' } } },
    { code: 'X', message: 'hello', data: { order: { id: 7 } } },
    { type: 'order', title: 'Chairs', detail: 'four of them' },
    { status: 200 },
    { message: 'Order changed' },
    { data: { order: { id: 'O-1' } }, elsewhere: { success: false } },
  ];
  for (const answer of unmarked)
    it(`is not found in ${JSON.stringify(answer) ?? 'nothing'}`, () => expect(find(answer)).to.equal(null));

  it('is found where the settings find the code or the details of an error', () => {
    const errors = { code: ['fault.no', 'code'], details: ['problems'] };
    const id = { data: { order: { id: 'O-1' } } };
    expect(find({ ...id, fault: { no: 17 } }, errors)).to.equal('fault.no is 17');
    expect(find({ ...id, problems: [{ sku: 'unknown' }] }, errors)).to.equal('it has problems');
    expect(find({ ...id, fault: { no: 0 }, problems: [] }, errors)).to.equal(null);
  });
});

const profile = serviceSettings.parse({
  environment: 'sandbox',
  baseUrl: 'https://sandbox.example.com',
  checkTotal: 'off',
  acknowledgement: { orderId: 'result.order_id', orderState: 'result.status', orderCreatedAt: 'result.created_at' },
  endpoints: { readOrder: {} },
});
const lookUpOrder: LookUpEndpoint = {
  path: '/v1/orders',
  query: {},
  successStatus: 200,
  absentStatus: 404,
  id: 'order_id',
  match: { note: '{note}' },
  absenceProves: true,
};
const record = { customer_code: 'C1', note: 'SO-7' };
const paging = { invoices: 'data', total: 'total', page: 'page' };
const orderId = (operation: 'create' | 'update' | 'delete') => (operation === 'create' ? null : 'O-1');
const write = (entity: 'order' | 'customer', operation: 'create' | 'update' | 'delete') =>
  expectAcknowledgement(profile, {
    entity,
    operation,
    expectedId: entity === 'customer' ? 'C1' : orderId(operation),
    successStatus: 200,
    expectedTotal: null,
  });
const reading = recordQuestion(profile, { entity: 'order', serviceId: 'O-1', record, idempotencyKey: null });
if ('problem' in reading) throw new Error(reading.problem.code);
const question = { asks: 'read', entity: 'order' } as const;
const read =
  <Value>(ask: (json: unknown) => Value | Unusable) =>
  (_status: number, json: unknown) => {
    const value = ask(json);
    return value instanceof Unusable ? value : ({ kind: 'read', value } as const);
  };
/** All that is asked of a service, with an answer that is the best that could come. */
const asked: { [name: string]: [Expectation<{ kind: string }>, object] } = {};
const acknowledged = { result: { order_id: 'O-1', status: 'confirmed', created_at: '2026-06-01T12:00:00Z' } };
for (const operation of ['create', 'update', 'delete'] as const) {
  asked[`${operation} an order`] = [write('order', operation), acknowledged];
  asked[`${operation} a customer`] = [write('customer', operation), { customer_code: 'C1', status: 'active' }];
}
const found = { order_id: 'O-1', note: 'SO-7' };
asked['look an order up'] = [expectFinding(lookUpOrder, 'order', record, 'key'), found];
const inList = { ...lookUpOrder, list: 'data' };
asked['search for an order'] = [expectFinding(inList, 'order', record, 'key'), { data: [found] }];
asked['search for an order that is not there'] = [expectFinding(inList, 'order', record, 'key'), { data: [] }];
asked['read an order'] = [
  { ...question, answers: [200], places: reading.places, read: read((json) => reading.read(200, json, '')) },
  acknowledged,
];
asked['read a page of invoices'] = [
  {
    ...question,
    answers: [200],
    places: invoicePagePlaces(paging),
    read: read((json) => readInvoicePage(json, { fields: paging, currency: 'EUR', customer: null })),
  },
  { data: [], total: 0, page: 1 },
];

const said = (expected: Expectation<{ kind: string }>, body: unknown, status = 200) =>
  told(judge(profile, expected, { kind: 'answer', status, headers: {}, body: JSON.stringify(body) }, 0));

describe('an answer with a success status that says that it failed', () => {
  it('gives no reason where it only echoes the record, so that ten of them look equal', () => {
    const echo = { ...acknowledged, success: false, name: 'Ada Lovelace' };
    expect(said(write('order', 'create'), echo)).to.deep.include({
      reason: 'HTTP 200, but it says that it failed (success is false): no reason given',
    });
  });

  for (const [name, [expected, best]] of Object.entries(asked)) {
    it(`proves nothing: ${name}`, () => {
      expect(said(expected, best).kind).to.be.oneOf(['delivered', 'found', 'none', 'read']);
      for (const body of [
        { success: false },
        { ...best, success: false },
        { ...best, ok: 0, error: { code: 'E17', message: 'not today' } },
        { ...best, errors: [{ message: 'not today' }] },
        { status: 'error', message: 'not today' },
      ]) {
        const verdict = said(expected, body);
        expect(verdict, JSON.stringify(body)).to.include({ kind: 'invalid', saysFailed: true });
        expect(verdict)
          .to.have.property('reason')
          .that.matches(/^HTTP 200, but it says that it failed \(/);
      }
    });

    it(`proves nothing, whatever else it holds: ${name}`, () => {
      const no = fc.constantFrom(false, 0, null, '', '0', 'false', 'no', 'failed', []);
      const sign = fc.constantFrom('success', 'ok', 'Success', 'isSuccess', 'succeeded');
      const fault = fc.oneof(
        fc.constantFrom<unknown>(true, 1, 'x', { code: 'E' }, [{ field: 'sku' }]),
        fc.string({ minLength: 1 }).map((text) => `x${text}`),
      );
      const mark = fc.oneof(
        fc.tuple(sign, no).map(([key, value]) => ({ [key]: value })),
        fc.tuple(fc.constantFrom('error', 'errors'), fault).map(([key, value]) => ({ [key]: value })),
      );
      const more = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue());
      fc.assert(
        fc.property(mark, more, fc.constantFrom(200, 201, 202, 204), (failure, noise, status) => {
          const verdict = said(expected, { ...noise, ...best, ...failure }, status);
          expect(verdict).to.include({ kind: 'invalid', saysFailed: true });
        }),
        { numRuns: 300 },
      );
    });
  }

  it("gives the service's own words as the reason", () => {
    const body = { success: false, error: { code: 'E17', message: 'period closed' } };
    expect(said(write('order', 'update'), body)).to.have.property(
      'reason',
      'HTTP 200, but it says that it failed (success is false) E17: period closed',
    );
  });

  it('means what the settings say of its code, and of no answer without a mark', () => {
    const named = serviceSettings.parse({
      environment: 'sandbox',
      baseUrl: 'https://sandbox.example.com',
      answers: {
        blocked: [{ status: 200, code: 'TOO_MANY' }],
        alreadyExists: [{ status: 200, code: 'DUPLICATE' }],
        gone: [{ status: 200, code: 'NOT_FOUND' }],
      },
    });
    const judged = (expected: Expectation<{ kind: string }>, body: object) =>
      judge(named, expected, { kind: 'answer', status: 200, headers: {}, body: JSON.stringify(body) }, 0);
    const failed = (code: string) => ({ success: false, error: { code } });
    expect(judged(write('order', 'create'), failed('TOO_MANY'))).to.include({
      kind: 'throttled',
      mayHaveTakenEffect: true,
    });
    expect(judged(write('customer', 'create'), failed('DUPLICATE')).kind).to.equal('conflict');
    expect(judged(write('order', 'delete'), failed('NOT_FOUND')).kind).to.equal('delivered');
    expect(judged(write('order', 'update'), failed('NOT_FOUND')).kind).to.equal('invalid');
    expect(judged(write('customer', 'update'), { code: 'TOO_MANY' }).kind).to.equal('delivered');
  });

  it('needs more than a status to mean something: every failure may have it', () => {
    const answers = (gone: object) =>
      serviceSettings.safeParse({
        environment: 'sandbox',
        baseUrl: 'https://x.example.com',
        answers: { gone: [gone] },
      });
    expect(answers({ status: 200 }).error?.issues[0]?.path.join('.')).to.equal('answers.gone.0');
    for (const gone of [{ status: 200, code: 'NONE' }, { status: 200, pattern: 'no such order' }, { status: 410 }])
      expect(answers(gone).success).to.equal(true);
  });

  it('may say of a missing record that it failed', () => {
    const expected = expectFinding(lookUpOrder, 'order', record, 'key');
    expect(said(expected, { success: false, error: { code: 'not_found' } }, 404)).to.deep.equal({ kind: 'none' });
  });
});
