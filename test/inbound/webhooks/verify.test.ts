import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { webhookSettings } from '../../../src/config/sections/webhooks.js';
import type { WebhookRequest } from '../../../src/inbound/webhooks/verify.js';
import { contentId, digestsIn, hmacVerify, standardVerify } from '../../../src/inbound/webhooks/verify.js';
import { hmacSecret, otherSecret, paidEvent, requestOf, standardRequest, standardSecret } from './sign.js';

const forged = { refused: 'forged' };
const body = paidEvent('INV-1');

describe('the signature of Standard Webhooks', () => {
  const verify = standardVerify(300);
  const judge = (request: WebhookRequest, secrets = [standardSecret], nowMs = Date.now()) =>
    verify(request, secrets, nowMs);

  it('is taken from the secret that we have, with the id that it covers', () => {
    expect(judge(standardRequest(body, { id: 'evt_7' }))).to.deep.equal({ id: 'evt_7' });
  });

  it('needs no whsec_ before the secret', () => {
    expect(judge(standardRequest(body), [standardSecret.replace('whsec_', '')])).to.deep.equal({ id: 'evt_1' });
  });

  it('may come from any of several secrets, and from none that was taken away', () => {
    const request = standardRequest(body, { secret: otherSecret });
    expect(judge(request, [standardSecret, otherSecret])).to.deep.equal({ id: 'evt_1' });
    expect(judge(request, [standardSecret])).to.deep.equal(forged);
    expect(judge(request, [])).to.deep.equal(forged);
  });

  it('may stand among others, as a sender that rotates writes them', () => {
    const own = standardRequest(body).headers['webhook-signature'] as string;
    const other = standardRequest(body, { secret: otherSecret }).headers['webhook-signature'] as string;
    expect(judge(standardRequest(body, { headers: { 'webhook-signature': `${other} v2,odd ${own}` } }))).to.deep.equal({
      id: 'evt_1',
    });
  });

  it('is refused with anything else than what was signed', () => {
    const request = standardRequest(body);
    const wrong: Partial<WebhookRequest>[] = [
      { body: Buffer.from(`${body} `) },
      { body: Buffer.alloc(0) },
      ...[
        { 'webhook-id': 'evt_2' },
        { 'webhook-id': '' },
        { 'webhook-id': 'x'.repeat(256) },
        { 'webhook-timestamp': String(Number(request.headers['webhook-timestamp']) + 1) },
        { 'webhook-timestamp': 'now' },
        { 'webhook-signature': '' },
        { 'webhook-signature': 'v1,' },
        { 'webhook-signature': (request.headers['webhook-signature'] as string).replace('v1,', 'v1a,') },
        { 'webhook-signature': Array(9).fill(request.headers['webhook-signature']).join(' ') },
      ].map((headers) => ({ headers: { ...request.headers, ...headers } })),
    ];
    for (const part of wrong) expect(judge({ ...request, ...part }), JSON.stringify(part)).to.deep.equal(forged);
  });

  it('is refused where a header came twice', () => {
    const request = standardRequest(body);
    const headers = { ...request.headers, 'webhook-id': ['evt_1', 'evt_1'] };
    expect(judge({ ...request, headers })).to.deep.equal(forged);
  });

  it('costs one keyed hash where it is forged: only what one of our secrets signed is shown to the library', () => {
    const { verify: asked } = Webhook.prototype;
    let times = 0;
    Webhook.prototype.verify = function (...given) {
      times++;
      return asked.apply(this, given);
    };
    try {
      expect(judge(standardRequest(body, { secret: otherSecret }))).to.deep.equal(forged);
      expect(times).to.equal(0);
      expect(judge(standardRequest(body))).to.deep.equal({ id: 'evt_1' });
      expect(times).to.equal(1);
    } finally {
      Webhook.prototype.verify = asked;
    }
  });

  it('is stale when it is too old or too far ahead, and then not even computed', () => {
    const now = Date.now();
    const stale = { refused: 'stale' };
    const narrow = standardVerify(60);
    for (const offset of [-61_000, 61_000])
      expect(narrow(standardRequest(body, { atMs: now + offset }), [standardSecret], now)).to.deep.equal(stale);
    expect(narrow(standardRequest(body, { atMs: now - 59_000 }), [standardSecret], now)).to.deep.equal({ id: 'evt_1' });
  });
});

