import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { SandboxOptions, TokenRules } from '../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { legacy } from '../../src/model/facts/fact.js';
import type { ServiceClient } from '../../src/service/service-client.js';
import { systemClock } from '../../src/store/clock.js';
import { useTempDir } from '../support/temp-dir.js';
import { told } from '../support/told.js';
import { waitFor } from '../support/wait-for.js';
import { Clients, sending } from './wire-client.js';

const rules: TokenRules = {
  clientId: 'way:bill',
  clientSecret: 'canary secret+/&',
  authentication: 'basic',
  lifetimeMs: 3_600_000,
  saysLifetime: true,
  scope: null,
  trouble: null,
};

describe('credentials, over real sockets', () => {
  const clients = new Clients();
  const dir = useTempDir();
  let sandbox: Sandbox;
  afterEach(async () => {
    clients.closeAll();
    await sandbox?.close();
  });

  const start = async (options: Partial<SandboxOptions> = {}) => {
    sandbox = await startSandbox({ token: 'canary-one', ...options });
    return sandbox;
  };
  const customer = (code: string) => {
    const body = JSON.stringify({ customer_code: code, name: 'Ä' });
    return sending({ entity: 'customer', idempotencyKey: `key-${code}`, body, record: body });
  };
  const verdictOf = async (client: ServiceClient, code: string) => (await client.send(customer(code))).verdict;
  const statuses = () => sandbox.ledger().requests.map(({ status }) => status);
  const oauth = (changes: Partial<TokenRules> = {}, settings: object = {}) => ({
    kind: 'oauth',
    tokenUrl: `${sandbox?.url}/oauth/token`,
    clientId: rules.clientId,
    clientSecret: rules.clientSecret,
    authentication: changes.authentication ?? rules.authentication,
    ...settings,
  });

  describe('a token or key', () => {
    const kinds: [string, object, SandboxOptions['apiKey']][] = [
      ['a bearer token', { kind: 'bearer' }, null],
      ['X-Api-Key: k', { kind: 'apiKey' }, { header: 'X-Api-Key' }],
      [
        'Authorization: ApiKey k',
        { kind: 'apiKey', header: 'Authorization', scheme: 'ApiKey' },
        { header: 'Authorization', scheme: 'ApiKey' },
      ],
    ];
    for (const [what, credential, apiKey] of kinds) {
      it(`${what}: is sent, and when its file was replaced the new one is, without a 401 being shown`, async () => {
        await start({ apiKey });
        const tokenFile = dir.file(`token-${kinds.findIndex(([name]) => name === what)}`);
        writeFileSync(tokenFile, 'canary-one\n');
        const client = clients.at(sandbox.url, { credential, tokenFile, token: 'stale' });
        expect(await verdictOf(client, 'C1')).to.include({ kind: 'delivered' });

        sandbox.change({ token: 'canary-two' });
        writeFileSync(`${tokenFile}.new`, 'canary-two');
        renameSync(`${tokenFile}.new`, tokenFile);
        const sent = await client.send(customer('C2'));
        expect(sent.verdict.kind).to.equal('delivered');
        expect(sent).to.include({ repeatedAfter401: true, requests: 2 });
        expect(statuses()).to.deep.equal([201, 401, 201]);
      });
    }

    it('that is refused and has no successor is reported after one request', async () => {
      await start({ token: 'another' });
      const client = clients.at(sandbox.url, { token: 'canary-one' });
      expect(await verdictOf(client, 'C1')).to.include({ kind: 'unauthorised' });
      expect(statuses()).to.deep.equal([401]);
      expect(client.credentialReplacedSince(0)).to.equal(false);
    });

    it('whose successor is refused as well is reported after two', async () => {
      await start({ token: 'another' });
      const tokenFile = dir.file('refused');
      writeFileSync(tokenFile, 'canary-one');
      const client = clients.at(sandbox.url, { tokenFile });
      writeFileSync(tokenFile, 'canary-two');
      expect(await verdictOf(client, 'C1')).to.include({ kind: 'unauthorised' });
      expect(statuses()).to.deep.equal([401, 401]);
      expect(client.credentialReplacedSince(0)).to.equal(false);
      writeFileSync(tokenFile, 'canary-three');
      await waitFor('the new one is seen', () => client.credentialReplacedSince(0));
    });

    it('asks the gate again before the repetition, and counts what is held back as tried', async () => {
      await start({ token: 'canary-two' });
      const tokenFile = dir.file('gated');
      writeFileSync(tokenFile, 'canary-one');
      const client = clients.at(sandbox.url, { tokenFile });
      writeFileSync(tokenFile, 'canary-two');
      let asked = 0;
      const gate = { ask: async () => (++asked === 1 ? null : legacy('paused')) };
      const sent = await client.send({ ...customer('C1'), gate });
      expect(sent.verdict).to.include({ kind: 'unavailable' });
      expect(sent.startedAtMs).to.not.equal(null);
      expect(statuses()).to.deep.equal([401]);
    });
  });

  describe('OAuth 2.0 client credentials', () => {
    for (const authentication of ['basic', 'post'] as const)
      it(`gets a token once, for all that wait for it (${authentication})`, async () => {
        await start({ oauth: { ...rules, authentication, scope: 'orders invoices' } });
        const credential = oauth({ authentication }, { scope: 'orders invoices', audience: 'a', resource: 'urn:r' });
        const client = clients.at(sandbox.url, { credential, token: undefined });
        const verdicts = await Promise.all(['A', 'B', 'C', 'D', 'E'].map((code) => verdictOf(client, code)));
        expect(verdicts.map(({ kind }) => kind)).to.deep.equal(Array(5).fill('delivered'));
        expect(sandbox.tokenCounts()).to.deep.equal({ requests: 1, issued: 1, refused: 0 });
      });

    it('expired with 16 requests in flight: one refresh, each record once, and no request sees two 401', async () => {
      await start({ oauth: rules, delayAfterMs: 40 });
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined, concurrency: 16 });
      await verdictOf(client, 'first');
      const codes = Array.from({ length: 64 }, (_, i) => `C${i}`);
      const sends = codes.map((code) => client.send(customer(code)));
      await sends[20];
      sandbox.expireTokens();
      const sent = await Promise.all(sends);
      expect(sent.every(({ verdict }) => verdict.kind === 'delivered')).to.equal(true);
      expect(sandbox.tokenCounts().issued).to.equal(2);
      const refused = new Map<string | null, number>();
      for (const { status, idempotency_key: key } of sandbox.ledger().requests)
        if (status === 401) refused.set(key, (refused.get(key) ?? 0) + 1);
      expect(refused.size).to.be.within(1, 32);
      expect([...refused.values()].every((count) => count === 1)).to.equal(true);
      expect(sent.filter((one) => one.repeatedAfter401)).to.have.length(refused.size);
      expect(sandbox.counts()).to.include({ customers: 65 });
    });

    it('renews before the token expires, without holding anybody up', async () => {
      await start({ oauth: { ...rules, lifetimeMs: 4_500 } });
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined });
      const endsAt = performance.now() + 7_500;
      for (let i = 0; performance.now() < endsAt; i++) {
        expect((await verdictOf(client, `C${i}`)).kind).to.equal('delivered');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(statuses()).to.not.include(401);
      expect(sandbox.tokenCounts().issued).to.be.within(3, 6);
    });

    it('renews as long before the end as it is told', async () => {
      await start({ oauth: { ...rules, lifetimeMs: 1_000_000 } });
      const issuedAfter = async (refreshBeforeSeconds: number) => {
        let passedMs = 0;
        const settings = { credential: oauth({}, { refreshBeforeSeconds }), token: undefined };
        const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs };
        const client = clients.at(sandbox.url, settings, 0, { clock });
        const before = sandbox.tokenCounts().issued;
        await verdictOf(client, 'C1');
        passedMs = 700_000;
        await verdictOf(client, 'C1');
        if (refreshBeforeSeconds > 300)
          await waitFor('the next token', () => sandbox.tokenCounts().issued === before + 2);
        return sandbox.tokenCounts().issued - before;
      };
      expect(await issuedAfter(400)).to.equal(2);
      expect(await issuedAfter(10)).to.equal(1);
    });

    it('stops after a second 401, and asks for another token only when it is tried again', async () => {
      await start({ oauth: rules });
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined });
      await verdictOf(client, 'C0');
      // Whatever token is given, the service takes none.
      sandbox.setFaults([{ kind: 'status', status: 401, match: { path: '/v1/customers' } }]);
      const together = await Promise.all(['C1', 'C2', 'C3', 'C4'].map((code) => verdictOf(client, code)));
      expect(together.map(({ kind }) => kind)).to.deep.equal(Array(4).fill('unauthorised'));
      expect(sandbox.tokenCounts().issued).to.equal(2);
      sandbox.clearFaults();
      expect((await verdictOf(client, 'C5')).kind).to.equal('delivered');
      expect(sandbox.tokenCounts().issued).to.equal(3);
    });

    it('does not repeat with the very token that was refused', async () => {
      await start({ oauth: rules });
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined });
      await verdictOf(client, 'C0');
      sandbox.change({ oauth: { ...rules, trouble: 'same-token' } });
      sandbox.expireTokens();
      expect((await verdictOf(client, 'C1')).kind).to.equal('unauthorised');
      expect(statuses()).to.deep.equal([201, 401]);
    });

    it('takes a token endpoint that is down for an outage, and does not hammer it', async () => {
      await start({ oauth: { ...rules, trouble: 'down' } });
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined });
      for (let i = 0; i < 20; i++) {
        const verdict = await verdictOf(client, `C${i}`);
        expect(verdict).to.include({ kind: 'unavailable', tls: false });
        expect(told(verdict)).to.have.property('reason').that.includes('/oauth/token');
      }
      expect(sandbox.tokenCounts().requests).to.equal(1);
      expect(statuses()).to.deep.equal([]);
      sandbox.change({ oauth: rules });
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      expect((await verdictOf(client, 'C1')).kind).to.equal('delivered');
    });

    it('takes a page of HTML in place of a token for an outage', async () => {
      await start({ oauth: { ...rules, trouble: 'html' } });
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined });
      expect((await verdictOf(client, 'C1')).kind).to.equal('unavailable');
    });

    it('says so when the client is refused, and tries its new secret without a restart', async () => {
      await start({ oauth: { ...rules, clientSecret: 'canary-new' } });
      const clientSecretFile = dir.file('client-secret');
      writeFileSync(clientSecretFile, rules.clientSecret);
      const client = clients.at(sandbox.url, { credential: oauth({}, { clientSecretFile }), token: undefined });
      const verdict = await verdictOf(client, 'C1');
      expect(verdict).to.include({ kind: 'unauthorised' });
      expect(told(verdict)).to.have.property('reason').that.includes('invalid_client').and.does.not.include('canary');
      expect(client.credentialReplacedSince(0)).to.equal(false);
      writeFileSync(clientSecretFile, 'canary-new');
      await waitFor('the new one is seen', () => client.credentialReplacedSince(0));
      expect((await verdictOf(client, 'C1')).kind).to.equal('delivered');
      expect(statuses()).to.deep.equal([201]);
    });

    it('asks the gate before it asks for a token', async () => {
      await start({ oauth: rules });
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined });
      const { verdict } = await client.send({ ...customer('C1'), gate: { ask: async () => legacy('paused') } });
      expect(verdict).to.deep.equal({ kind: 'not_sent', reason: legacy('paused') });
      expect(sandbox.tokenCounts().requests).to.equal(0);
    });

    it('says each header once, to the service and where tokens come from', async () => {
      const seen: string[][] = [];
      const server = createServer((request, response) => {
        seen.push(request.rawHeaders.filter((_, nth) => nth % 2 === 0).map((name) => name.toLowerCase()));
        const isToken = request.url === '/oauth/token';
        const answer = isToken
          ? { access_token: 'canary-1', token_type: 'Bearer' }
          : { customer_code: 'C1', status: 'active' };
        response.writeHead(isToken ? 200 : 201, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const credential = { ...oauth({}, { tokenUrl: `${url}/oauth/token` }) };
      const client = clients.at(url, { credential, token: undefined });
      expect((await verdictOf(client, 'C1')).kind).to.equal('delivered');
      clients.closeAll();
      server.close();
      expect(seen).to.have.length(2);
      for (const names of seen) {
        expect(names).to.include.members(['accept', 'user-agent', 'content-type', 'authorization']);
        expect(names).to.deep.equal([...new Set(names)]);
      }
    });

    it('takes a slot of the limit for each token', async () => {
      await start({ oauth: rules });
      const limits = [{ requests: 1, perSeconds: 0.4 }];
      const client = clients.at(sandbox.url, { credential: oauth(), token: undefined, limits });
      const startedAt = performance.now();
      await verdictOf(client, 'C1');
      expect(performance.now() - startedAt).to.be.at.least(400);
    });
  });
});
