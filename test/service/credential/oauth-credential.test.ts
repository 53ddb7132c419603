import { expect } from 'chai';
import type { OauthSettings } from '../../../src/config/sections/service-credential.js';
import { KnownSecrets } from '../../../src/model/secret.js';
import { OauthCredential } from '../../../src/service/credential/oauth-credential.js';

describe('an access token that is renewed early', () => {
  it('is gone on with when whoever hears of the failure fails as well', async () => {
    let now = 0;
    let asked = 0;
    let heard = 0;
    const credential = new OauthCredential({
      settings: {
        kind: 'oauth',
        tokenUrl: 'https://login.example.com/token',
        clientId: 'waybill',
        authentication: 'certificate',
        refreshBeforeSeconds: 60,
      } as OauthSettings,
      send: async () => {
        const body = JSON.stringify({ access_token: 'a-token', token_type: 'bearer', expires_in: 3600 });
        const headers = { 'content-type': 'application/json' };
        return ++asked === 1
          ? { kind: 'answer', status: 200, headers, body }
          : { kind: 'answer', status: 400, headers, body: '{"error":"invalid_client"}' };
      },
      secrets: new KnownSecrets(),
      nowMs: () => now,
      monotonicMs: () => now,
      random: () => 0,
      warn: () => undefined,
      onAnswer: (fault) => {
        heard++;
        if (fault) throw new Error('the store is away');
      },
    });
    const gate = { ask: async () => null };
    expect(await credential.ready(gate)).to.equal(null);
    now = 3_590_000;
    // An error that is thrown here and caught by nobody would end the process, and this test with it.
    expect(await credential.ready(gate)).to.equal(null);
    await new Promise(setImmediate);
    expect({ asked, heard }).to.deep.equal({ asked: 2, heard: 2 });
    expect(credential.proof()?.headers).to.deep.equal({ Authorization: 'Bearer a-token' });
  });
});
