import { expect } from 'chai';
import { serviceSettings } from '../../src/config/sections/service.js';
import { credentialInWords } from '../../src/daemon/read-status.js';
import { credentialSetting } from '../../src/outbound/deliver/lane-keeper.js';

describe('the credential in use', () => {
  const of = (more: object) =>
    serviceSettings.parse({ environment: 'sandbox', baseUrl: 'https://sandbox.example.com', ...more });
  const oauth = {
    kind: 'oauth',
    tokenUrl: 'https://login.example.com/token',
    clientId: 'waybill',
    clientSecret: 'canary',
  };
  const cases: [object, string, string][] = [
    [{ token: 'canary' }, 'bearer token', 'service.tokenFile'],
    [{ token: 'canary', credential: { kind: 'apiKey' } }, 'API key in X-Api-Key', 'service.tokenFile'],
    [
      { credential: { kind: 'apiKey', header: 'Authorization', scheme: 'ApiKey' } },
      'API key in Authorization after ApiKey',
      'service.tokenFile',
    ],
    [
      { credential: oauth, proxy: { url: 'http://proxy.example.com:3128', user: 'anna', password: 'canary' } },
      'OAuth 2.0 client waybill of https://login.example.com/token, through http://proxy.example.com:3128',
      'service.credential.clientSecretFile',
    ],
    [
      { credential: { ...oauth, authentication: 'certificate' }, tls: { certificateFile: 'c.pem', key: 'canary' } },
      'OAuth 2.0 client waybill of https://login.example.com/token, client certificate',
      'service.tls.certificateFile',
    ],
    [{ credential: { kind: 'certificate' } }, 'client certificate', 'service.tls.certificateFile'],
  ];
  for (const [settings, words, setting] of cases)
    it(`is shown as "${words}", and replaced at ${setting}`, () => {
      expect(credentialInWords(of(settings))).to.equal(words);
      expect(credentialSetting(of(settings).credential)).to.equal(setting);
    });
});