describe('a signature in a header', () => {
  const settings = (hmac: object) => webhookSettings.parse({ scheme: 'hmac', hmac });
  const digest = (text: string, algorithm = 'sha256') => createHmac(algorithm, hmacSecret).update(text).digest();
  const judge = (hmac: object, headers: Record<string, string>, nowMs = Date.now(), secrets = [hmacSecret]) =>
    hmacVerify(settings(hmac))(requestOf(body, headers), secrets, nowMs);

  it('over the body alone is hexadecimal by default', () => {
    expect(judge({}, { 'x-signature': digest(body).toString('hex') })).to.deep.equal({ id: null });
    expect(judge({}, { 'x-signature': digest(`${body} `).toString('hex') })).to.deep.equal(forged);
    expect(judge({}, {})).to.deep.equal(forged);
  });

  it('is read with its prefix, encoding and algorithm', () => {
    const hmac = { header: 'X-Hub', prefix: 'sha512=', encoding: 'base64', algorithm: 'sha512' };
    const signature = digest(body, 'sha512').toString('base64');
    expect(judge(hmac, { 'x-hub': `sha512=${signature}` })).to.deep.equal({ id: null });
    expect(judge(hmac, { 'x-hub': signature })).to.deep.equal(forged);
    expect(judge({ ...hmac, algorithm: 'sha384' }, { 'x-hub': `sha512=${signature}` })).to.deep.equal(forged);
  });

  it('over time and body has an age, in seconds or milliseconds', () => {
    const hmac = { timestampHeader: 'X-Time', signedPayload: 'v0:{timestamp}:{body}' };
    const now = Date.now();
    for (const time of [String(Math.floor(now / 1000)), String(now)]) {
      const headers = { 'x-time': time, 'x-signature': digest(`v0:${time}:${body}`).toString('hex') };
      expect(judge(hmac, headers, now)).to.deep.equal({ id: null });
      expect(judge(hmac, headers, now + 302_000)).to.deep.equal({ refused: 'stale' });
      expect(judge(hmac, { ...headers, 'x-time': String(Number(time) + 1) }, now)).to.deep.equal(forged);
    }
    for (const time of ['', 'soon', '-1'])
      expect(
        judge(hmac, { 'x-time': time, 'x-signature': digest(`v0:${time}:${body}`).toString('hex') }),
      ).to.deep.equal(forged);
  });

  it('may be one of several, and made by any of our secrets', () => {
    const own = digest(body).toString('hex');
    const other = 'ab'.repeat(32);
    expect(judge({}, { 'x-signature': `${other}, ${own}` })).to.deep.equal({ id: null });
    expect(judge({}, { 'x-signature': own }, Date.now(), ['another-text-of-more-than-16', hmacSecret])).to.deep.equal({
      id: null,
    });
    expect(judge({}, { 'x-signature': Array(9).fill(own).join(',') })).to.deep.equal(forged);
  });

  it('of another length never gets to the comparison, whatever stands in the header', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 200 }),
        fc.constantFrom('hex' as const, 'base64' as const),
        (text, encoding) => {
          for (const one of digestsIn(text, '', encoding, 32)) expect(one.length).to.equal(32);
          expect(judge({ encoding }, { 'x-signature': text })).to.deep.equal(forged);
        },
      ),
    );
  });

  it('names an event without an id by what was signed', () => {
    const ids = [contentId(Buffer.from('a'), '1'), contentId(Buffer.from('a'), '2'), contentId(Buffer.from('b'), '1')];
    expect(new Set(ids).size).to.equal(3);
    expect(contentId(Buffer.from('a'), '1')).to.equal(ids[0]);
  });
});
