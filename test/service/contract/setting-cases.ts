import { tell } from '../../../src/words/words.js';
import { acknowledgement, created } from '../wire-client.js';
import { endpointCases } from './endpoint-cases.js';
import { headerOf, json, lineOf, reasonOf, type SettingCase, verdictOf, type WireRun } from './wire-case.js';

const customerBody = JSON.stringify({ customer_code: 'C1', name: 'Ä' });
const customer = { entity: 'customer', body: customerBody, record: customerBody } as const;
const removal = { operation: 'delete', body: '', record: '{"customer_code":"C1"}', serviceId: 'O-1' } as const;
const token = json(200, { access_token: 'access-1', token_type: 'Bearer', expires_in: 3600 });
const oauth = (more: object) => (url: string) => ({
  token: undefined,
  credential: { kind: 'oauth', tokenUrl: `${url}/token`, clientId: 'us', clientSecret: 'canary', ...more },
});
/** The requests for a token. */
const asked = ({ requests: [first] }: WireRun) => ({
  path: first?.path,
  authorization: first?.headers.authorization,
  body: Object.fromEntries(new URLSearchParams(first?.body)),
});
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
const askedByBasic = { path: '/token', authorization: basic('us', 'canary') };
const granted = { grant_type: 'client_credentials' };

/** An acknowledgement with one field at another place. */
const moved = (field: keyof typeof acknowledgement, place: string) => {
  const { [field]: value, ...rest } = acknowledgement;
  return json(201, { ...rest, [place]: { it: value } });
};
const acknowledgedAs = ({ sent: { verdict } }: WireRun) =>
  verdict.kind === 'delivered' ? { id: verdict.serviceId, state: verdict.state ?? null } : verdict.kind;
const odd = (status: number) => json(status, { error: { code: 'E1', message: 'odd' } });
const existing = { error: { code: 'already_exists', message: 'there', customer: { code: 'C1', customer_code: 'C1' } } };
const existingOf = ({ sent: { verdict } }: WireRun) =>
  verdict.kind === 'conflict' ? (verdict.existing?.serviceId ?? null) : null;
const wide = {
  kind: 'answer' as const,
  status: 201,
  body: JSON.stringify({ ...acknowledgement, pad: 'x'.repeat(999) }),
};

const answerCase = (name: string, expected: string, send: SettingCase['send'] = {}): SettingCase => ({
  setting: `service.answers.${name}`,
  service: { answers: { [name]: [{ status: 418, code: 'E1', pattern: 'odd' }] } },
  send,
  replies: [odd(418)],
  observe: verdictOf,
  expected,
});

