import http from 'node:http';
import { expect } from 'chai';
import type { FaultInput } from '../../../src/lab/sandbox/fault-plan.js';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

/** The client's view of an answer on the wire, byte by byte, however it ends. */
interface Seen {
  status: number | null;
  headers: http.IncomingHttpHeaders;
  text: string;
  /** `complete`, or how it broke. */
  end: string;
  chunks: number;
}

describe('sandbox: faults', () => {
  let sandbox: Sandbox;
  let notes = 0;

  beforeEach(async () => {
    sandbox = await startSandbox({ seed: 7 });
    await addCustomer(sandbox);
  });
  afterEach(() => sandbox.close());

  const post = (key = 'k', note = 'N1') => ask(sandbox, 'POST', '/v1/orders', { key, body: anOrder(note) });

  function postRaw(key = 'k', timeoutMs = 5000): Promise<Seen> {
    const body = JSON.stringify(anOrder('N1'));
    return new Promise((resolve) => {
      const seen: Seen = { status: null, headers: {}, text: '', end: '', chunks: 0 };
      const finish = (end: string): void => {
        clearTimeout(timer);
        resolve({ ...seen, end });
      };
      const request = http.request(`${sandbox.url}/v1/orders`, {
        method: 'POST',
        headers: {
          authorization: 'Bearer sandbox-token',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'idempotency-key': key,
        },
      });
      const timer = setTimeout(() => {
        finish('timeout');
        request.destroy();
      }, timeoutMs);
      request.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
      request.on('response', (response) => {
        seen.status = response.statusCode ?? null;
        seen.headers = response.headers;
        response.on('data', (chunk: Buffer) => {
          seen.text += chunk.toString();
          seen.chunks++;
        });
        response.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
        response.on('end', () => finish('complete'));
      });
      request.end(body);
    });
  }

  /** After a fault that took its effect, the same key must replay it: one order, the true answer. */
  async function expectTookEffect(): Promise<void> {
    expect(sandbox.counts().orders).to.equal(1);
    const again = await post();
    expect(again.status).to.equal(201);
    expect(again.json.total).to.equal(1300);
    expect(sandbox.counts()).to.include({ orders: 1, replayed: 1 });
  }

  async function expectNoEffect(): Promise<void> {
    expect(sandbox.counts().orders).to.equal(0);
    expect((await post()).status).to.equal(201);
    expect(sandbox.counts()).to.include({ orders: 1, replayed: 0 });
  }

  it('status: any answer, without effect', async () => {
    sandbox.setFaults([{ kind: 'status', status: 503, headers: { 'Retry-After': '3' }, body: 'sorry', times: 1 }]);
    const reply = await post();
    expect(reply.status).to.equal(503);
    expect(reply.headers.get('retry-after')).to.equal('3');
    expect(reply.headers.get('x-request-id')).to.be.a('string');
    expect(reply.text).to.equal('sorry');
    await expectNoEffect();
  });

  it('status: any answer, after the effect', async () => {
    sandbox.setFaults([{ kind: 'status', status: 500, effect: 'done', times: 1 }]);
    const reply = await post();
    expect(reply.status).to.equal(500);
    expect(reply.json.error.code).to.equal('fault');
    await expectTookEffect();
  });

  it('hang: no answer, no effect', async () => {
    sandbox.setFaults([{ kind: 'hang', times: 1 }]);
    expect((await postRaw('k', 100)).end).to.equal('timeout');
    await expectNoEffect();
    expect(sandbox.ledger().requests.at(-2)).to.include({ status: null, fault: 'hang', answered_at_ms: null });
  });

  it('hang: no answer after the effect, and the key is not in progress for ever', async () => {
    sandbox.setFaults([{ kind: 'hang', effect: 'done', times: 1 }]);
    expect((await postRaw('k', 100)).end).to.equal('timeout');
    await expectTookEffect();
  });

  it('delay: the true answer, later', async () => {
    sandbox.setFaults([{ kind: 'delay', ms: 200, times: 1 }]);
    const startedAtMs = performance.now();
    expect((await post()).status).to.equal(201);
    expect(performance.now() - startedAtMs).to.be.at.least(195);
    await expectTookEffect();
  });

  it('trickle: the true answer, a byte at a time', async () => {
    sandbox.setFaults([{ kind: 'trickle', intervalMs: 1, times: 1 }]);
    const seen = await postRaw();
    expect(seen.end).to.equal('complete');
    expect(JSON.parse(seen.text).total).to.equal(1300);
    expect(seen.chunks).to.be.above(20);
    await expectTookEffect();
  });

  it('reset-before: a reset connection, no effect', async () => {
    sandbox.setFaults([{ kind: 'reset-before', times: 1 }]);
    expect(await postRaw()).to.include({ status: null, end: 'ECONNRESET' });
    await expectNoEffect();
  });

  it('reset-after-commit: a reset connection after the effect', async () => {
    sandbox.setFaults([{ kind: 'reset-after-commit', times: 1 }]);
    expect(await postRaw()).to.include({ status: null, end: 'ECONNRESET' });
    await expectTookEffect();
  });

  for (const chunked of [false, true]) {
    it(`cut-off: 201 and half of the body, ${chunked ? 'chunked' : 'with the full content length'}`, async () => {
      sandbox.setFaults([{ kind: 'cut-off', chunked, times: 1 }]);
      const seen = await postRaw();
      expect(seen).to.include({ status: 201, end: 'ECONNRESET' });
      expect(seen.text.startsWith('{"order_id":"')).to.equal(true);
      expect(() => JSON.parse(seen.text)).to.throw();
      if (chunked) expect(seen.headers['transfer-encoding']).to.equal('chunked');
      else
        expect(Number(seen.headers['content-length'])).to.be.within(seen.text.length * 2 - 1, seen.text.length * 2 + 1);
      await expectTookEffect();
    });
  }

  it('truncated-json: half of the JSON as a complete body', async () => {
    sandbox.setFaults([{ kind: 'truncated-json', times: 1 }]);
    const seen = await postRaw();
    expect(seen).to.include({ status: 201, end: 'complete' });
    expect(() => JSON.parse(seen.text)).to.throw();
    await expectTookEffect();
  });

  it('html: 201 with a page', async () => {
    sandbox.setFaults([{ kind: 'html', times: 1 }]);
    const reply = await post();
    expect(reply.status).to.equal(201);
    expect(reply.headers.get('content-type')).to.match(/^text\/html/);
    expect(reply.text).to.match(/^<!doctype html>/);
    await expectTookEffect();
  });

  it('html and cut-off: of an answer without a body a 200 with a page, and nothing at all', async () => {
    await addCustomer(sandbox, 'C2');
    sandbox.setFaults([{ kind: 'html', times: 1 }]);
    const page = await ask(sandbox, 'DELETE', '/v1/customers/C1', { key: 'd1' });
    expect(page.status).to.equal(200);
    expect(page.text).to.match(/^<!doctype html>/);
    sandbox.setFaults([{ kind: 'cut-off', times: 1 }]);
    const nothing = await ask(sandbox, 'DELETE', '/v1/customers/C2', { key: 'd2' }).catch((error: Error) => error);
    expect(nothing).to.be.instanceOf(Error);
    expect(sandbox.ledger().requests.at(-1)).to.include({ status: null, fault: 'cut-off' });
    expect(sandbox.ledger().customers).to.deep.equal([]);
  });

  it('html: a page without the effect', async () => {
    sandbox.setFaults([{ kind: 'html', effect: 'none', times: 1 }]);
    expect((await post()).status).to.equal(201);
    await expectNoEffect();
  });

  it('wrong-total: the answer is off, the record is right', async () => {
    sandbox.setFaults([{ kind: 'wrong-total', by: -5, times: 1 }]);
    expect((await post()).json.total).to.equal(1295);
    await expectTookEffect();
  });

  it('empty-body: 201 and nothing', async () => {
    sandbox.setFaults([{ kind: 'empty-body', times: 1 }]);
    expect(await postRaw()).to.include({ status: 201, text: '', end: 'complete' });
    await expectTookEffect();
  });

  it('invalid-json-shape: 201 and other JSON', async () => {
    sandbox.setFaults([{ kind: 'invalid-json-shape', body: [1], times: 1 }]);
    expect((await post()).json).to.eql([1]);
    await expectTookEffect();
  });

  it('forget-keys: the same key makes a second record', async () => {
    await post();
    sandbox.setFaults([{ kind: 'forget-keys', times: 1 }]);
    expect((await post()).status).to.equal(201);
    expect(sandbox.counts()).to.include({ orders: 2, duplicateReferences: 1 });
  });

  it('redirect: elsewhere, no effect', async () => {
    sandbox.setFaults([{ kind: 'redirect', location: 'http://127.0.0.1:1/x', status: 307, times: 1 }]);
    const reply = await post();
    expect(reply.status).to.equal(307);
    expect(reply.headers.get('location')).to.equal('http://127.0.0.1:1/x');
    await expectNoEffect();
  });

  it('oversize-body: the true answer in far too many bytes', async () => {
    sandbox.setFaults([{ kind: 'oversize-body', bytes: 3_000_000, times: 1 }]);
    const reply = await post();
    expect(reply.text.length).to.be.above(3_000_000);
    expect(reply.json.total).to.equal(1300);
    expect(reply.headers.get('content-length')).to.equal(null);
    await expectTookEffect();
  });

  it('oversize-body: survives a client that hangs up in the middle', async () => {
    sandbox.setFaults([{ kind: 'oversize-body', bytes: 500_000_000, times: 1 }]);
    await postRaw('k', 50);
    await expectTookEffect();
  });

  const fired = async (fault: FaultInput, ...asks: (() => Promise<unknown>)[]): Promise<boolean[]> => {
    sandbox.setFaults([fault]);
    const from = sandbox.counts().requests;
    for (const one of asks) await one();
    return sandbox
      .ledger()
      .requests.slice(from)
      .map((request) => request.fault !== null);
  };
  const order = () => {
    notes++;
    return post(`key-${notes}`, `note-${notes}`);
  };
  const invoices = () => ask(sandbox, 'GET', '/v2/invoices?status=unpaid');

  it('matches by method, path, regular expression, key and body', async () => {
    const status = { kind: 'status', status: 500 } as const;
    expect(await fired({ ...status, match: { method: 'get' } }, order, invoices)).to.eql([false, true]);
    expect(await fired({ ...status, match: { path: '/v1/' } }, order, invoices)).to.eql([true, false]);
    expect(await fired({ ...status, match: { path: /status=un/ } }, order, invoices)).to.eql([false, true]);
    expect(await fired({ ...status, match: { path: { regex: 'orders$' } } }, order, invoices)).to.eql([true, false]);
    expect(
      await fired(
        { ...status, match: { key: 'a' } },
        () => post('"a"'),
        () => post('b'),
      ),
    ).to.eql([true, false]);
    const bodyIncludes = `"note-${notes + 2}"`;
    expect(await fired({ ...status, match: { bodyIncludes } }, order, order, order)).to.eql([false, true, false]);
  });

  it('fires on the nth, so many times, or by chance that a seed repeats', async () => {
    const status = { kind: 'status', status: 500 } as const;
    expect(await fired({ ...status, match: { nth: 2 } }, order, order, order)).to.eql([false, true, false]);
    expect(await fired({ ...status, match: { nth: [1, 3] } }, order, order, order)).to.eql([true, false, true]);
    expect(await fired({ ...status, times: 2 }, order, order, order)).to.eql([true, true, false]);
    const many = Array.from({ length: 60 }, () => invoices);
    const byChance = await fired({ ...status, probability: 0.5 }, ...many);
    expect(byChance.filter(Boolean).length).to.be.within(15, 45);
    const twin = await startSandbox({ seed: 7, faults: [{ ...status, probability: 0.5 }] });
    for (let i = 0; i < 60; i++) await ask(twin, 'GET', '/v2/invoices?status=unpaid');
    expect(twin.ledger().requests.map((request) => request.fault !== null)).to.eql(byChance);
    await twin.close();
  });

  it('hits neither throttled nor unauthorised requests', async () => {
    sandbox.setFaults([{ kind: 'status', status: 500, times: 1 }]);
    expect((await ask(sandbox, 'GET', '/v2/invoices', { token: 'wrong' })).status).to.equal(401);
    sandbox.setLimit({ requests: 1, windowMs: 60_000 });
    expect((await invoices()).status).to.equal(500);
    expect((await invoices()).status).to.equal(429);
  });

  it('is set, seen and cleared over HTTP', async () => {
    const admin = async (method: string, body?: string) => {
      const response = await fetch(`${sandbox.url}/_faults`, { method, ...(body === undefined ? {} : { body }) });
      return { status: response.status, text: await response.text() };
    };
    const set = await admin('POST', '[{"kind":"hang","times":1,"match":{"path":{"regex":"nothing"}}},{"kind":"html"}]');
    expect(set.status).to.equal(200);
    expect((await post()).headers.get('content-type')).to.match(/html/);
    const listed = JSON.parse((await admin('GET')).text);
    expect(listed).to.have.length(2);
    expect(listed[0]).to.deep.include({ kind: 'hang', seen: 0, fired: 0, match: { path: { regex: 'nothing' } } });
    expect(listed[1]).to.deep.include({ kind: 'html', seen: 1, fired: 1 });
    for (const bad of ['[{"kind":"nonsense"}]', '[{"kind":"hang","tims":1}]', '{}', 'x']) {
      const reply = await admin('POST', bad);
      expect(reply.status, bad).to.equal(400);
      expect(JSON.parse(reply.text).error.message, bad).to.be.a('string');
    }
    expect((await admin('DELETE')).status).to.equal(204);
    expect((await admin('GET')).text).to.equal('[]');
    expect((await post()).headers.get('content-type')).to.match(/json/);
  });

  it('takes more faults behind those that are set', async () => {
    sandbox.setFaults([{ kind: 'status', status: 500, times: 1 }]);
    sandbox.addFaults([{ kind: 'status', status: 502, times: 1 }]);
    expect([(await order()).status, (await order()).status, (await order()).status]).to.eql([500, 502, 201]);
    expect(() => sandbox.setFaults([{ kind: 'status', status: 99 }])).to.throw(TypeError, 'status');
  });
});
