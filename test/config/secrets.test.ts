import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { loadSettings } from '../../src/config/load-settings.js';
import { Secret } from '../../src/model/secret.js';
import { errorOf, folderWith, load, pathsOf, removeFolders, tokenInEnvironment, validSettings } from './folder.js';

const canary = 'canary-7f3a';

/** Settings that name these secret files, and a folder that holds them. */
function withFiles(files: Record<string, string>, more: { service?: object; erp?: object; store?: object } = {}) {
  const settings = validSettings();
  Object.assign(settings.service, more.service);
  Object.assign(settings.erp, more.erp);
  const store = more.store === undefined ? {} : { store: more.store };
  return folderWith({ 'local.yaml': { ...settings, ...store }, ...files });
}

describe('a secret', () => {
  it('shows itself only when asked', () => {
    const secret = new Secret(canary);
    const shown = [String(secret), `${secret}`, JSON.stringify({ secret }), inspect({ secret }, { showHidden: true })];
    shown.push(
      Object.entries(secret).join(),
      `${secret as unknown as string}x`,
      JSON.stringify(structuredClone({ ...secret })),
    );
    expect(shown.join(' ')).not.to.contain(canary);
    expect(shown[0]).to.equal('[secret]');
    expect(secret.reveal()).to.equal(canary);
  });
});

