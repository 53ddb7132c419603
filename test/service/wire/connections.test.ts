import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { useTempDir } from '../../support/temp-dir.js';
import { told } from '../../support/told.js';
import { deadPort, startRawServer } from '../raw-server.js';
import { Clients, created, orderRecord, sending, timed, token } from '../wire-client.js';
import { SocketLab } from '../wire-lab.js';

describe('connections', () => {
  const clients = new Clients();
  const closers: (() => Promise<unknown>)[] = [];
  const closeLater = <T extends { close(): Promise<unknown> }>(part: T): T => {
    closers.push(() => part.close());
    return part;
  };
  afterEach(async () => {
    clients.closeAll();
    for (const close of closers.splice(0)) await close();
  });

  it('proves that nothing was sent when nobody listens, after quick resends that each ask the gate', async () => {
    const port = await deadPort();
    for (const host of ['127.0.0.1', 'localhost']) {
      let asked = 0;
      const gate = {
        async ask() {
          asked++;
          return null;
        },
      };
      const { verdict } = await clients.at(`http://${host}:${port}`).send(sending({ gate }));
      expect(verdict).to.include({ kind: 'unavailable', tls: false });
      expect(told(verdict)).to.have.property('reason').that.includes('ECONNREFUSED');
      expect(asked).to.equal(3);
    }
  });

  it('proves it when there is no such name', async () => {
    const { verdict } = await clients.at('http://service.invalid', {}, 1).send(sending());
    expect(verdict).to.include({ kind: 'unavailable', tls: false });
  });

  it('takes a slot for each quick resend', async () => {
    const port = await deadPort();
    const client = clients.at(`http://127.0.0.1:${port}`, { limits: [{ requests: 1, perSeconds: 0.4 }] });
    const { tookMs } = await timed(() => client.send(sending()));
    expect(tookMs).to.be.at.least(2 * 400);
  });

  it('sends once more, and once only, when the service comes back between two tries', async () => {
    const port = await deadPort();
    const lab = new SocketLab();
    lab.script(created);
    let asked = 0;
    const gate = {
      async ask() {
        if (++asked === 2) await lab.open(port);
        return null;
      },
    };
    closeLater(lab);
    const { verdict } = await clients.at(`http://127.0.0.1:${port}`).send(sending({ gate }));
    expect(verdict.kind).to.equal('delivered');
    expect(lab.requests).to.have.length(1);
    expect(asked).to.equal(2);
  });

  it('stops when the gate shuts between two tries', async () => {
    const port = await deadPort();
    let asked = 0;
    const gate = { ask: async () => (++asked === 2 ? legacy('paused') : null) };
    const { verdict } = await clients.at(`http://127.0.0.1:${port}`).send(sending({ gate }));
    expect(verdict).to.deep.equal({ kind: 'not_sent', reason: legacy('paused') });
  });

  it('keeps connections and uses them again', async () => {
    const lab = closeLater(new SocketLab());
    await lab.open();
    lab.script(created);
    const client = clients.at(lab.url, { concurrency: 16 });
    for (let i = 0; i < 5; i++) await client.send(sending());
    expect(lab.requests).to.have.length(5);
    expect(lab.connections.size).to.equal(1);
    await Promise.all(Array.from({ length: 40 }, () => client.send(sending())));
    expect(lab.connections.size).to.be.at.most(16);
  });

  it('lets the process end when it is closed, though slots still wait for their window', async () => {
    const lab = closeLater(new SocketLab());
    await lab.open();
    lab.script(created);
    const program = `
      import { ServiceClient } from ${JSON.stringify(new URL('../../../src/service/service-client.js', import.meta.url))};
      import { serviceAt, sending } from ${JSON.stringify(new URL('../wire-client.js', import.meta.url))};
      const service = serviceAt(${JSON.stringify(lab.url)}, { limits: [{ requests: 3, perSeconds: 600 }] });
      const client = new ServiceClient({ service, quickResends: 0, nowMs: Date.now });
      const { verdict } = await client.send(sending());
      client.close();
      console.log(verdict.kind);`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 15_000,
    });
    expect(stdout.trim()).to.equal('delivered');
  });

  describe('with TLS', () => {
    const folder = useTempDir();
    it('sends nothing to a certificate that nobody vouches for, tries once, and never falls back to http', async () => {
      execFileSync(
        'openssl',
        ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
          .concat(['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'])
          .concat(['-keyout', folder.file('key.pem'), '-out', folder.file('cert.pem')]),
        { stdio: 'ignore' },
      );
      let requests = 0;
      let connections = 0;
      const pem = (name: string) => readFileSync(folder.file(name));
      const server = https.createServer({ key: pem('key.pem'), cert: pem('cert.pem') }, (_request, response) => {
        requests++;
        response.end();
      });
      server.on('connection', () => connections++);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closeLater({ close: async () => server.close() });
      const { port } = server.address() as AddressInfo;
      const { verdict } = await clients.at(`https://localhost:${port}`).send(sending());
      expect(verdict).to.include({ kind: 'unavailable', tls: true });
      expect(requests).to.equal(0);
      expect(connections).to.equal(1);
    });

    it('proves that nothing was sent when the other side does not speak TLS', async () => {
      const plain = closeLater(await startRawServer(() => undefined));
      const speaking = net.createServer((socket) =>
        socket.on('error', () => undefined).end('HTTP/1.1 400 Bad\r\n\r\n'),
      );
      await new Promise<void>((resolve) => speaking.listen(0, '127.0.0.1', resolve));
      closeLater({ close: async () => speaking.close() });
      const { port } = speaking.address() as AddressInfo;
      const refused = await clients.at(`https://localhost:${port}`, { deadlineSeconds: 0.5 }).send(sending());
      expect(refused.verdict).to.include({ kind: 'unavailable' });
      // And when it says nothing at all until the deadline.
      const silent = await clients.at(`https://127.0.0.1:${plain.port}`, { deadlineSeconds: 0.3 }).send(sending());
      expect(told(silent.verdict)).to.deep.equal({
        kind: 'unavailable',
        reason: 'no connection within the deadline',
        tls: false,
      });
      expect(plain.received.join('')).to.not.include('POST');
    });
  });

  describe('to the sandbox', () => {
    let sandbox: Sandbox;
    const client = (deadlineSeconds = 5) => clients.at(sandbox.url, { token: 'sandbox-token', deadlineSeconds });
    const order = (key: string) => sending({ idempotencyKey: key });
    const posts = (key: string) => sandbox.ledger().requests.filter((r) => r.idempotency_key === key).length;

    before(async () => {
      sandbox = await startSandbox();
      const body = JSON.stringify({ customer_code: 'C1', name: 'Ä' });
      const made = await client().send(sending({ entity: 'customer', idempotencyKey: 'c', body, record: body }));
      expect(made.verdict.kind).to.equal('delivered');
    });
    after(() => sandbox.close());
    afterEach(() => sandbox.clearFaults());

    type Fault = Parameters<Sandbox['setFaults']>[0][number];
    const faults: [Fault, string, boolean][] = [
      [{ kind: 'hang', effect: 'done' }, 'in_doubt', true],
      [{ kind: 'trickle', intervalMs: 50 }, 'in_doubt', true],
      [{ kind: 'reset-before' }, 'in_doubt', false],
      [{ kind: 'reset-after-commit' }, 'in_doubt', true],
      [{ kind: 'cut-off' }, 'in_doubt', true],
      [{ kind: 'cut-off', chunked: true }, 'in_doubt', true],
      [{ kind: 'truncated-json' }, 'invalid', true],
      [{ kind: 'html' }, 'invalid', true],
      [{ kind: 'empty-body' }, 'invalid', true],
      [{ kind: 'invalid-json-shape' }, 'invalid', true],
      [{ kind: 'oversize-body' }, 'in_doubt', true],
      [{ kind: 'redirect' }, 'misconfigured', false],
      [{ kind: 'status', status: 500, effect: 'done' }, 'in_doubt', true],
      [{ kind: 'status', status: 503, headers: { 'Retry-After': '1' } }, 'throttled', false],
      [{ kind: 'wrong-total' }, 'delivered', true],
    ];
    for (const [fault, verdict, made] of faults) {
      const key = `fault-${JSON.stringify(fault)}`.replace(/[^a-z0-9]+/gi, '-');
      it(`${JSON.stringify(fault)}: ${verdict}, one request, and once only after the resend`, async () => {
        const before = sandbox.counts().orders;
        sandbox.setFaults([{ ...fault, times: 1 } as Fault]);
        const first = await client(0.4).send(order(key));
        expect(first.verdict.kind).to.equal(verdict);
        expect(posts(key)).to.equal(1);
        expect(sandbox.counts().orders - before).to.equal(made ? 1 : 0);
        const second = await client().send(order(key));
        expect(second.verdict).to.include({ kind: 'delivered', flag: null });
        expect(posts(key)).to.equal(2);
        expect(sandbox.counts().orders - before).to.equal(1);
      });
    }

    it('flags a wrong total, and takes another body under the same key for a conflict', async () => {
      sandbox.setFaults([{ kind: 'wrong-total', by: 5, times: 1 }]);
      const first = await client().send(order('total'));
      expect(told(first.verdict)).to.have.property('flag').that.includes('1305').and.includes('1300');
      const body = JSON.stringify({ ...orderRecord, note: 'other' });
      const reused = await client().send(sending({ idempotencyKey: 'total', body, record: body }));
      expect(reused.verdict).to.include({ kind: 'conflict', what: 'key_reused' });
    });

    it('names an unknown customer and a wrong token', async () => {
      const body = JSON.stringify({ ...orderRecord, customer_code: 'nobody' });
      const unknown = await client().send(sending({ idempotencyKey: 'u', body, record: body }));
      expect(unknown.verdict.kind).to.equal('unknown_customer');
      const wrong = await clients.at(sandbox.url, { token }).send(order('w'));
      expect(wrong.verdict.kind).to.equal('unauthorised');
    });
  });
});
