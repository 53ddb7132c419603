import { copyFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import { expect } from 'chai';
import type { SandboxOptions } from '../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import type { ServiceClient } from '../../src/service/service-client.js';
import { Authority, type Certificate } from '../support/certificates.js';
import { ConnectProxy } from '../support/connect-proxy.js';
import { useTempDir } from '../support/temp-dir.js';
import { told } from '../support/told.js';
import { waitFor } from '../support/wait-for.js';
import { interim, whole } from './contract/malformed-bytes.js';
import { startRawServer } from './raw-server.js';
import { Clients, sending } from './wire-client.js';

describe('secure connections', () => {
  const dir = useTempDir();
  const clients = new Clients();
  const closers: (() => Promise<unknown>)[] = [];
  let authority: Authority;
  let server: Certificate;
  let office: Certificate;
  before(() => {
    authority = new Authority(dir.file('authority'));
    server = authority.issue('server');
    office = authority.issue('office', 'canary phrase');
  });
  afterEach(async () => {
    clients.closeAll();
    for (const close of closers.splice(0)) await close();
  });

  const sandboxOf = async (options: Partial<SandboxOptions> = {}): Promise<Sandbox> => {
    const sandbox = await startSandbox({ token: 'canary', tls: { key: server.key, cert: server.cert }, ...options });
    closers.push(() => sandbox.close());
    return sandbox;
  };
  const mutual = (): Partial<SandboxOptions> => ({
    byCertificate: true,
    tls: { key: server.key, cert: server.cert, clientCa: authority.cert },
  });
  const customer = (code: string) => {
    const body = JSON.stringify({ customer_code: code, name: 'Ä' });
    return sending({ entity: 'customer', idempotencyKey: `key-${code}`, body, record: body });
  };
  const verdictOf = async (client: ServiceClient, code = 'C1') => (await client.send(customer(code))).verdict;
  const trusting = (more: object = {}) => ({ caFile: authority.certFile, minVersion: 'TLSv1.2', ...more });
  const secret = (text: string, name: string) => {
    writeFileSync(dir.file(name), text);
    return dir.file(name);
  };

  describe('to a private authority', () => {
    it('are made when service.tls.caFile names it, and not otherwise, whatever the environment says', async () => {
      const sandbox = await sandboxOf();
      expect(await verdictOf(clients.at(sandbox.url, { token: 'canary', tls: trusting() }))).to.include({
        kind: 'delivered',
      });
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      try {
        const verdict = await verdictOf(clients.at(sandbox.url, { token: 'canary' }), 'C2');
        expect(verdict).to.include({ kind: 'unavailable', tls: true });
      } finally {
        delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      }
      expect(sandbox.counts().requests).to.equal(1);
    });

    it('do not go below service.tls.minVersion', async () => {
      const old = tls.createServer({ key: server.key, cert: server.cert, maxVersion: 'TLSv1.2' }, (socket) =>
        socket.end(),
      );
      old.on('tlsClientError', () => undefined);
      await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
      closers.push(async () => old.close());
      const url = `https://127.0.0.1:${(old.address() as AddressInfo).port}`;
      const settings = { token: 'canary', tls: trusting({ minVersion: 'TLSv1.3' }) };
      expect(await verdictOf(clients.at(url, settings, 0))).to.include({ kind: 'unavailable', tls: true });
    });
  });

  describe('with a client certificate', () => {
    const shown = () => trusting({ certificateFile: office.certFile, keyFile: office.keyFile });

    it('get in by it alone, its key under a passphrase', async () => {
      const sandbox = await sandboxOf(mutual());
      const passphraseFile = secret('canary phrase\n', 'passphrase');
      const settings = { credential: { kind: 'certificate' }, token: undefined, tls: { ...shown(), passphraseFile } };
      expect(await verdictOf(clients.at(sandbox.url, settings))).to.include({ kind: 'delivered' });
    });

    it('get in with key and passphrase from the environment', async () => {
      const sandbox = await sandboxOf(mutual());
      const tls = trusting({ certificateFile: office.certFile, key: office.key, passphrase: 'canary phrase' });
      const settings = { credential: { kind: 'certificate' }, token: undefined, tls };
      expect(await verdictOf(clients.at(sandbox.url, settings))).to.include({ kind: 'delivered' });
    });

    it('do not get in without it', async () => {
      const sandbox = await sandboxOf(mutual());
      const settings = { credential: { kind: 'certificate' }, token: undefined, tls: trusting() };
      const verdict = await verdictOf(clients.at(sandbox.url, settings, 0));
      expect(['unavailable', 'in_doubt']).to.include(verdict.kind);
      expect(sandbox.counts().requests).to.equal(0);
    });

    it('show a new one when both of its files were replaced, and the old one until they fit', async () => {
      const names: string[] = [];
      const options = { key: server.key, cert: server.cert, ca: authority.cert, requestCert: true };
      const service = https.createServer(options, (request, response) => {
        names.push(String((request.socket as tls.TLSSocket).getPeerCertificate().subject.CN));
        request.resume().on('end', () => response.writeHead(201).end('{"customer_code":"C1"}'));
      });
      await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
      closers.push(
        async () => service.closeAllConnections(),
        async () => service.close(),
      );
      const [certificateFile, keyFile] = [dir.file('cert.pem'), dir.file('key.pem')];
      const [first, second] = [authority.issue('first'), authority.issue('second')];
      copyFileSync(first.certFile, certificateFile);
      copyFileSync(first.keyFile, keyFile);
      const warnings: string[] = [];
      const client = clients.at(
        `https://127.0.0.1:${(service.address() as AddressInfo).port}`,
        { credential: { kind: 'certificate' }, token: undefined, tls: trusting({ certificateFile, keyFile }) },
        2,
        { warn: (message) => warnings.push(message) },
      );
      await client.send(customer('C1'));
      copyFileSync(second.certFile, certificateFile);
      await waitFor('it says that certificate and key do not fit', async () => {
        await client.send(customer('C1'));
        return warnings.length > 0;
      });
      expect(new Set(names)).to.deep.equal(new Set(['first']));
      copyFileSync(second.keyFile, keyFile);
      await waitFor('the new certificate is shown', async () => {
        expect((await verdictOf(client)).kind).to.equal('delivered');
        return names.at(-1) === 'second';
      });
      expect(warnings).to.have.length(1);
    });
  });

  describe('through a proxy', () => {
    const proxyOf = async () => {
      const proxy = await new ConnectProxy().open();
      closers.push(() => proxy.close());
      return proxy;
    };
    const throughIt = (proxy: ConnectProxy, more: object = {}) => ({
      token: 'canary',
      tls: trusting(),
      proxy: { url: proxy.url, ...more },
    });

    it('are tunnels that are kept, also to where tokens come from', async () => {
      const oauth = {
        clientId: 'waybill',
        clientSecret: 's',
        authentication: 'basic' as const,
        lifetimeMs: 60_000,
        saysLifetime: true,
        scope: null,
        trouble: null,
      };
      const sandbox = await sandboxOf({ oauth });
      const proxy = await proxyOf();
      const tokenUrl = `${sandbox.url}/oauth/token`;
      const credential = { kind: 'oauth', tokenUrl, clientId: 'waybill', clientSecret: 's', authentication: 'basic' };
      const client = clients.at(sandbox.url, { ...throughIt(proxy), credential, token: undefined });
      for (const code of ['C1', 'C2', 'C3']) expect((await verdictOf(client, code)).kind).to.equal('delivered');
      expect(proxy.asked).to.deep.equal([`127.0.0.1:${sandbox.port}`]);
    });

    it('carry plain http as well', async () => {
      const sandbox = await sandboxOf({ tls: null });
      const proxy = await proxyOf();
      expect((await verdictOf(clients.at(sandbox.url, throughIt(proxy)))).kind).to.equal('delivered');
      expect(proxy.tunnels).to.equal(1);
    });

    it('name an account with a password from the environment', async () => {
      const sandbox = await sandboxOf();
      const proxy = await proxyOf();
      proxy.account = 'anna:canary-one';
      const at = (password: string) => clients.at(sandbox.url, throughIt(proxy, { user: 'anna', password }), 0);
      expect((await verdictOf(at('canary-one'))).kind).to.equal('delivered');
      expect((await verdictOf(at('canary-two'))).kind).to.equal('unauthorised');
    });

    it('name an account, and take its new password without a restart', async () => {
      const sandbox = await sandboxOf();
      const proxy = await proxyOf();
      proxy.account = 'anna:canary-one';
      const passwordFile = secret('canary-one\n', 'proxy-password');
      const client = clients.at(sandbox.url, throughIt(proxy, { user: 'anna', passwordFile }));
      expect((await verdictOf(client)).kind).to.equal('delivered');
      proxy.account = 'anna:canary-two';
      proxy.cut();
      writeFileSync(passwordFile, 'canary-two');
      await waitFor('the new password', async () => (await verdictOf(client, 'C2')).kind === 'delivered');
    });

    it('are no answer of the service when the proxy says no: nothing was sent', async () => {
      const sandbox = await sandboxOf();
      const proxy = await proxyOf();
      const client = clients.at(sandbox.url, throughIt(proxy), 0);
      for (const [status, kind] of [
        [407, 'unauthorised'],
        [403, 'unavailable'],
        [404, 'unavailable'],
        [502, 'unavailable'],
        [201, 'unavailable'],
      ] as const) {
        proxy.trouble = status;
        const sent = await client.send(customer('C1'));
        expect(sent.verdict, String(status)).to.include({ kind });
        expect(told(sent.verdict))
          .to.have.property('reason')
          .that.includes(`the proxy answered HTTP ${status} to CONNECT`);
      }
      expect(sandbox.counts().requests).to.equal(0);
    });

    it('prove that nothing was sent when the proxy is away, hangs up or says nothing, and leave no socket behind', async () => {
      const sandbox = await sandboxOf();
      const proxy = await proxyOf();
      const client = clients.at(sandbox.url, { ...throughIt(proxy), deadlineSeconds: 0.3 }, 0);
      for (const trouble of ['reset', 'silence'] as const) {
        proxy.trouble = trouble;
        const verdict = await verdictOf(client);
        expect(verdict, trouble).to.include({ kind: 'unavailable', tls: false });
        const words = trouble === 'reset' ? 'the proxy opened no tunnel' : 'no connection within the deadline';
        expect(told(verdict), trouble).to.have.property('reason').that.includes(words);
      }
      await waitFor('no connection is left', () => proxy.connections === 0);
      await proxy.close();
      expect(await verdictOf(client)).to.include({ kind: 'unavailable', tls: false });
      expect(sandbox.counts().requests).to.equal(0);
    });

    it('prove that nothing was sent until the handshake inside of the tunnel is over, and nothing after it', async () => {
      const silent = net.createServer(() => undefined);
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const sockets = new Set<net.Socket>();
      silent.on('connection', (socket) => sockets.add(socket));
      closers.push(async () => {
        for (const socket of sockets) socket.destroy();
        silent.close();
      });
      const proxy = await proxyOf();
      const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const client = clients.at(url, { ...throughIt(proxy), deadlineSeconds: 0.3 }, 0);
      expect((await verdictOf(client)).kind).to.equal('unavailable');

      const sandbox = await sandboxOf();
      sandbox.setFaults([{ kind: 'hang', effect: 'done' }]);
      const hanging = clients.at(sandbox.url, { ...throughIt(proxy), deadlineSeconds: 0.5 }, 0);
      expect((await verdictOf(hanging)).kind).to.equal('in_doubt');
      expect(sandbox.counts().requests).to.equal(1);
    });

    it('end where the certificate behind the tunnel is not trusted', async () => {
      const sandbox = await sandboxOf();
      const proxy = await proxyOf();
      const settings = { token: 'canary', proxy: { url: proxy.url } };
      const verdict = await verdictOf(clients.at(sandbox.url, settings, 0));
      expect(verdict).to.include({ kind: 'unavailable', tls: true });
      expect(sandbox.counts().requests).to.equal(0);
    });
  });

  for (const way of ['TLS', 'a tunnel', 'TLS in a tunnel'])
    it(`pass over interim answers that nobody asked for, over ${way}`, async () => {
      const service = await startRawServer(
        (socket) => socket.write(interim + whole),
        way === 'a tunnel' ? undefined : server,
      );
      closers.push(() => service.close());
      const proxy = await new ConnectProxy().open();
      closers.push(() => proxy.close());
      const settings = { tls: trusting(), ...(way === 'TLS' ? {} : { proxy: { url: proxy.url } }) };
      const client = clients.at(service.url, settings);
      for (let nth = 0; nth < 3; nth++) expect((await client.send(sending())).verdict.kind).to.equal('delivered');
      expect(service.received, 'connections').to.have.length(1);
    });
});
