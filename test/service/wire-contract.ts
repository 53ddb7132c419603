import { inspect } from 'node:util';
import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import type { VerdictKind } from '../../src/model/verdict.js';
import { told } from '../support/told.js';
import {
  acknowledgement,
  Clients,
  created,
  orderRecord,
  page,
  sending,
  serviceAt,
  timed,
  token,
} from './wire-client.js';
import type { Reply, WireLab } from './wire-lab.js';

/** The behaviour of the client on a wire, whichever way the wire is made. */
export function wireContract(makeLab: () => WireLab): void {
  let lab: WireLab;
  const clients = new Clients();

  beforeEach(async () => {
    lab = makeLab();
    clients.openClient = lab.openClient;
    await lab.open();
  });
  afterEach(async () => {
    clients.closeAll();
    await lab.close();
  });

  it('creates an order: path, headers and body as the service wants them, and one request', async () => {
    lab.script(created);
    const sent = await clients.at(lab.url).send(sending());
    expect(sent.verdict).to.deep.equal({
      kind: 'delivered',
      serviceId: 'O-1',
      flag: null,
      state: 'accepted',
      total: 1300,
    });
    expect(sent).to.include({ status: 201 });
    expect(sent.startedAtMs).to.be.a('number');
    expect(lab.requests).to.have.length(1);
    const [request] = lab.requests;
    expect(request).to.include({ method: 'POST', path: '/v1/orders' });
    expect(request?.headers).to.include({
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': 'key-1',
    });
    expect(JSON.parse(request?.body ?? '')).to.deep.equal(orderRecord);
  });

  it('gives each attempt a trace of its own where the settings ask for it, and otherwise none', async () => {
    lab.script(created, created, created);
    const client = clients.at(lab.url, { traceparent: true });
    const ids = [(await client.send(sending())).traceId, (await client.send(sending())).traceId];
    expect(new Set(ids).size).to.equal(2);
    expect((await clients.at(lab.url).send(sending())).traceId).to.equal(undefined);
    const carried = lab.requests.map(({ headers }) => /^00-(\w{32})-\w{16}-01$/.exec(headers.traceparent ?? '')?.[1]);
    expect(carried).to.deep.equal([...ids, undefined]);
    expect(lab.requests[0]?.headers['idempotency-key']).to.equal('key-1');
  });

  it('creates a customer and takes its own code for the id', async () => {
    lab.script({ kind: 'answer', status: 201, body: '{}' });
    const body = JSON.stringify({ customer_code: 'C 1/ä', name: 'Ä' });
    const { verdict } = await clients.at(lab.url).send(sending({ entity: 'customer', body, record: body }));
    expect(verdict).to.deep.equal({ kind: 'delivered', serviceId: 'C 1/ä', flag: null });
    expect(lab.requests[0]?.path).to.equal('/v1/customers');
  });

  it('updates at the path of the acknowledged id, encoded so that it stays in its place', async () => {
    lab.script({ kind: 'answer', status: 200, body: '{}' });
    const client = clients.at(lab.url);
    const update = { operation: 'update', body: '{"note":"x"}', record: JSON.stringify(orderRecord) } as const;
    await client.send(sending({ ...update, serviceId: 'O/1?x=ä#' }));
    await client.send(sending({ ...update, entity: 'customer', serviceId: '../orders' }));
    expect(lab.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      'PATCH /v1/orders/O%2F1%3Fx%3D%C3%A4%23',
      'PATCH /v1/customers/..%2Forders',
    ]);
  });

  it('sends nothing where an id would change the path, and says so', async () => {
    lab.script({ kind: 'answer', status: 200, body: '{}' });
    const client = clients.at(lab.url);
    for (const serviceId of ['..', '.', null]) {
      const sent = await client.send(sending({ operation: 'update', serviceId }));
      expect(sent.verdict.kind).to.equal('refused');
      expect(sent.startedAtMs).to.equal(null);
    }
    expect(lab.requests).to.deep.equal([]);
  });

  it('puts the key under the name and in the form that the profile asks for', async () => {
    lab.script(created);
    await clients.at(lab.url, { idempotency: { header: 'X-Request-Key', quoted: true } }).send(sending());
    expect(lab.requests[0]?.headers).to.have.property('x-request-key', '"key-1"');
    expect(lab.requests[0]?.headers).to.not.have.property('idempotency-key');
  });

  it('sends no header with a key that the body carries', async () => {
    lab.script(created);
    const body = `{"code":"key-1",${JSON.stringify(orderRecord).slice(1)}`;
    await clients.at(lab.url).send(sending({ body, record: JSON.stringify(orderRecord), keyField: 'code' }));
    expect(lab.requests[0]?.headers).to.not.have.property('idempotency-key');
    expect(JSON.parse(lab.requests[0]?.body ?? '')).to.deep.equal({ code: 'key-1', ...orderRecord });
  });

  it('puts fields of the record and ids of the service into a path', async () => {
    lab.script({ kind: 'answer', status: 200, body: '{}' });
    const record = JSON.stringify({ ...orderRecord, shop: 'a/b', zone: 7 });
    const at = (path: string) => clients.at(lab.url, { endpoints: { updateOrder: { path } } });
    const update = { operation: 'update', body: '{}', record, serviceId: 'O-1' } as const;
    await at('/v3/{shop}/{zone}/{customer_code}/{id}').send(sending(update));
    expect(lab.requests[0]?.path).to.equal('/v3/a%2Fb/7/C1/O-1');
    const { verdict } = await at('/v3/{items}').send(sending(update));
    expect(verdict.kind).to.equal('refused');
    expect(lab.requests).to.have.length(1);
  });

  it('knows a customer by the id that the service gives, where it gives one', async () => {
    const profile = {
      acknowledgement: { customerId: 'id' },
      endpoints: { updateCustomer: { path: '/v1/customers/{id}' } },
    };
    lab.script(
      { kind: 'answer', status: 201, body: '{"id":90071992547409931234}' },
      { kind: 'answer', status: 200, body: '{}' },
    );
    const client = clients.at(lab.url, profile);
    const body = JSON.stringify({ customer_code: 'C1' });
    const made = await client.send(sending({ entity: 'customer', body, record: body }));
    expect(made.verdict).to.deep.include({ kind: 'delivered', serviceId: '90071992547409931234' });
    const update = { entity: 'customer', operation: 'update', body, record: body } as const;
    const changed = await client.send(sending({ ...update, serviceId: '90071992547409931234' }));
    expect(changed.verdict).to.deep.include({ kind: 'delivered', serviceId: '90071992547409931234' });
    expect(lab.requests[1]?.path).to.equal('/v1/customers/90071992547409931234');
  });

  it('sends nothing that is larger than the service takes', async () => {
    lab.script(created);
    const { verdict } = await clients.at(lab.url, { maxRequestBytes: 20 }).send(sending());
    expect(verdict.kind).to.equal('refused');
    expect(told('reason' in verdict && verdict.reason)).to.contain('service.maxRequestBytes');
    expect(lab.requests).to.deep.equal([]);
  });

  it('tells of the end of an endpoint once, and again on the next day when it says something else', async () => {
    const told: string[] = [];
    let daysLater = 0;
    const endpoints = { lookUpOrder: { path: '/v1/orders', id: 'order_id', match: {} } };
    const client = clients.at(lab.url, { endpoints }, 0, {
      nowMs: () => Date.now() + daysLater * 86_400_000,
      onEndpointNotice: ({ endpoint, address, lifecycle }) => told.push(`${endpoint} ${address} ${lifecycle.sunsetAt}`),
    });
    const ending = { ...created, headers: { Deprecation: '@86400', Sunset: 'Fri, 02 Jan 1970 00:00:00 GMT' } };
    const later = { ...created, headers: { Deprecation: '@86400' } };
    lab.script(created, ending, ending, later, later, { ...ending, status: 200 });
    for (let i = 0; i < 4; i++) await client.send(sending());
    expect(told).to.have.length(1);
    daysLater = 1;
    await client.send(sending());
    await client.read(page(), { gate: { ask: async () => null } });
    const { lookUpOrder } = serviceAt(lab.url, {
      endpoints: { lookUpOrder: { path: '/v1/orders', id: 'order_id', match: {} } },
    }).endpoints;
    if (lookUpOrder)
      await client.lookUp(
        lookUpOrder,
        { entity: 'order', record: '{}', idempotencyKey: 'k' },
        { gate: { ask: async () => null } },
      );
    client.close();
    expect(told).to.deep.equal([
      'createOrder POST /v1/orders 86400000',
      'createOrder POST /v1/orders null',
      'listInvoices GET /v2/invoices 86400000',
      'lookUpOrder GET /v1/orders 86400000',
    ]);
  });

  it('keeps the path of a base address, and lets no path leave it', async () => {
    lab.script(created);
    await clients.at(`${lab.url}/api/`).send(sending());
    const client = clients.at(`${lab.url}/api`);
    const gate = { ask: async () => null };
    await client.read(page('http://elsewhere.invalid/steal'), { gate });
    await client.read(page('//elsewhere.invalid/steal'), { gate });
    expect(lab.requests.map(({ path }) => path)).to.deep.equal([
      '/api/v1/orders',
      '/api/http://elsewhere.invalid/steal',
      '/api/elsewhere.invalid/steal',
    ]);
  });

  const answers: [string, Reply, VerdictKind][] = [
    ['an HTML page', { kind: 'answer', status: 201, body: '<html>welcome' }, 'invalid'],
    ['no body', { kind: 'answer', status: 201 }, 'invalid'],
    ['half of the JSON', { kind: 'answer', status: 201, body: created.body.slice(0, 30) }, 'invalid'],
    ['another success', { ...created, status: 200 }, 'invalid'],
    ['500', { kind: 'answer', status: 500, body: 'oops' }, 'in_doubt'],
    ['503', { kind: 'answer', status: 503 }, 'in_doubt'],
    ['408', { kind: 'answer', status: 408 }, 'in_doubt'],
    ['429', { kind: 'answer', status: 429, headers: { 'Retry-After': '3' } }, 'throttled'],
    ['503 with a time', { kind: 'answer', status: 503, headers: { 'Retry-After': '3' } }, 'throttled'],
    ['401', { kind: 'answer', status: 401 }, 'unauthorised'],
    ['403', { kind: 'answer', status: 403 }, 'misconfigured'],
    ['400', { kind: 'answer', status: 400, body: '{"error":{"code":"bad","message":"no"}}' }, 'refused'],
    ['a reset', { kind: 'reset' }, 'in_doubt'],
  ];
  for (const [title, reply, kind] of answers) {
    it(`sends a POST once only, whatever comes: ${title}`, async () => {
      lab.script(reply);
      const sent = await clients.at(lab.url).send(sending());
      expect(sent.verdict.kind).to.equal(kind);
      expect(lab.requests).to.have.length(1);
    });
  }

  it('sends a GET once only as well: whoever asks counts its tries', async () => {
    for (const reply of [
      { kind: 'answer', status: 503 },
      { kind: 'answer', status: 429 },
      { kind: 'reset' },
    ] as Reply[]) {
      lab.script(reply);
      lab.requests.length = 0;
      await clients.at(lab.url).read(page(), { gate: { ask: async () => null } });
      expect(lab.requests).to.have.length(1);
    }
  });

  it('follows no redirect', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      lab.requests.length = 0;
      lab.script({ kind: 'answer', status, headers: { Location: `${lab.url}/v1/elsewhere` } }, created);
      const { verdict } = await clients.at(lab.url).send(sending());
      expect(verdict.kind).to.equal('misconfigured');
      expect(lab.requests).to.have.length(1);
    }
  });

  it('reads a page of a list, with its query and the token', async () => {
    const body = '{"data":[],"page":1,"total":0}';
    lab.script({ kind: 'answer', status: 200, body, headers: { 'X-Request-Id': 'r-7' } });
    const query = { status: 'unpaid & overdue', limit: '100', page: '1' };
    const read = await clients.at(lab.url).read(page('/v2/invoices', query), { gate: { ask: async () => null } });
    expect(read).to.deep.include({ verdict: { kind: 'read', value: { body } }, status: 200 });
    expect(read.requestId).to.equal('r-7');
    const [request] = lab.requests;
    expect(request?.headers).to.have.property('authorization', `Bearer ${token}`);
    const url = new URL(request?.path ?? '', lab.url);
    expect(url.pathname).to.equal('/v2/invoices');
    expect(Object.fromEntries(url.searchParams)).to.deep.equal(query);
  });

  it('sends nothing when the gate is shut or can not be asked', async () => {
    lab.script(created);
    const client = clients.at(lab.url);
    const shut = await client.send(sending({ gate: { ask: async () => legacy('paused by an operator') } }));
    expect(shut).to.deep.include({
      verdict: { kind: 'not_sent', reason: legacy('paused by an operator') },
      startedAtMs: null,
    });
    const broken = await client.send(
      sending({
        gate: { ask: () => Promise.reject(new Error('the store is away')) },
      }),
    );
    expect(broken.verdict.kind).to.equal('not_sent');
    expect(told('reason' in broken.verdict && broken.verdict.reason)).to.include('the store is away');
    expect(lab.requests).to.deep.equal([]);
  });

  it('sends nothing any more when it was closed', async () => {
    lab.script(created);
    const client = clients.at(lab.url);
    client.close();
    expect((await client.send(sending())).verdict.kind).to.equal('not_sent');
    expect(lab.requests).to.deep.equal([]);
  });

  it('ends at the deadline when nothing comes', async () => {
    lab.script({ kind: 'hang' });
    const sent = await timed(() => clients.at(lab.url, { deadlineSeconds: 0.2001 }).send(sending()));
    expect(told(sent.verdict)).to.deep.equal({ kind: 'in_doubt', reason: 'no complete answer within the deadline' });
    expect(sent.tookMs).to.be.within(190, 10_000);
    expect(lab.requests).to.have.length(1);
  });

  it('reads no more of a body than it may, and is in doubt then', async () => {
    lab.script({ ...created, body: JSON.stringify({ ...acknowledgement, padding: 'x'.repeat(5_000) }) });
    const { verdict, status } = await clients.at(lab.url, { maxResponseBytes: 2_000 }).send(sending());
    expect(verdict.kind).to.equal('in_doubt');
    expect(status).to.equal(201);
  });

  it('shows the token in nothing that it hands back, though the service echoes it', async () => {
    const client = clients.at(lab.url);
    // The first one stands where a reason is cut: a part of it would be a leak as well.
    const echo = `${'x'.repeat(285)} ${token} Authorization: Bearer ${token} ${JSON.stringify({ token })}`;
    const headers = { 'X-Request-Id': `id-${token}` };
    for (const status of [200, 201, 400, 401, 403, 429, 500]) {
      for (const body of [echo, JSON.stringify({ error: { code: token, message: echo } })]) {
        lab.script({ kind: 'answer', status, headers, body });
        const sent = await client.send(sending());
        expect(JSON.stringify(sent) + inspect(sent, { depth: 9, showHidden: true })).to.not.include('canary');
      }
    }
    for (const reply of [{ kind: 'reset' }, { kind: 'answer', status: 500, body: echo }] as Reply[]) {
      lab.script(reply);
      const read = await client.read(page(), { gate: { ask: async () => null } });
      expect(JSON.stringify(read) + inspect(read, { depth: 9, showHidden: true })).to.not.include('canary');
    }
    expect(inspect(client, { depth: 9, showHidden: true })).to.not.include('canary');
  });
}
