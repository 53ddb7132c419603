import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { Authority } from '../support/certificates.js';
import { useTempDir } from '../support/temp-dir.js';
import { errorOf, load, removeFolders, tokenInEnvironment, validSettings } from './folder.js';

describe('the settings of credentials', () => {
  const dir = useTempDir();
  afterEach(removeFolders);

  const given = (service: object, env: NodeJS.ProcessEnv = {}) => {
    const settings = validSettings();
    Object.assign(settings.service, service);
    return load(settings, env).settings.service;
  };
  const problemsOf = (service: object, env: NodeJS.ProcessEnv = {}) =>
    errorOf(() => given(service, env)).problems.map(({ path }) => path);
  const oauth = { kind: 'oauth', tokenUrl: 'https://login.example.com/token', clientId: 'waybill' };

  it('are a bearer token unless something else is said', () => {
    expect(given({}, tokenInEnvironment).credential).to.deep.equal({ kind: 'bearer' });
    expect(problemsOf({})).to.deep.equal(['service.tokenFile']);
  });

  it('name header and scheme of an API key, also where it stands in Authorization', () => {
    expect(given({ credential: { kind: 'apiKey' } }, tokenInEnvironment).credential).to.deep.equal({
      kind: 'apiKey',
      header: 'X-Api-Key',
    });
    const credential = { kind: 'apiKey', header: 'Authorization', scheme: 'ApiKey' };
    expect(given({ credential }, tokenInEnvironment).credential).to.deep.equal(credential);
    expect(problemsOf({ credential: { kind: 'apiKey', header: 'Host' } }, tokenInEnvironment)).to.deep.equal([
      'service.credential.header',
    ]);
    expect(problemsOf({ credential: { kind: 'apiKey', scheme: 'Api Key' } }, tokenInEnvironment)).to.deep.equal([
      'service.credential.scheme',
    ]);
    expect(problemsOf({ credential: { kind: 'apiKey' } })).to.deep.equal(['service.tokenFile']);
  });

  it('take the secret of an OAuth client from the environment, a file or systemd, and need no token', () => {
    const env = { WAYBILL_SERVICE_CREDENTIAL_CLIENT_SECRET: 'canary' };
    const { credential, token } = given({ credential: oauth }, env);
    expect(credential).to.include({ kind: 'oauth', authentication: 'basic', refreshBeforeSeconds: 60 });
    expect(credential.kind === 'oauth' && credential.clientSecret?.reveal()).to.equal('canary');
    expect(token).to.equal(undefined);
    writeFileSync(dir.file('service-credential-client-secret'), 'by systemd\n');
    const bySystemd = given({ credential: oauth }, { CREDENTIALS_DIRECTORY: dir.path }).credential;
    expect(bySystemd.kind === 'oauth' && bySystemd.clientSecret?.reveal()).to.equal('by systemd');
    expect(bySystemd.kind === 'oauth' && bySystemd.clientSecretFile).to.equal(
      dir.file('service-credential-client-secret'),
    );
    expect(problemsOf({ credential: oauth })).to.deep.equal(['service.credential.clientSecretFile']);
    expect(problemsOf({ credential: { kind: 'oauth' } }, env)).to.have.members([
      'service.credential.tokenUrl',
      'service.credential.clientId',
    ]);
  });

  it('keep a secret of a client out of the settings files', () => {
    expect(problemsOf({ credential: { ...oauth, clientSecret: 'canary' } })).to.include(
      'service.credential.clientSecret',
    );
  });

  it('refuse http for tokens in production, but on this machine', () => {
    const env = { WAYBILL_SERVICE_CREDENTIAL_CLIENT_SECRET: 'canary' };
    const at = (tokenUrl: string) => ({ environment: 'production', credential: { ...oauth, tokenUrl } });
    expect(problemsOf(at('http://login.example.com/token'), env)).to.deep.equal(['service.credential.tokenUrl']);
    expect(given(at('http://127.0.0.1:1/token'), env).credential.kind).to.equal('oauth');
    expect(problemsOf(at('https://user:canary@login.example.com/token'), env)).to.deep.equal([
      'service.credential.tokenUrl',
    ]);
  });

  it('need certificate and key where the certificate is the credential', () => {
    expect(problemsOf({ credential: { kind: 'certificate' } })).to.deep.equal(['service.tls.certificateFile']);
    const byCertificate = { credential: { ...oauth, authentication: 'certificate' } };
    expect(problemsOf(byCertificate)).to.deep.equal(['service.tls.certificateFile']);
    const authority = new Authority(dir.file('authority'));
    const office = authority.issue('office', 'phrase');
    const other = authority.issue('other');
    const tls = { caFile: authority.certFile, certificateFile: office.certFile };
    const credential = { kind: 'certificate' };
    expect(problemsOf({ credential, tls })).to.deep.equal(['service.tls.keyFile']);
    const key = { keyFile: office.keyFile };
    const phrase = { WAYBILL_SERVICE_TLS_PASSPHRASE: 'phrase' };
    expect(given({ credential, tls: { ...tls, ...key } }, phrase).tls).to.include({ minVersion: 'TLSv1.2', ...tls });
    // The wrong passphrase, the wrong key, and a file that is none.
    const wrong = { WAYBILL_SERVICE_TLS_PASSPHRASE: 'wrong' };
    for (const [files, env] of [
      [{ ...tls, ...key }, wrong],
      [{ ...tls, keyFile: other.keyFile }, {}],
    ] as const)
      expect(problemsOf({ credential, tls: files }, env)).to.deep.equal(['service.tls.certificateFile']);
    expect(problemsOf({ tls: { caFile: office.keyFile } }, tokenInEnvironment)).to.deep.equal(['service.tls.caFile']);
    expect(problemsOf({ tls: { caFile: 'absent.pem' } }, tokenInEnvironment)).to.deep.equal(['service.tls.caFile']);
  });

  it('do not speak an old TLS', () => {
    expect(problemsOf({ tls: { minVersion: 'TLSv1.1' } }, tokenInEnvironment)).to.deep.equal([
      'service.tls.minVersion',
    ]);
  });

  it('name a proxy, its account and its password', () => {
    const url = 'http://proxy.example.com:3128';
    expect(given({}, tokenInEnvironment).proxy).to.equal(undefined);
    const env = { ...tokenInEnvironment, WAYBILL_SERVICE_PROXY_PASSWORD: 'canary' };
    const { proxy } = given({ proxy: { url, user: 'anna' } }, env);
    expect(proxy).to.include({ url, user: 'anna' });
    expect(JSON.stringify(proxy)).to.not.include('canary');
    expect(problemsOf({ proxy: { url, user: 'anna' } }, tokenInEnvironment)).to.deep.equal([
      'service.proxy.passwordFile',
    ]);
    const inUrl = errorOf(() => given({ proxy: { url: 'http://anna:canary@proxy.example.com' } }, tokenInEnvironment));
    expect(inUrl.message).to.include('service.proxy.url').and.to.not.include('canary');
  });
});
