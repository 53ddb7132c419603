import type { SendRequest } from '../../../src/service/compose-request.js';
import { acknowledgement, orderRecord } from '../wire-client.js';
import { json, lineOf, type SettingCase, verdictOf, type WireRun } from './wire-case.js';

const order = JSON.stringify(orderRecord);
const customer = JSON.stringify({ customer_code: 'C1', name: 'Ä' });

/** An endpoint that something is sent to, and a request for it. */
const written: [name: string, send: Partial<SendRequest>, oddMethod: string, body: unknown][] = [
  ['createCustomer', { entity: 'customer', body: customer, record: customer }, 'PUT', {}],
  ['createOrder', { body: order, record: order }, 'PUT', acknowledgement],
  [
    'updateCustomer',
    { entity: 'customer', operation: 'update', body: '{"name":"B"}', record: customer, serviceId: 'C1' },
    'POST',
    {},
  ],
  ['updateOrder', { operation: 'update', body: '{"note":"B"}', record: order, serviceId: 'O-1' }, 'POST', {}],
  [
    'deleteCustomer',
    { entity: 'customer', operation: 'delete', body: '', record: customer, serviceId: 'C1' },
    'POST',
    {},
  ],
  ['deleteOrder', { operation: 'delete', body: '', record: order, serviceId: 'O-1' }, 'POST', {}],
];

const writtenCases = written.flatMap(([name, send, method, body]): SettingCase[] => {
  const base = { send, replies: [json(202, body)] };
  const setting = (leaf: string, value: unknown) => ({
    setting: `service.endpoints.${name}.${leaf}`,
    service: { endpoints: { [name]: { [leaf]: value } } },
  });
  return [
    {
      ...base,
      ...setting('method', method),
      observe: ({ requests }) => requests.map((one) => one.method),
      expected: [method],
    },
    {
      ...base,
      ...setting('path', '/v9/{customer_code}/odd'),
      observe: ({ requests }) => requests.map(({ path }) => path),
      expected: ['/v9/C1/odd'],
    },
    { ...base, ...setting('successStatus', 202), observe: verdictOf, expected: 'delivered' },
  ];
});

const findingOf = ({ lookedUp }: WireRun) => {
  const verdict = lookedUp?.verdict;
  return verdict?.kind === 'found' ? { id: verdict.serviceId, total: verdict.total } : (verdict?.kind ?? null);
};
const found = { id: 'S-1', nr: 'S-2', note: orderRecord.note, customer_code: 'C1', code: 'C1', sum: 9 };

/** A search for a record, one setting at a time against a search of the simplest kind. */
function searchCases(name: 'lookUpCustomer' | 'lookUpOrder'): SettingCase[] {
  const entity = name === 'lookUpOrder' ? 'order' : 'customer';
  const simple = { path: '/v1/find', id: 'id', match: { customer_code: '{customer_code}' } };
  const at = (endpoint: object) => ({ endpoints: { [name]: endpoint } });
  const one = (
    leaf: string,
    change: object,
    reply: ReturnType<typeof json>,
    observe: SettingCase['observe'],
    expected: unknown,
  ): SettingCase => ({
    setting: `service.endpoints.${name}.${leaf}`,
    service: at({ ...simple, ...change }),
    usual: at(simple),
    lookUp: entity,
    send: { entity, body: order, record: order },
    replies: [reply],
    observe,
    expected,
  });
  const it = { id: 'S-1', total: null };
  return [
    one('path', { path: '/v9/{customer_code}' }, json(200, found), lineOf, 'GET /v9/C1'),
    one('query', { query: { q: '{customer_code}' } }, json(200, found), lineOf, 'GET /v1/find?q=C1'),
    one('successStatus', { successStatus: 203 }, json(203, found), findingOf, it),
    one('absentStatus', { absentStatus: 410 }, json(410, {}), findingOf, 'none'),
    one('list', { list: 'data' }, json(200, { data: [found] }), findingOf, it),
    one('id', { id: 'nr' }, json(200, found), findingOf, { id: 'S-2', total: null }),
    one('match', { match: { code: '{customer_code}' } }, json(200, { ...found, customer_code: 'C2' }), findingOf, it),
    one('total', { total: 'sum' }, json(200, found), findingOf, { id: 'S-1', total: 9 }),
  ];
}

const shown = { lookUp: 'customer' as const, send: { entity: 'customer' as const, body: customer, record: customer } };

/** The address of each kind of request, and the status that means that it was done. */
export const endpointCases: readonly SettingCase[] = [
  ...writtenCases,
  ...searchCases('lookUpCustomer'),
  ...searchCases('lookUpOrder'),
  {
    ...shown,
    setting: 'service.endpoints.readCustomer.path',
    service: { endpoints: { readCustomer: { path: '/v9/{customer_code}' } } },
    replies: [json(200, { customer_code: 'C1' })],
    observe: lineOf,
    expected: 'GET /v9/C1',
  },
  {
    ...shown,
    setting: 'service.endpoints.readCustomer.successStatus',
    service: { endpoints: { readCustomer: { successStatus: 203 } } },
    replies: [json(203, { customer_code: 'C1' })],
    observe: findingOf,
    expected: { id: 'C1', total: null },
  },
];
