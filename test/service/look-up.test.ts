import { expect } from 'chai';
import { serviceSettings } from '../../src/config/sections/service.js';
import type { LookUpEndpoint } from '../../src/config/sections/service-endpoints.js';
import { legacy } from '../../src/model/facts/fact.js';
import { judge } from '../../src/service/judge.js';
import { customerInAnswer, existingCustomerEndpoint, expectFinding, lookUpAddress } from '../../src/service/look-up.js';
import type { WireExchange } from '../../src/service/wire/wire-exchange.js';
import { told } from '../support/told.js';

const endpoint: LookUpEndpoint = {
  path: '/v1/orders',
  query: { note: '{note}', idempotency_key: '{idempotency_key}' },
  successStatus: 200,
  absentStatus: 404,
  list: 'data',
  id: 'order_id',
  match: { note: '{note}' },
  total: 'total',
  absenceProves: false,
};
const record = { customer_code: 'K1', note: 'SO-7', items: [{ sku: 'A', qty: 2, price: 50 }] };
const answer = (body: unknown, status = 200): WireExchange => ({
  kind: 'answer',
  status,
  headers: {},
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const service = (over: object = {}) =>
  serviceSettings.parse({ environment: 'sandbox', baseUrl: 'https://sandbox.example.com', ...over });
const judged = (at: LookUpEndpoint, ours: typeof record | { customer_code: string }, exchange: WireExchange) =>
  judge(service(), expectFinding(at, 'order', ours, 'key-1'), exchange, 0);
const read = (exchange: WireExchange, over: Partial<LookUpEndpoint> = {}) =>
  judged({ ...endpoint, ...over }, record, exchange);

describe('a look-up at the service', () => {
  it('asks by fields of the record and by the key', () => {
    expect(lookUpAddress(endpoint, record, 'key-1')).to.deep.equal({
      path: '/v1/orders',
      query: { note: 'SO-7', idempotency_key: 'key-1' },
    });
    const byCode = { ...endpoint, path: '/v1/customers/{customer_code}', query: {} };
    expect(lookUpAddress(byCode, { customer_code: 'a/b' }, '')).to.deep.equal({
      path: '/v1/customers/a%2Fb',
      query: {},
    });
  });

  it('fills names inside JSON, and leaves its braces as they are', () => {
    const query = { where: '{"reference":"{note}","open":{"is":true}}' };
    expect(lookUpAddress({ ...endpoint, query }, record, 'k')).to.have.deep.property('query', {
      where: '{"reference":"SO-7","open":{"is":true}}',
    });
  });

  it('does not ask by what is empty or would be another address', () => {
    expect(lookUpAddress(endpoint, { ...record, note: '' }, 'k')).to.have.property('problem');
    expect(lookUpAddress(endpoint, { customer_code: 'K1' }, 'k')).to.have.property('problem');
    const byCode = { ...endpoint, path: '/v1/customers/{customer_code}', query: {} };
    expect(lookUpAddress(byCode, { customer_code: '..' }, 'k')).to.have.property('problem');
  });

  it('compares the lines that it is shown, in whatever order, and leaves aside what says nothing', () => {
    const two = { ...record, items: [...record.items, { sku: 'B', qty: 1, price: 7 }] };
    const differs = (items: unknown) => {
      const found = { order_id: 'o1', note: 'SO-7', total: 107, items };
      const finding = judged(endpoint, two, answer({ data: [found] }));
      return finding.kind === 'found' ? finding.differs : finding;
    };
    const [a, b] = two.items;
    expect(differs([b, { ...a, id: 77, price: '50' }])).to.deep.equal([]);
    expect(differs([a])).to.deep.equal(['items']);
    expect(differs([a, { ...b, sku: 'C' }])).to.deep.equal(['items']);
    expect(differs([{ sku: 'A' }, { sku: 'B' }]), 'amounts are not shown').to.deep.equal([]);
    expect(differs([41, 42]), 'ids of lines').to.deep.equal([]);
  });

  it('finds exactly one', () => {
    const found = { order_id: 'o1', note: 'SO-7', total: 100, customer_code: 'K1' };
    expect(read(answer({ data: [found] }))).to.deep.equal({
      kind: 'found',
      serviceId: 'o1',
      total: 100,
      differs: [],
      shown: found,
    });
    expect(read(answer({ data: [{ ...found, customer_code: 'K2' }] }))).to.deep.include({ differs: ['customer_code'] });
    const neighbour = { ...found, order_id: 'o2', note: 'SO-77' };
    expect(read(answer({ data: [neighbour, found] }))).to.deep.include({ kind: 'found', serviceId: 'o1' });
  });

  it('finds nothing, several, or what proves nothing', () => {
    expect(read(answer({ data: [] }))).to.deep.equal({ kind: 'none' });
    expect(read(answer({ error: 'no such record' }, 404))).to.deep.equal({ kind: 'none' });
    const more = [
      { next: '/v1/orders?page=2' },
      { has_more: true },
      { links: { next: 'x' } },
      { meta: { next_cursor: 'x' } },
    ];
    for (const one of more)
      expect(read(answer({ data: [], ...one })), JSON.stringify(one)).to.deep.equal({
        kind: 'odd',
        reason: { code: 'look_up_goes_on' },
      });
    expect(read(answer({ data: [], next: null, has_more: false, links: { next: null } }))).to.deep.equal({
      kind: 'none',
    });
    const found = { order_id: 'o1', note: 'SO-7' };
    expect(read(answer({ data: [found, { ...found, order_id: 'o2' }] }))).to.deep.equal({ kind: 'several', count: 2 });
    for (const body of ['<html>', '"text"', 'null', { data: {} }, {}, { data: [{ order_id: 'o2', note: 'so-7' }] }])
      expect(read(answer(body)).kind, JSON.stringify(body)).to.equal('odd');
    expect(read(answer({ data: [{ note: 'SO-7' }] })).kind).to.equal('odd');
    expect(read(answer({ data: [found] }), { match: {} }).kind, 'nothing to compare').to.equal('odd');
  });

  it('takes no id that an acknowledgement could not name, and no amount that is none', () => {
    for (const id of ['', 1.5, null, 'x'.repeat(256), 'o\u001b[2J', 'o\ufffd', {}, true])
      expect(read(answer({ data: [{ order_id: id, note: 'SO-7' }] })).kind, JSON.stringify(id)).to.equal('odd');
    expect(read(answer({ data: [{ order_id: 'o1', note: 'SO-7', total: 13.5 }] })).kind).to.equal('odd');
    const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    expect(read(answer(`{"data":[{"order_id":"o1","note":"SO-7","items":${nested}}]}`)).kind).to.equal('odd');
  });

  for (const total of ['100.0', '1.00', '1e2', '"1.00"', '"100"'])
    it(`proves nothing with a total of ${total}, which is none in the smallest unit`, () => {
      const text = `{"data":[{"order_id":"o1","note":"SO-7","total":${total}}]}`;
      const { kind, reason } = told(read(answer(text)));
      expect(kind).to.equal('odd');
      expect(reason).to.match(/^total.*smallest unit/);
      const { total: _, ...without } = endpoint;
      expect(judged(without, record, answer(text))).to.include({ kind: 'found', total: null });
    });

  it('takes the answer itself for the record where the endpoint has no list', () => {
    const { list: _, ...single } = endpoint;
    const one = judged(single, record, answer({ order_id: 7, note: 'SO-7' }));
    expect(one).to.deep.include({ kind: 'found', serviceId: '7', total: null, differs: [] });
  });

  it('looks into envelopes, and compares with what is inside', () => {
    const inside = { id: 'o1', note: 'SO-7', customer_code: 'K2', sum: { amount: 100 } };
    const over = {
      list: 'result.orders',
      id: 'order.id',
      match: { 'order.note': '{note}' },
      total: 'order.sum.amount',
    };
    expect(read(answer({ result: { orders: [{ order: inside }] } }), over)).to.deep.equal({
      kind: 'found',
      serviceId: 'o1',
      total: 100,
      differs: ['customer_code'],
      shown: inside,
    });
    expect(read(answer({ result: [] }), over).kind).to.equal('odd');
  });

  it('says nothing when the service does not answer the question', () => {
    const failures: [WireExchange, string][] = [
      [answer({ data: [] }, 401), 'unauthorised'],
      [answer({ data: [] }, 403), 'misconfigured'],
      [answer({ data: [] }, 429), 'throttled'],
      [answer({ data: [] }, 500), 'in_doubt'],
      [answer({ data: [] }, 503), 'in_doubt'],
      [answer({ data: [] }, 302), 'misconfigured'],
      [{ kind: 'timeout', reason: legacy('late') }, 'in_doubt'],
      [{ kind: 'cut_off', status: 200, headers: {}, reason: legacy('broke off') }, 'in_doubt'],
      [{ kind: 'not_sent', reason: legacy('paused') }, 'not_sent'],
    ];
    for (const [exchange, kind] of failures) expect(read(exchange).kind).to.equal(kind);
  });
});

describe('a customer that is at the service already', () => {
  const ours = { customer_code: 'K1', name: 'Ours' };
  const adopted = (over: object, shown: object) => {
    const how = existingCustomerEndpoint(service(over)) as LookUpEndpoint;
    const finding = judged(how, ours, answer(shown));
    return finding.kind === 'found' ? finding : null;
  };

  it('is known by its code where the service gives no ids', () => {
    expect(adopted({}, { customer_code: 'K1', id: 'cus_991' })?.serviceId).to.equal('K1');
    const over = { adoption: { codeField: 'code' } };
    expect(adopted(over, { code: 'K1', id: 'cus_991' })?.serviceId).to.equal('K1');
    const enveloped = { acknowledgement: { customerId: 'data.customer_code' } };
    expect(adopted(enveloped, { customer_code: 'K1', id: 'cus_991' })?.serviceId).to.equal('K1');
  });

  it('is known by the id that the service gave it where it gives ids, never by our code', () => {
    const over = { acknowledgement: { customerId: 'id' }, adoption: { answerRecord: 'error.customer' } };
    expect(adopted(over, { customer_code: 'K1', id: 'cus_991' })?.serviceId).to.equal('cus_991');
    expect(adopted(over, { customer_code: 'K1' }), 'an answer without the id').to.equal(null);
    const carried = JSON.stringify({ error: { customer: { customer_code: 'K1', id: 'cus_991' } } });
    expect(customerInAnswer(service(over), ours, carried)?.serviceId).to.equal('cus_991');
  });

  it('is found in an envelope, and compared with what is inside', () => {
    const over = { acknowledgement: { customerId: 'data.id' }, adoption: { codeField: 'data.customer_code' } };
    const inside = { customer_code: 'K1', id: 'cus_991', name: 'Theirs' };
    expect(adopted(over, { data: inside })).to.deep.include({ serviceId: 'cus_991', differs: ['name'], shown: inside });
  });
});
