import { expect } from 'chai';
import fc from 'fast-check';
import type { OauthSettings } from '../../../src/config/sections/service-credential.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { KnownSecrets } from '../../../src/model/secret.js';
import { requestToken } from '../../../src/service/credential/request-token.js';
import type { WireExchange } from '../../../src/service/wire/wire-exchange.js';
import { told } from '../../support/told.js';

const settings = {
  kind: 'oauth',
  tokenUrl: 'https://login.example.com/token',
  clientId: 'waybill',
  authentication: 'post',
  refreshBeforeSeconds: 60,
} as OauthSettings;

const ask = (exchange: WireExchange, secrets = new KnownSecrets()) =>
  requestToken(
    settings,
    'secret',
    async () => exchange,
    () => 0,
    secrets,
  );
const answer = (status: number, body: string, headers: Record<string, string> = {}): WireExchange => ({
  kind: 'answer',
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body,
});
const json = (value: object) => JSON.stringify(value);
const good = { access_token: 'a-token', token_type: 'Bearer', expires_in: 60 };

describe('a client that says who it is in the header', () => {
  const sent = async (clientId: string, secret: string) => {
    let header = '';
    await requestToken(
      { ...settings, clientId, authentication: 'basic' },
      secret,
      async ({ headers }) => {
        header = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1] ?? '';
        return answer(200, json(good));
      },
      () => 0,
      new KnownSecrets(),
    );
    return Buffer.from(header.replace(/^Basic /, ''), 'base64').toString();
  };

  it('leaves unreserved characters of id and secret as they are', async () => {
    expect(await sent('way-bill_1.a~b', 'hold-out_secret.1~')).to.equal('way-bill_1.a~b:hold-out_secret.1~');
  });

  it('encodes every other character so that a form decodes it to the same', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.string({ minLength: 1 }),
        async (id, secret) => {
          const parts = (await sent(id, secret)).split(':');
          expect(parts.map((part) => new URLSearchParams(`x=${part}`).get('x'))).to.deep.equal([id, secret]);
          expect(parts.join('')).to.match(/^[\w.~%+-]*$/);
        },
      ),
      { numRuns: 200 },
    ));
});

describe('an answer to a request for a token', () => {
  it('is a token, with its life where that is said', async () => {
    expect(await ask(answer(200, json(good)))).to.deep.equal({ kind: 'token', token: 'a-token', lifetimeMs: 60_000 });
    const { expires_in: _, ...endless } = good;
    expect(await ask(answer(200, json(endless)))).to.include({ lifetimeMs: null });
  });

  it('is a token where what does not matter is missing or of another form', async () => {
    const { token_type: _, ...untyped } = good;
    for (const grant of [
      untyped,
      { ...good, token_type: null },
      { ...good, scope: ['a', 'b'] },
      { ...good, scope: null },
    ])
      expect(await ask(answer(200, json(grant)))).to.include({ kind: 'token', token: 'a-token', lifetimeMs: 60_000 });
    const endless = { ...good, expires_in: null };
    expect(await ask(answer(200, json(endless)))).to.include({ kind: 'token', lifetimeMs: null });
  });

  const cases: [string, WireExchange, string, RegExp][] = [
    ['invalid_client', answer(401, json({ error: 'invalid_client' })), 'refused', /HTTP 401 invalid_client/],
    [
      'invalid_client with a challenge',
      answer(401, json({ error: 'invalid_client' }), { 'www-authenticate': 'Basic realm="x"' }),
      'refused',
      /invalid_client/,
    ],
    ['invalid_scope', answer(400, json({ error: 'invalid_scope', error_description: 'no' })), 'refused', /no$/],
    ['a 403 of HTML', answer(403, '<html>no', { 'content-type': 'text/html' }), 'refused', /HTTP 403/],
    ['a redirect', answer(302, '', { location: 'https://elsewhere.example.com' }), 'refused', /HTTP 302/],
    ['temporarily_unavailable', answer(400, json({ error: 'temporarily_unavailable' })), 'unavailable', /HTTP 400/],
    ['429', answer(429, ''), 'unavailable', /HTTP 429/],
    ['500', answer(500, 'oops'), 'unavailable', /HTTP 500/],
    ['204', answer(204, ''), 'unavailable', /./],
    ['HTML with 200', answer(200, '<html>', { 'content-type': 'text/html' }), 'unavailable', /HTTP 200/],
    ['no token', answer(200, '{}'), 'refused', /access_token/],
    ['a token of another kind', answer(200, json({ ...good, token_type: 'mac' })), 'refused', /./],
    ['a token that no header carries', answer(200, json({ ...good, access_token: 'a\nb' })), 'refused', /header/],
    ['a deadline', { kind: 'timeout', reason: legacy('too late') }, 'unavailable', /too late/],
    ['a cut body', { kind: 'cut_off', status: 200, headers: {}, reason: legacy('cut') }, 'unavailable', /cut/],
    ['a bad certificate', { kind: 'unreachable', reason: legacy('who?'), tls: true }, 'unavailable', /who/],
    ['a proxy without our account', { kind: 'no_credential', reason: legacy('HTTP 407') }, 'refused', /407/],
    ['a shut gate', { kind: 'not_sent', reason: legacy('paused') }, 'not_sent', /^paused$/],
  ];
  for (const [what, exchange, kind, reason] of cases)
    it(`of ${what} is ${kind}`, async () => {
      const given = await ask(exchange);
      expect(given.kind).to.equal('fault');
      if (given.kind !== 'fault') return;
      expect(given.fault.kind).to.equal(kind);
      expect(told(given.fault.reason)).to.match(reason);
    });

  for (const status of [200, 201, 202, 299, 302, 400, 503])
    it(`with ${status} never has its tokens quoted, and they are known as secrets`, async () => {
      const tokens = { access_token: 'canary/access+1', refresh_token: 'canary-refresh', id_token: 'canary-id' };
      for (const body of [
        json({ ...tokens, token_type: 'mac' }),
        json({ message: 'given', data: tokens }).replaceAll('/', '\\/'),
        `x${json(tokens)}`,
        new URLSearchParams(tokens).toString(),
      ]) {
        const secrets = new KnownSecrets(['secret']);
        const given = await ask(answer(status, body), secrets);
        expect(secrets.all).to.have.length(4);
        expect(given.kind).to.equal('fault');
        expect(JSON.stringify(given)).to.not.include('canary');
      }
    });

  it('is not cut in the middle of a secret that it echoes', async () => {
    const canary = 'canary-'.repeat(10);
    const body = json({ error: 'invalid_client', error_description: `${'x'.repeat(270)}${canary}` });
    expect(JSON.stringify(await ask(answer(401, body), new KnownSecrets([canary])))).to.not.include('canary');
  });

  it('is not read to its depth', async () => {
    const nested = `{"error":"invalid_client","errors":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    expect(await ask(answer(400, nested))).to.have.nested.property('fault.kind', 'refused');
  });

  it('names how long to wait', async () => {
    expect(await ask(answer(503, '', { 'retry-after': '30' }))).to.include({ retryAfterMs: 30_000 });
  });

  it('never throws, whatever comes, and is no token without one', async () => {
    const status = fc.oneof(fc.constantFrom(200, 204, 304, 400, 401, 503), fc.integer({ min: 100, max: 999 }));
    const body = fc.oneof(fc.string(), fc.json(), fc.constant(json(good)));
    await fc.assert(
      fc.asyncProperty(status, body, async (code, text) => {
        const given = await ask(answer(code, text));
        if (given.kind === 'token') expect([code, text]).to.deep.equal([200, json(good)]);
      }),
      { numRuns: 300 },
    );
  });
});
