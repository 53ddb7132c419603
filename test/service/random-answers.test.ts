import { expect } from 'chai';
import fc from 'fast-check';
import type { LookUpEndpoint } from '../../src/config/sections/service-endpoints.js';
import type { ReadAnswer } from '../../src/model/verdict.js';
import type { SendRequest } from '../../src/service/compose-request.js';
import type { Sent } from '../../src/service/service-client.js';
import type { Clock } from '../../src/store/clock.js';
import { tell } from '../../src/words/words.js';
import { isFullMatrix } from '../store/stores.js';
import { type PlayedAnswer, playing } from './stand-in-client.js';
import { acknowledgement, Clients, orderRecord, page, sending, token } from './wire-client.js';

/** The long form: WAYBILL_RANDOM_ANSWERS=100000 npm test. */
const numRuns = Number(process.env.WAYBILL_RANDOM_ANSWERS ?? (isFullMatrix ? 5_000 : 4_000));

interface Answered {
  status: number;
  headers: Record<string, string | string[]>;
  bytes: Buffer;
  /** The places where the body is cut into pieces. */
  pieces: number;
  breaksOff: boolean;
}
type Answer = Answered | { code: string; message: string };

const customer = JSON.stringify({ customer_code: 'C1', name: 'Ä' });
const order = JSON.stringify(orderRecord);
const requests = {
  createOrder: {},
  createCustomer: { entity: 'customer', body: customer, record: customer },
  updateOrder: { operation: 'update', body: '{"note":"x"}', record: order, serviceId: 'O-1' },
  deleteOrder: { operation: 'delete', body: '', record: order, serviceId: 'O-1' },
} satisfies Record<string, Partial<SendRequest>>;
const successes = { createOrder: 201, createCustomer: 201, updateOrder: 200, deleteOrder: 204 };
type RequestName = keyof typeof requests;

const status = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(200, 201, 204) },
  fc.constantFrom(202, 302, 400, 401, 403, 404, 408, 409, 410, 422, 429, 500, 502, 503),
  fc.integer({ min: 100, max: 999 }),
);
const value = fc.oneof(
  fc.constantFrom<unknown>('O-1', 'O-2', 'C1', '', null, 17, 1300, -1, 1.5, 2 ** 53, '2026-06-01T12:00:00Z', [], {}),
  fc.constantFrom(token, `Bearer ${token}`, 'already exists', 'in progress', 'idempotency', 'customer'),
  fc.string({ unit: 'binary' }),
  fc.jsonValue(),
);
const fields = fc.dictionary(
  fc.constantFrom('order_id', 'status', 'created_at', 'total', 'customer_code', 'error', 'code', 'message', 'errors'),
  value,
);
const text = fc.oneof(
  { weight: 3, arbitrary: fields.map((some) => JSON.stringify({ ...acknowledgement, ...some })) },
  fields.map((some) => JSON.stringify(some)),
  fc.tuple(fields, fc.nat(80)).map(([some, at]) => JSON.stringify({ ...acknowledgement, ...some }).slice(0, at)),
  fc.integer().map((total) => JSON.stringify({ ...acknowledgement, total })),
  fc
    .constantFrom('already exists', 'in progress', 'idempotency', 'customer')
    .map((message) => JSON.stringify({ ...acknowledgement, error: { message } })),
  fc.constantFrom('', '{}', 'null', '[', `<html>${token}`, `${JSON.stringify(acknowledgement)} x`),
  fc.json(),
);
const bytes = fc.oneof(
  { weight: 5, arbitrary: text.map((some) => Buffer.from(some)) },
  fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some)),
  fc.tuple(text, fc.nat(200), fc.integer({ min: 128, max: 255 })).map(([some, at, byte]) => {
    const buffer = Buffer.from(some);
    if (at < buffer.length) buffer[at] = byte;
    return buffer;
  }),
  fc.constantFrom(Buffer.alloc(20_000, 'x'), Buffer.from(JSON.stringify({ ...acknowledgement, p: 'x'.repeat(9_000) }))),
);
const headerText = fc.oneof(
  fc.string(),
  fc.nat().map(String),
  fc.constantFrom('0', '-1', '1e9', '99999999999', '"a";r=0;t=9', '"a";q=1;w=9', '@1', 'true', 'soon', token),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
);
const headers = fc.dictionary(
  fc.oneof(
    fc.constantFrom('retry-after', 'Retry-After', 'ratelimit', 'ratelimit-policy', 'x-ratelimit-remaining'),
    fc.constantFrom('x-ratelimit-reset', 'deprecation', 'sunset', 'content-type', 'x-request-id', 'location'),
    fc.constantFrom('__proto__', 'constructor', 'set-cookie', 'content-length', 'transfer-encoding'),
    fc.string({ minLength: 1 }),
  ),
  fc.oneof({ weight: 6, arbitrary: headerText }, fc.array(headerText, { maxLength: 3 })),
);
const answer: fc.Arbitrary<Answer> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      status,
      headers,
      bytes,
      pieces: fc.integer({ min: 1, max: 4 }),
      breaksOff: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
    }),
  },
  fc.record({
    code: fc.oneof(
      fc.constantFrom('ECONNRESET', 'ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT', 'ECONNABORTED', 'EPROTO'),
      fc.constantFrom('ERR_CANCELED', 'CERT_HAS_EXPIRED', 'HPE_INVALID_CONSTANT', ''),
      fc.string(),
    ),
    message: fc.oneof(fc.string(), fc.constant(`failed with ${token}`)),
  }),
);