describe('secrets of the configuration', () => {
  afterEach(removeFolders);

  it('are read from their files, relative to the configuration folder, without one line break at the end', () => {
    const configDir = withFiles(
      { 'keys/token': `${canary}\n`, 'keys/erp': 'two words \r\n', 'keys/store': 'line\n\n' },
      {
        service: { tokenFile: 'keys/token' },
        erp: { passwordFile: 'keys/erp' },
        store: { type: 'mysql', database: 'w', user: 'w', passwordFile: 'keys/store' },
      },
    );
    const { settings, warnings } = loadSettings({ configDir, env: {} });
    expect(settings.service.token?.reveal()).to.equal(canary);
    expect(settings.service.tokenFile).to.equal(join(configDir, 'keys/token'));
    if (settings.erp.type !== 'mysql' || settings.store.type !== 'mysql') throw new Error('not reached');
    expect(settings.erp.password?.reveal()).to.equal('two words ');
    expect(settings.store.password?.reveal()).to.equal('line\n');
    expect(warnings).to.deep.equal([]);
    expect(JSON.stringify(settings) + inspect(settings, { depth: 9 })).not.to.contain(canary);
  });

  it('are read from the credentials that systemd gives', () => {
    const configDir = withFiles({ 'creds/service-token': canary, 'creds/erp-password': 'erp', 'creds/other': 'x' });
    const env = { CREDENTIALS_DIRECTORY: join(configDir, 'creds') };
    const { settings } = loadSettings({ configDir, env });
    expect(settings.service.token?.reveal()).to.equal(canary);
    expect(settings.service.tokenFile).to.equal(join(configDir, 'creds/service-token'));
    expect(settings.erp).to.have.property('passwordFile', join(configDir, 'creds/erp-password'));
  });

  it('are not looked for where they have no meaning', () => {
    const settings = { ...validSettings(), erp: { type: 'sqlite', file: 'erp.sqlite', timeZone: 'UTC' } };
    const configDir = folderWith({ 'local.yaml': settings, 'creds/erp-password': 'x', 'creds/store-password': 'x' });
    loadSettings({ configDir, env: { ...tokenInEnvironment, CREDENTIALS_DIRECTORY: join(configDir, 'creds') } });
  });

  it('come from the environment first, then from the named file, then from the credentials', () => {
    const configDir = withFiles(
      { token: 'file', 'creds/service-token': 'credential' },
      { service: { tokenFile: 'token' } },
    );
    const env = { CREDENTIALS_DIRECTORY: join(configDir, 'creds') };
    expect(loadSettings({ configDir, env }).settings.service.token?.reveal()).to.equal('file');
    const both = loadSettings({ configDir, env: { ...env, ...tokenInEnvironment } });
    expect(both.settings.service.token?.reveal()).to.equal('token-for-tests');
    expect(both.settings.service.tokenFile, 'a file that lost must not be read later').to.equal(undefined);
    expect(both.warnings.join()).to.contain(
      'WAYBILL_SERVICE_TOKEN is set, so the file in service.tokenFile is not read',
    );
  });

  it('are required of the service', () => {
    const { problems } = errorOf(() => load(validSettings(), {}));
    expect(pathsOf(problems)).to.deep.equal(['service.tokenFile']);
  });

  for (const environment of ['sandbox', 'production']) {
    it(`are refused in a settings file, in ${environment} too, by path and line and without their value`, () => {
      const settings = validSettings();
      Object.assign(settings.service, { environment, token: canary });
      Object.assign(settings.erp, { password: `${canary}-erp` });
      const store = { type: 'mysql', database: 'w', user: 'w', password: `${canary}-store` };
      const error = errorOf(() => load({ ...settings, store }));
      expect(pathsOf(error.problems)).to.have.members(['service.token', 'erp.password', 'store.password']);
      expect(error.message)
        .to.match(/local\.yaml:\d+/)
        .and.not.to.contain(canary);
    });
  }

  it('are refused in a settings file even when a later file takes them out again', () => {
    const configDir = folderWith({ 'default.yaml': { service: { token: canary } }, 'local.yaml': validSettings() });
    const error = errorOf(() => loadSettings({ configDir, env: tokenInEnvironment }));
    expect(error.message).to.contain('default.yaml:2').and.not.to.contain(canary);
  });

  for (const [what, file, fault] of [
    ['is missing', 'nowhere', /does not exist/],
    ['is empty', 'empty', /is empty/],
    ['is a folder', 'folder', /not a regular file/],
    ['is far too large', 'large', /far too large/],
  ] as const) {
    it(`are refused when the file ${what}, once`, () => {
      const configDir = withFiles({ empty: '\n', large: 'x'.repeat(100_000) }, { service: { tokenFile: file } });
      mkdirSync(join(configDir, 'folder'));
      const { problems } = errorOf(() => loadSettings({ configDir, env: {} }));
      expect(pathsOf(problems)).to.deep.equal(['service.tokenFile']);
      expect(problems[0]?.message).to.match(fault);
    });
  }

  it('give a warning when every account may read their file', () => {
    const configDir = withFiles({ token: canary }, { service: { tokenFile: 'token' } });
    chmodSync(join(configDir, 'token'), 0o644);
    const { warnings } = loadSettings({ configDir, env: {} });
    expect(warnings)
      .to.have.lengthOf(1)
      .and.to.match(/chmod o-rwx/);
    chmodSync(join(configDir, 'token'), 0o640);
    expect(loadSettings({ configDir, env: {} }).warnings).to.deep.equal([]);
  });

  it('are refused when the token holds what no header can carry', () => {
    const configDir = withFiles({ token: `${canary}\nsecond line` }, { service: { tokenFile: 'token' } });
    const error = errorOf(() => loadSettings({ configDir, env: {} }));
    expect(error.message)
      .to.match(/service\.token.*line break/)
      .and.not.to.contain(canary);
  });

  it('are shown nowhere when they stand in the wrong place', () => {
    const settings = validSettings();
    Object.assign(settings.service, { baseUrl: `https://user:${canary}@example.com`, tokne: canary, apiToken: canary });
    Object.assign(settings.erp, { host: '', passwort: canary, port: `mysql://root:${canary}@db` });
    const error = errorOf(() => load(settings));
    expect(error.problems).to.have.lengthOf(6);
    expect(error.message).not.to.contain(canary);
    expect(JSON.stringify(error.problems)).not.to.contain(canary);
  });

  it('are not shown when they are pasted where no text belongs, or behind an address', () => {
    const settings = validSettings();
    Object.assign(settings, { delivery: `${canary}-and-more`, capture: 'on' });
    Object.assign(settings.service, {
      deadlineSeconds: `${canary}-and-more`,
      baseUrl: `https://example.com/?key=${canary}`,
    });
    const { message, problems } = errorOf(() => load(settings));
    expect(message).not.to.contain(canary);
    expect(problems.map(({ found }) => found)).to.include.members([
      'a text of 20 characters',
      '"on"',
      '"https://example.com/?[secret]"',
    ]);
  });

  it('can be replaced in their file and read again', () => {
    const configDir = withFiles({ token: 'old' }, { service: { tokenFile: 'token' } });
    const { tokenFile = '' } = loadSettings({ configDir, env: {} }).settings.service;
    writeFileSync(tokenFile, 'new\n');
    expect(loadSettings({ configDir, env: {} }).settings.service.token?.reveal()).to.equal('new');
  });
});
