import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Clients, sending } from './wire-client.js';

/** Between the gate and the wire a process may be frozen for longer than its lease lasts. */
describe('a sender that lost its place between the gate and the wire', () => {
  const clients = new Clients();
  let server: net.Server;
  let bytes = 0;

  beforeEach(async () => {
    bytes = 0;
    server = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (piece) => {
        bytes += piece.length;
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    clients.closeAll();
    server.close();
  });

  /** Open at first, and shut when it is asked for the `nth` time in the moment of sending. */
  const gateThatShuts = (nth: number) => {
    let asked = 0;
    return { ask: async () => null, stillOpen: () => ++asked < nth };
  };

  for (const [when, nth] of [
    ['before it asks for a connection', 1],
    ['while it is being connected', 2],
  ] as const)
    it(`sends not a byte when it finds out ${when}`, async () => {
      const { port } = server.address() as AddressInfo;
      const client = clients.at(`http://127.0.0.1:${port}`);
      const sent = await client.send(sending({ gate: gateThatShuts(nth) }));
      expect(sent.verdict.kind).to.equal('not_sent');
      expect(sent.startedAtMs).to.equal(null);
      expect(bytes).to.equal(0);
    });

  it('sends not a byte over a kept connection, which it is given only after all that run in the same turn', async () => {
    const { port } = server.address() as AddressInfo;
    const client = clients.at(`http://127.0.0.1:${port}`);
    server.on('connection', (socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 500 Oh no\r\nContent-Length: 0\r\n\r\n')),
    );
    expect((await client.send(sending({}))).status).to.equal(500);
    const before = bytes;
    expect(before).to.be.above(0);

    const sent = await client.send(sending({ gate: gateThatShuts(2) }));
    expect(sent.verdict.kind).to.equal('not_sent');
    expect(sent.startedAtMs).to.equal(null);
    expect(bytes).to.equal(before);
  });
});