function* cut({ bytes: all, pieces }: Answered): Generator<Buffer> {
  const size = Math.max(1, Math.ceil(all.length / pieces));
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size);
}

/** As it comes over the network. */
function played(given: Answer): PlayedAnswer | Error {
  if ('code' in given) return Object.assign(new Error(given.message), { code: given.code });
  const error = given.breaksOff ? Object.assign(new Error('aborted'), { code: 'ECONNRESET' }) : null;
  return { status: given.status, headers: given.headers, pieces: cut(given), error };
}

/** True if this answer acknowledges that request, worked out without a line of the client. */
function acknowledges(name: RequestName, given: Answer): boolean {
  if ('code' in given || given.breaksOff || given.bytes.length > 8_000) return false;
  if (name === 'deleteOrder' && given.status === 410) return true;
  if (given.status !== successes[name]) return false;
  if (given.bytes.length === 0) return name !== 'createOrder';
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(given.bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return false;
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  const id = body.order_id;
  if (name === 'createCustomer') return body.customer_code === undefined || body.customer_code === 'C1';
  if (name !== 'createOrder') return id === undefined || id === 'O-1';
  return (
    (typeof id === 'string' || typeof id === 'number') &&
    id !== '' &&
    ((body.total ?? null) === null || Number.isSafeInteger(body.total))
  );
}

function check(name: RequestName, given: Answer, { verdict, ...rest }: Sent): void {
  if (verdict.kind === 'delivered') expect(acknowledges(name, given)).to.equal(true);
  if (verdict.kind === 'refused') {
    expect('code' in given || given.breaksOff).to.equal(false);
    const { status: code } = given as Answered;
    expect(code >= 400 && code < 500 && code !== 408).to.equal(true);
  }
  // Only what is known to come before the first byte.
  if (verdict.kind === 'unavailable') expect('code' in given).to.equal(true);
  if (verdict.kind === 'throttled' && verdict.retryAfterMs !== null)
    expect(verdict.retryAfterMs).to.be.within(0, 86_400_000);
  if ('reason' in verdict) expect(tell(verdict.reason).length).to.be.within(1, 1_000);
  expect(verdict.kind).to.not.equal('not_sent');
  expect(JSON.stringify({ verdict, ...rest })).to.not.include(token);
}

const lookUpOrder: LookUpEndpoint = {
  path: '/v1/orders',
  query: {},
  successStatus: 200,
  absentStatus: 404,
  id: 'order_id',
  match: { customer_code: '{customer_code}' },
  absenceProves: false,
};

/** A page is what was asked for, and read by its exact words; everything else is kept and shown. */
function withoutPage({ verdict, ...rest }: Sent<ReadAnswer<unknown>>): object {
  return verdict.kind === 'read' ? rest : { verdict, ...rest };
}

describe('whatever comes from the network', function () {
  this.timeout(60_000 + numRuns * 5);
  const clients = new Clients();
  afterEach(() => clients.closeAll());

  it(`crashes nothing, shows no token, and delivers only what is acknowledged (${numRuns} answers)`, async () => {
    let given: Answer = { code: '', message: '' };
    let now = 0;
    // Time passes only where somebody waits for it.
    const clock: Clock = {
      monotonicMs: () => now,
      sleep: async (ms) => {
        now += ms;
      },
      after: () => () => undefined,
    };
    const settings = { maxResponseBytes: 8_000, limits: [] };
    const more = { openClient: playing(() => played(given)), clock };
    const client = clients.at('http://service.example.com', settings, 0, more);
    let ask = 0;
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...(Object.keys(requests) as RequestName[])), answer, async (name, drawn) => {
        given = drawn;
        client.rateLimiter.forgetAdvice();
        const sent = await client.send(sending(requests[name]));
        check(name, drawn, sent);
        if (ask++ % 5 === 0) {
          const asking = { gate: { ask: async () => null } };
          const looked = await client.lookUp(
            lookUpOrder,
            { entity: 'order', record: order, idempotencyKey: 'key-1' },
            asking,
          );
          // A found record keeps only fields of ours.
          if (looked.verdict.kind === 'found') looked.verdict.shown = {};
          const shown = [looked, withoutPage(await client.read(page(), asking))];
          expect(JSON.stringify(shown)).to.not.include(token);
        }
        seen.set(sent.verdict.kind, (seen.get(sent.verdict.kind) ?? 0) + 1);
      }),
      { numRuns },
    );
    const kinds = ['delivered', 'in_doubt', 'invalid', 'unavailable', 'throttled', 'unauthorised', 'misconfigured'];
    for (const kind of [...kinds, 'busy', 'conflict', 'refused'])
      expect(seen.get(kind) ?? 0, `${kind}, or this proves nothing`).to.be.greaterThan(
        kind === 'delivered' ? numRuns / 50 : 0,
      );
  });
});