/** Every setting of the profile that shows on the wire, or in what is made of an answer. The rest: `provenElsewhere`. */
export const settingCases: readonly SettingCase[] = [
  ...endpointCases,
  {
    setting: 'service.baseUrl',
    service: (url) => ({ baseUrl: `${url}/api` }),
    replies: [created],
    observe: lineOf,
    expected: 'POST /api/v1/orders',
  },
  {
    setting: 'service.token',
    service: { token: 'canary-other' },
    replies: [created],
    observe: headerOf('authorization'),
    expected: 'Bearer canary-other',
  },
  {
    setting: 'service.deadlineSeconds',
    service: { deadlineSeconds: 0.15 },
    usual: { deadlineSeconds: 0.45 },
    replies: [{ kind: 'hang' }],
    observe: ({ sent }) => [sent.verdict.kind, (sent.durationMs ?? 0) < 400],
    expected: ['in_doubt', true],
  },
  {
    setting: 'service.maxResponseBytes',
    service: { maxResponseBytes: 500 },
    replies: [wide],
    observe: verdictOf,
    expected: 'in_doubt',
  },
  {
    setting: 'service.maxRequestBytes',
    service: { maxRequestBytes: 20 },
    replies: [created],
    observe: ({ requests }) => requests.length,
    expected: 0,
  },
  {
    setting: 'service.limits',
    service: { limits: [{ requests: 1, perSeconds: 600 }] },
    replies: [created],
    observe: ({ client }) => client.rateLimiter.usedUp && tell(client.rateLimiter.usedUp.reason),
    expected: '1 requests in 600 s are used up',
  },
  {
    setting: 'service.checkTotal',
    service: { checkTotal: 'off' },
    replies: [json(201, { ...acknowledgement, total: 1 })],
    observe: ({ sent: { verdict } }) => verdict.kind === 'delivered' && verdict.flag === null,
    expected: true,
  },
  {
    setting: 'service.blockedSeconds',
    service: { answers: { blocked: [{ status: 418 }] }, blockedSeconds: 7 },
    usual: { answers: { blocked: [{ status: 418 }] } },
    replies: [odd(418)],
    observe: ({ sent: { verdict } }) => verdict.kind === 'throttled' && verdict.retryAfterMs,
    expected: 7_000,
  },
  {
    setting: 'service.credential.kind',
    service: { credential: { kind: 'apiKey' }, token: 'canary-key' },
    replies: [created],
    observe: headerOf('x-api-key'),
    expected: 'canary-key',
  },
  {
    setting: 'service.credential.header',
    service: { credential: { kind: 'apiKey', header: 'X-Key' }, token: 'canary-key' },
    usual: { credential: { kind: 'apiKey' }, token: 'canary-key' },
    replies: [created],
    observe: headerOf('x-key'),
    expected: 'canary-key',
  },
  {
    setting: 'service.credential.scheme',
    service: { credential: { kind: 'apiKey', header: 'Authorization', scheme: 'Key' }, token: 'canary-key' },
    usual: { credential: { kind: 'apiKey', header: 'Authorization' }, token: 'canary-key' },
    replies: [created],
    observe: headerOf('authorization'),
    expected: 'Key canary-key',
  },
  ...(
    [
      ['tokenUrl', {}, { ...askedByBasic, body: granted }],
      ['clientId', { clientId: 'them' }, { ...askedByBasic, authorization: basic('them', 'canary'), body: granted }],
      [
        'clientSecret',
        { clientSecret: 'another' },
        { ...askedByBasic, authorization: basic('us', 'another'), body: granted },
      ],
      [
        'authentication',
        { authentication: 'post' },
        { path: '/token', authorization: undefined, body: { ...granted, client_id: 'us', client_secret: 'canary' } },
      ],
      ['scope', { scope: 'orders' }, { ...askedByBasic, body: { ...granted, scope: 'orders' } }],
      ['audience', { audience: 'they' }, { ...askedByBasic, body: { ...granted, audience: 'they' } }],
      ['resource', { resource: 'urn:x' }, { ...askedByBasic, body: { ...granted, resource: 'urn:x' } }],
    ] as const
  ).map(
    ([name, more, expected]): SettingCase => ({
      setting: `service.credential.${name}`,
      service: oauth(more),
      usual: name === 'tokenUrl' ? {} : oauth({}),
      replies: [token, created],
      observe: asked,
      expected,
    }),
  ),
  {
    setting: 'service.idempotency.header',
    service: { idempotency: { header: 'X-Code' } },
    replies: [created],
    observe: headerOf('x-code'),
    expected: 'key-1',
  },
  {
    setting: 'service.idempotency.quoted',
    service: { idempotency: { quoted: true } },
    replies: [created],
    observe: headerOf('idempotency-key'),
    expected: '"key-1"',
  },
  {
    setting: 'service.idempotency.comparesBodies',
    service: { idempotency: { comparesBodies: false } },
    replies: [json(422, { error: { code: 'idempotency_key_reused', message: 'other body' } })],
    observe: verdictOf,
    expected: 'refused',
  },
  ...(
    [
      ['orderId', 'order_id', { id: 'O-1', state: 'accepted' }],
      ['orderState', 'status', { id: 'O-1', state: 'accepted' }],
    ] as const
  ).map(
    ([name, field, expected]): SettingCase => ({
      setting: `service.acknowledgement.${name}`,
      service: { acknowledgement: { [name]: 'moved.it' } },
      replies: [moved(field, 'moved')],
      observe: acknowledgedAs,
      expected,
    }),
  ),
  {
    setting: 'service.acknowledgement.orderTotal',
    service: { acknowledgement: { orderTotal: 'moved.it' } },
    replies: [moved('total', 'moved')],
    observe: ({ sent: { verdict } }) => verdict.kind === 'delivered' && (verdict.total ?? null),
    expected: acknowledgement.total,
  },
  {
    setting: 'service.acknowledgement.customerId',
    service: { acknowledgement: { customerId: 'id' } },
    send: customer,
    replies: [json(201, { id: 'cus-1' })],
    observe: acknowledgedAs,
    expected: { id: 'cus-1', state: null },
  },
  {
    setting: 'service.acknowledgement.customerState',
    service: { acknowledgement: { customerState: 'state' } },
    send: customer,
    replies: [json(201, { state: 'new' })],
    observe: acknowledgedAs,
    expected: { id: 'C1', state: 'new' },
  },
  answerCase('inProgress', 'busy'),
  answerCase('keyReused', 'conflict'),
  answerCase('alreadyExists', 'conflict', customer),
  answerCase('unknownCustomer', 'unknown_customer'),
  answerCase('gone', 'delivered', removal),
  answerCase('blocked', 'throttled'),
  {
    setting: 'service.adoption.customers',
    service: { adoption: { customers: 'off', answerRecord: 'error.customer' } },
    usual: { adoption: { answerRecord: 'error.customer' } },
    send: customer,
    replies: [json(409, existing)],
    observe: existingOf,
    expected: null,
  },
  {
    setting: 'service.adoption.answerRecord',
    service: { adoption: { answerRecord: 'error.customer' } },
    send: customer,
    replies: [json(409, existing)],
    observe: existingOf,
    expected: 'C1',
  },
  {
    setting: 'service.adoption.codeField',
    service: { adoption: { answerRecord: 'error.customer', codeField: 'code' } },
    usual: { adoption: { answerRecord: 'error.customer' } },
    send: customer,
    replies: [json(409, { error: { code: 'already_exists', customer: { code: 'C1' } } })],
    observe: existingOf,
    expected: 'C1',
  },
  {
    setting: 'service.adoption.idField',
    service: {
      acknowledgement: { customerId: 'data.id' },
      adoption: { answerRecord: 'error.customer', idField: 'code' },
    },
    usual: { acknowledgement: { customerId: 'data.id' }, adoption: { answerRecord: 'error.customer' } },
    send: customer,
    replies: [json(409, existing)],
    observe: existingOf,
    expected: 'C1',
  },
  {
    setting: 'service.errorBody.code',
    service: { errorBody: { code: ['fault.no'] } },
    replies: [json(400, { fault: { no: 7 }, message: 'wrong' })],
    observe: reasonOf,
    expected: 'HTTP 400 7: wrong',
  },
  {
    setting: 'service.errorBody.message',
    service: { errorBody: { message: ['fault.text'] } },
    replies: [json(400, { fault: { text: 'bad sku' } })],
    observe: reasonOf,
    expected: 'HTTP 400: bad sku',
  },
  {
    setting: 'service.errorBody.details',
    service: { errorBody: { details: ['fault.fields'] } },
    replies: [json(400, { message: 'wrong', fault: { fields: [{ field: 'sku', message: 'is unknown' }] } })],
    observe: reasonOf,
    expected: 'HTTP 400: wrong (sku: is unknown)',
  },
];
