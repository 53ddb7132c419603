import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { told } from '../support/told.js';
import { chunk, gzipHead, head, json, malformedBytes, whole } from './contract/malformed-bytes.js';
import { type RawServer, startRawServer } from './raw-server.js';
import { acknowledgement, Clients, page, sending, timed } from './wire-client.js';

describe('answers that no well-made server gives', () => {
  const clients = new Clients();
  let server: RawServer | null = null;
  const serve = async (respond: (socket: Socket, count: number) => void): Promise<RawServer> => {
    server = await startRawServer(respond);
    return server;
  };
  afterEach(async () => {
    clients.closeAll();
    await server?.close();
    server = null;
  });

  for (const [title, respond, kind] of malformedBytes) {
    it(`${title}: ${kind}, and sent once`, async () => {
      const { url, received } = await serve(respond);
      const { verdict } = await clients.at(url, { deadlineSeconds: 3 }).send(sending());
      expect(verdict.kind).to.equal(kind);
      expect(received).to.have.length(1);
      expect(received[0]?.match(/POST \/v1\/orders/g)).to.have.length(1);
    });
  }

  it('ends at the deadline while a body trickles in, not when it ends', async () => {
    const { url } = await serve((socket) => {
      socket.write(head('201 Created', 'Content-Length: 1000'));
      const drip = setInterval(() => socket.write('x'), 20);
      socket.on('close', () => clearInterval(drip));
    });
    const sent = await timed(() => clients.at(url, { deadlineSeconds: 0.25 }).send(sending()));
    expect(sent.verdict.kind).to.equal('in_doubt');
    expect(sent.status).to.equal(201);
    expect(sent.tookMs).to.be.within(240, 10_000);
  });

  it('ends at the deadline while headers trickle in', async () => {
    const { url } = await serve((socket) => {
      socket.write('HTTP/1.1 201 Created\r\n');
      const drip = setInterval(() => socket.write('X-A: b\r\n'), 20);
      socket.on('close', () => clearInterval(drip));
    });
    const sent = await timed(() => clients.at(url, { deadlineSeconds: 0.25 }).send(sending()));
    expect(sent.verdict.kind).to.equal('in_doubt');
    expect(sent.tookMs).to.be.within(240, 10_000);
  });

  it('gives each request a deadline of its own, whichever end before it, also on a connection that one of them used', async () => {
    const asking: Socket[] = [];
    let heard: () => unknown = () => undefined;
    const { url } = await serve((socket) => {
      asking.push(socket);
      heard();
    });
    const askedBy = (count: number) =>
      new Promise<void>((resolve) => {
        heard = () => asking.length >= count && resolve();
        heard();
      });
    const client = clients.at(url, { deadlineSeconds: 3 });
    const sent = [];
    for (const nth of [1, 2, 3]) {
      sent.push(timed(() => client.send(sending())));
      await askedBy(nth);
    }
    asking[0]?.write(whole);
    expect((await sent[0])?.verdict.kind).to.equal('delivered');
    await setTimeout(500);
    const hanging = [...sent.slice(1), timed(() => client.send(sending()))];
    for (const { verdict, tookMs } of await Promise.all(hanging)) {
      expect(told(verdict)).to.deep.equal({ kind: 'in_doubt', reason: 'no complete answer within the deadline' });
      expect(tookMs).to.be.within(2_990, 5_000);
    }
  });

  const packers = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
  for (const [name, pack] of Object.entries(packers))
    it(`reads a body that is packed by ${name}, and not one that is larger than it may be when it is unpacked`, async () => {
      const answer = (text: string) => {
        const packed = pack(text);
        return Buffer.concat([
          Buffer.from(head('201 Created', `Content-Encoding: ${name}`, `Content-Length: ${packed.length}`)),
          packed,
        ]);
      };
      const large = answer(JSON.stringify({ ...acknowledgement, padding: 'x'.repeat(200_000) }));
      expect(large.length).to.be.below(2_000);
      const { url } = await serve((socket, count) => socket.write(count === 1 ? answer(json) : large));
      const client = clients.at(url, { maxResponseBytes: 100_000 });
      expect((await client.send(sending())).verdict.kind).to.equal('delivered');
      expect((await client.send(sending())).verdict.kind).to.equal('in_doubt');
    });

  it('says of a body what is wrong with it, where nothing broke off', async () => {
    const plain = gzipHead(json.length) + json;
    const wide = head('201 Created', `X-Long: ${'x'.repeat(20_000)}`, `Content-Length: ${json.length}`) + json;
    const { url } = await serve((socket, count) => socket.write(count === 1 ? plain : wide));
    const client = clients.at(url, { deadlineSeconds: 3 });
    for (const words of [
      'HTTP 201: the answer says Content-Encoding: gzip, and its body is packed in no such way',
      'the headers of the answer are larger than 16 kB',
    ]) {
      const { verdict } = await client.send(sending());
      expect(verdict.kind).to.equal('in_doubt');
      expect(told('reason' in verdict && verdict.reason)).to.equal(words);
    }
  });

  it('does not unpack a bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const { url } = await serve((socket) => socket.write(Buffer.concat([Buffer.from(gzipHead(bomb.length)), bomb])));
    const before = process.memoryUsage().rss;
    const { verdict } = await clients.at(url, { maxResponseBytes: 100_000 }).send(sending());
    expect(verdict.kind).to.equal('in_doubt');
    expect(process.memoryUsage().rss - before).to.be.below(48 * 1024 * 1024);
  });

  it('stops reading a body without end', async () => {
    const { url } = await serve((socket) => {
      socket.write(head('200 OK', 'Transfer-Encoding: chunked'));
      const pour = (): void => {
        while (!socket.destroyed && socket.write(chunk('x'.repeat(60_000))));
      };
      socket.on('drain', pour);
      pour();
    });
    const client = clients.at(url, { maxResponseBytes: 1_000_000, deadlineSeconds: 5 });
    const read = await client.read(page(), { gate: { ask: async () => null } });
    expect(read).to.deep.include({ status: 200 });
    expect(read.verdict).to.include({ kind: 'in_doubt' });
    expect(told('reason' in read.verdict && read.verdict.reason)).to.equal(
      "HTTP 200: the answer's body broke off: it is larger than service.maxResponseBytes",
    );
    expect(read.durationMs).to.be.below(4_000);
  });

  it('says that the deadline passed while a body came drop by drop', async () => {
    const { url } = await serve((socket) => void socket.write(head('200 OK', 'Content-Length: 10')));
    const read = await clients.at(url, { deadlineSeconds: 0.5 }).read(page(), { gate: { ask: async () => null } });
    expect(told(read.verdict)).to.deep.equal({
      kind: 'in_doubt',
      reason: "HTTP 200: the answer's body broke off: the deadline passed",
    });
  });

  it('took as long as it took, also when the clock is set back meanwhile', async () => {
    let setBackMs = 0;
    const { url } = await serve((socket) => {
      setBackMs = 2 * 3_600_000;
      socket.write(whole);
    });
    const client = clients.at(url, {}, 0, { nowMs: () => Date.now() - setBackMs });
    const read = await client.read(page(), { gate: { ask: async () => null } });
    expect(read.durationMs).to.be.within(0, 60_000);
  });

  it('puts exactly the frozen bytes on the wire, with their length', async () => {
    const { url, received } = await serve((socket) => socket.write(whole));
    const body = '{"note" : "Müller & Söhne – „eilig“ 🚚\\u00e4",\n "customer_code":"C1", "items":[ ], "n": 1.50}';
    await clients.at(url).send(sending({ body, record: '{"customer_code":"C1"}' }));
    const [headers = '', sent = ''] = received[0]?.split('\r\n\r\n') ?? [];
    expect(sent).to.equal(body);
    expect(headers).to.match(new RegExp(`^content-length: ${Buffer.byteLength(body)}$`, 'im'));
    expect(headers).to.not.match(/transfer-encoding|expect:/i);
  });

  it('is in doubt when a kept connection turns out to be dead, and does not send again', async () => {
    const { url, received } = await serve((socket, count) => {
      if (count === 1) socket.write(whole);
      else socket.resetAndDestroy();
    });
    const client = clients.at(url);
    expect((await client.send(sending())).verdict.kind).to.equal('delivered');
    expect((await client.send(sending())).verdict.kind).to.equal('in_doubt');
    expect(received).to.have.length(1);
  });
});
