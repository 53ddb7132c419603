import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { type WebhookSettings, webhookSettings } from '../../../src/config/sections/webhooks.js';
import { listenForWebhooks, type WebhookListener } from '../../../src/inbound/webhooks/listen.js';
import type { WebhookEvent } from '../../../src/inbound/webhooks/webhook-handler.js';
import { WebhookHandler } from '../../../src/inbound/webhooks/webhook-handler.js';
import { paidEvent, standardRequest, standardSecret } from './sign.js';

describe('the listener for webhooks', () => {
  let listener: WebhookListener;
  let handler: WebhookHandler;
  let kept: WebhookEvent[];
  let keep: (event: WebhookEvent) => Promise<boolean>;
  const sockets: Socket[] = [];

  async function start(more: Partial<WebhookSettings> = {}): Promise<void> {
    const settings = { ...webhookSettings.parse({ port: 0, maxBodyBytes: 2_048, requestSeconds: 1 }), ...more };
    kept = [];
    keep = async (event) => {
      const isNew = !kept.some(({ id }) => id === event.id);
      if (isNew) kept.push(event);
      return isNew;
    };
    handler = new WebhookHandler({
      settings,
      secrets: () => [standardSecret],
      keep: (event) => keep(event),
      nowMs: Date.now,
    });
    listener = await listenForWebhooks(settings, handler);
  }
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listener.close();
  });

  const post = async (body: string, headers: Record<string, string> = {}, path = '/webhooks', method = 'POST') => {
    const signed = standardRequest(body, { id: headers['webhook-id'] ?? 'evt_1' }).headers as Record<string, string>;
    const answer = await fetch(`http://127.0.0.1:${listener.port}${path}`, {
      method,
      headers: { ...signed, ...headers },
      ...(method === 'GET' ? {} : { body }),
    });
    return answer.status;
  };

  /** Sends raw bytes, and resolves with all that comes back until the other side closes. */
  const raw = async (text: string): Promise<string> => {
    const socket = connect(listener.port, '127.0.0.1');
    sockets.push(socket);
    let answer = '';
    socket.on('data', (part) => {
      answer += part;
    });
    socket.on('error', () => undefined);
    socket.write(text);
    // Being reset is one way of being cut off.
    await new Promise((resolve) => socket.once('close', resolve));
    return answer;
  };

  it('answers 204 for what it has stored, and does nothing at a repetition', async () => {
    await start();
    expect(await post(paidEvent('INV-1'))).to.equal(204);
    expect(await post(paidEvent('INV-1'))).to.equal(204);
    expect(kept.map(({ id, subject }) => [id, subject])).to.deep.equal([['evt_1', 'INV-1']]);
    expect([...handler.takeCounts()]).to.deep.equal([
      ['stored', 1],
      ['repeated', 1],
    ]);
  });

  it('answers before nothing is stored: 503 with Retry-After while the store is away, and stores the next try', async () => {
    await start();
    const healthy = keep;
    keep = () => Promise.reject(new Error('away'));
    expect(await post(paidEvent('INV-1'))).to.equal(503);
    keep = healthy;
    expect(await post(paidEvent('INV-1'))).to.equal(204);
    expect(kept).to.have.length(1);
  });

  it('puts off what comes while too much waits for the store, and keeps nothing of it', async () => {
    await start();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const healthy = keep;
    keep = async (event) => {
      await released;
      return healthy(event);
    };
    const all = Array.from({ length: 80 }, (_, i) =>
      handler.handle(standardRequest(paidEvent(`I${i}`), { id: `evt_${i}` })),
    );
    expect(await Promise.race(all)).to.equal(503);
    release();
    const statuses = await Promise.all(all);
    expect(statuses.filter((status) => status === 503)).to.have.length(16);
    expect(kept).to.have.length(64);
  });

  const refused: [string, number, Record<string, string>, string?, string?][] = [
    ['another path', 404, {}, '/', 'POST'],
    ['another method', 405, {}, '/webhooks', 'GET'],
    ['a packed body', 415, { 'content-encoding': 'gzip' }],
    ['a form', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a text', 415, { 'content-type': 'text/plain' }],
    ['a wrong signature', 401, { 'webhook-signature': `v1,${'A'.repeat(43)}=` }],
    ['an old time', 401, { 'webhook-timestamp': '1700000000' }],
  ];
  for (const [what, status, headers, path, method] of refused)
    it(`refuses ${what} with ${status}, and keeps nothing`, async () => {
      await start();
      expect(await post(paidEvent('INV-1'), headers, path, method)).to.equal(status);
      expect(kept).to.deep.equal([]);
    });

  it('takes a type with parameters, and a path with a query', async () => {
    await start();
    expect(
      await post(paidEvent('INV-1'), { 'content-type': 'application/json; charset=utf-8' }, '/webhooks?a=1'),
    ).to.equal(204);
  });

  it('refuses a signed body that is no event with 400', async () => {
    await start();
    expect(await post('[]')).to.equal(400);
  });

  it('refuses a large body by its announced length, without reading it', async () => {
    await start();
    const answer = await raw(
      'POST /webhooks HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 999999999\r\n\r\n{',
    );
    expect(answer).to.match(/^HTTP\/1\.1 413 /);
    expect(answer.toLowerCase()).to.include('connection: close');
  });

  it('cuts a body off that does not say how large it is and becomes too large', async () => {
    await start();
    const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
    const answer = await raw(
      `POST /webhooks HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(4)}`,
    );
    expect(answer).to.match(/^HTTP\/1\.1 413 /);
    expect(handler.takeCounts().get('too_large')).to.equal(1);
  });

  it('says no before the body where the sender asks first', async () => {
    await start();
    const answer = await raw(
      'POST /other HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n',
    );
    expect(answer).to.match(/^HTTP\/1\.1 404 /);
  });

  it('cuts off whoever sends headers or a body too slowly, and serves others meanwhile', async () => {
    await start();
    const slow = [
      raw('POST /webhooks HTTP/1.1\r\nhost: x\r\n'),
      raw('POST /webhooks HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{'),
    ];
    expect(await post(paidEvent('INV-1'))).to.equal(204);
    expect(await Promise.all(slow)).to.deep.equal(['', '']);
  });

  it('cuts off long headers and what is no HTTP', async () => {
    await start();
    expect(await raw(`POST /webhooks HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(9_000)}\r\n\r\n`)).to.equal('');
    expect(await raw('\u0016\u0003\u0001 not http at all\r\n\r\n')).to.equal('');
  });

  /** Opens connections that send so much and then fall silent. */
  const hold = (many: number, text: string) =>
    Promise.all(
      Array.from({ length: many }, async () => {
        const socket = connect(listener.port, '127.0.0.1');
        sockets.push(socket);
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        socket.write(text);
        return socket;
      }),
    );
  const head = 'POST /webhooks HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

  it('holds no more connections than it was told: what is silent longest makes room', async () => {
    await start({ maxConnections: 2, requestSeconds: 60 });
    const [first, second] = (await hold(2, 'POST /webhooks HTTP/1.1\r\n')) as [Socket, Socket];
    const closed = once(first, 'close');
    const [third] = (await hold(1, '')) as [Socket];
    await closed;
    expect([second.destroyed, third.destroyed]).to.deep.equal([false, false]);
  });

  for (const [what, text] of [
    ['nothing', ''],
    ['half of their headers', head],
    ['half of a body', `${head}content-length: 100\r\n\r\n{`],
  ] as const)
    it(`serves a sender at once while four times as many connections as it holds send ${what}`, async () => {
      await start({ maxConnections: 10, requestSeconds: 60 });
      await hold(40, text);
      expect(await post(paidEvent('INV-1'))).to.equal(204);
      expect(kept).to.have.length(1);
    });

  it('does not close a connection whose event is being stored to make room for others', async () => {
    await start({ maxConnections: 2, requestSeconds: 60 });
    let release = () => {};
    const isStoring = new Promise<void>((storing) => {
      keep = () =>
        new Promise((stored) => {
          release = () => stored(true);
          storing();
        });
    });
    const answer = post(paidEvent('INV-1'));
    await isStoring;
    await hold(20, '');
    release();
    expect(await answer).to.equal(204);
  });
});
