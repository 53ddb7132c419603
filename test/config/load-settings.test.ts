import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { loadSettings, settingsFrom } from '../../src/config/load-settings.js';
import { errorOf, folderWith, load, removeFolders, tokenInEnvironment, validSettings } from './folder.js';

describe('loading settings', () => {
  afterEach(removeFolders);

  it('fills in the defaults', () => {
    const { settings, warnings } = load(validSettings());
    expect(settings.erp).to.include({ type: 'mysql', host: '127.0.0.1', port: 3306 });
    expect(settings.customers.send).to.equal('referenced');
    expect(settings.service.endpoints.createOrder).to.deep.equal({
      method: 'POST',
      path: '/v1/orders',
      successStatus: 201,
    });
    expect(settings.store).to.deep.equal({
      type: 'sqlite',
      file: resolve('data/waybill.sqlite'),
      witnessFile: resolve('data/witness/waybill.sqlite.json'),
    });
    expect(warnings).to.deep.equal([]);
  });

  it('lets local.yaml win over default.yaml name by name, and replaces lists whole', () => {
    const orders = { ...validSettings().orders, key: ['company', 'id'] };
    const configDir = folderWith({
      'default.yaml': {
        ...validSettings(),
        orders,
        log: { level: 'debug' },
        capture: { pageSize: 7, sweepMinutes: 3 },
      },
      'local.yaml': { orders: { key: ['id'] }, capture: { pageSize: 8 } },
    });
    const { settings, files } = loadSettings({ configDir, env: tokenInEnvironment });
    expect(settings.orders.key).to.deep.equal(['id']);
    expect(settings.capture).to.include({ pageSize: 8, sweepMinutes: 3 });
    expect(settings.log.level).to.equal('debug');
    expect(files).to.deep.equal([join(configDir, 'default.yaml'), join(configDir, 'local.yaml')]);
  });

  it('reads the file named by NODE_ENV between default and local, and no other', () => {
    const configDir = folderWith({
      'default.yaml': { ...validSettings(), log: { level: 'error' } },
      'production.yaml': { log: { level: 'warn' }, capture: { pageSize: 5 } },
      'local.yaml': { log: { level: 'debug' } },
      'staging.yaml': { log: { level: 'not a level' } },
    });
    const { settings } = loadSettings({ configDir, env: { ...tokenInEnvironment, NODE_ENV: 'production' } });
    expect(settings.log.level).to.equal('debug');
    expect(settings.capture.pageSize).to.equal(5);
  });

  it('treats a name with nothing behind its colon as not set', () => {
    const configDir = folderWith({
      'default.yaml': { ...validSettings(), log: { level: 'debug' } },
      'local.yaml': 'log:\n  level:\ncapture:\n',
    });
    const { settings } = loadSettings({ configDir, env: tokenInEnvironment });
    expect(settings.log.level).to.equal('info');
    expect(settings.capture.pageSize).to.equal(500);
  });

  it('uses WAYBILL_CONFIG where no folder is given', () => {
    const configDir = folderWith({ 'local.yaml': validSettings() });
    const loaded = loadSettings({ env: { ...tokenInEnvironment, WAYBILL_CONFIG: configDir } });
    expect(loaded.configDir).to.equal(configDir);
  });

  it('freezes what it returns, all the way down', () => {
    const { settings } = load(validSettings());
    expect(() => Object.assign(settings.orders.lines.fields, { sku: 'other' })).to.throw(TypeError);
    expect(() => settings.orders.key.push('other')).to.throw(TypeError);
    expect(settings.service.token).to.be.frozen;
  });

  it('makes the ERP file relative to the configuration folder', () => {
    const erp = { type: 'sqlite', file: 'erp.sqlite', timeZone: 'UTC' };
    const configDir = folderWith({ 'local.yaml': { ...validSettings(), erp } });
    const { settings } = loadSettings({ configDir, env: tokenInEnvironment });
    expect(settings.erp).to.include({ file: join(configDir, 'erp.sqlite') });
  });

  for (const [file, expected] of [
    [undefined, '/var/lib/waybill/waybill.sqlite'],
    ['./data/other.sqlite', '/var/lib/waybill/other.sqlite'],
    ['kept/database.sqlite', '/var/lib/waybill/kept/database.sqlite'],
    ['/srv/data/waybill.sqlite', '/srv/data/waybill.sqlite'],
  ]) {
    it(`puts the store at ${expected} under systemd when store.file is ${file ?? 'not set'}`, () => {
      const env = { ...tokenInEnvironment, STATE_DIRECTORY: '/var/lib/waybill:/var/lib/second' };
      const { settings } = load({ ...validSettings(), ...(file === undefined ? {} : { store: { file } }) }, env);
      expect(settings.store).to.include({ file: expected });
    });
  }

  it('keeps a second witness in the second folder of the unit, or where the settings say', () => {
    const env = { ...tokenInEnvironment, STATE_DIRECTORY: '/var/lib/waybill:/var/lib/second' };
    const second = (store: object, of: NodeJS.ProcessEnv = env) =>
      load({ ...validSettings(), store }, of).settings.store.secondWitnessFile;
    expect(second({})).to.equal('/var/lib/second/waybill.sqlite.json');
    expect(second({ secondWitnessFile: '/srv/other-disk/w.json' })).to.equal('/srv/other-disk/w.json');
    expect(second({}, tokenInEnvironment)).to.equal(undefined);
  });

  it('drops the semicolon at the end of a query, which is read as part of a larger one', () => {
    const settings = validSettings();
    settings.orders.query = 'SELECT * FROM sales_orders ;\n';
    expect(load(settings).settings.orders.query).to.equal('SELECT * FROM sales_orders');
  });

  it('advises to send the order number', () => {
    const settings = validSettings();
    delete settings.orders.number;
    expect(load(settings).warnings)
      .to.have.lengthOf(1)
      .and.to.match(/orders\.number/);
  });

  it('says that a cancelled order stays at the service, unless the settings say what becomes of it', () => {
    const settings = validSettings();
    Object.assign(settings.orders, { cancelled: { column: 'status', values: ['cancelled'] } });
    expect(load(settings).warnings)
      .to.have.lengthOf(1)
      .and.to.match(/orders\.onCancelled is not: what is cancelled after it was sent stays/);
    for (const onCancelled of ['nothing', { patch: { status: 'cancelled' } }]) {
      Object.assign(settings.orders, { onCancelled });
      expect(load(settings).warnings).to.deep.equal([]);
    }
  });

  it('accepts settings made in the program, with secrets as text', () => {
    const settings = validSettings();
    settings.service.token = 'abc';
    const checked = settingsFrom(settings);
    expect(checked.service.token?.reveal()).to.equal('abc');
    expect(() => settingsFrom(validSettings())).to.throw(/service\.tokenFile/);
  });

  it('writes nothing to the terminal', () => {
    const written: unknown[] = [];
    const { stdout, stderr } = process;
    const saved = [stdout.write, stderr.write] as const;
    stdout.write = stderr.write = ((text: unknown) => written.push(text) > 0) as never;
    try {
      load(validSettings(), { ...tokenInEnvironment, NODE_ENV: 'production', NODE_APP_INSTANCE: '3' });
    } finally {
      [stdout.write, stderr.write] = saved;
    }
    expect(written).to.deep.equal([]);
  });
});

describe('a configuration folder that can not be read', () => {
  afterEach(removeFolders);
  const failure = (configDir: string) => errorOf(() => loadSettings({ configDir, env: {} }));

  it('is named when it does not exist', () => {
    expect(failure('/nowhere/at/all').message).to.match(/\/nowhere\/at\/all: there is no such folder/);
  });

  it('is named when it is a file', () => {
    const file = join(folderWith({ 'local.yaml': '{}' }), 'local.yaml');
    expect(failure(file).message).to.contain('it is not a folder');
  });

  it('says whose command it is when another account may not look into it', () => {
    const folder = folderWith({ 'local.yaml': '{}' });
    const isRoot = process.getuid?.() === 0;
    chmodSync(folder, isRoot ? 0o700 : 0o000);
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(failure(folder).message).to.match(
        /may not read the folder\n +try: .*as the account that runs Waybill.*sudo/,
      );
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o700);
    }
  });

  it('is named when it holds no settings', () => {
    expect(failure(folderWith({ 'notes.txt': '' })).message).to.contain('holds no default.yaml and no local.yaml');
  });

  it('is refused when its name would be taken for two folders', () => {
    const folder = join(folderWith({}), 'a:b');
    mkdirSync(folder);
    expect(failure(folder).message).to.contain('":"');
  });

  it('names the line of a fault in YAML, of every file, without the text around it', () => {
    const configDir = folderWith({
      'default.yaml': 'installation: office\nservice:\n\ttoken: canary-1\n',
      'local.yaml': 'erp:\n  password: *canary-2\n  host: "canary-3\n',
    });
    const error = failure(configDir);
    expect(error.problems.map(({ path }) => path)).to.include(join(configDir, 'default.yaml:3'));
    expect(error.problems.some(({ path }) => path.startsWith(join(configDir, 'local.yaml:')))).to.equal(true);
    expect(error.message).not.to.contain('canary');
  });

  for (const [what, text, message] of [
    ['the same name twice', 'log: {}\nlog: {}\n', /:2: not valid YAML: the same name twice/],
    ['a list', '- installation\n', /holds no settings/],
    ['plain text', 'hello\n', /holds no settings/],
    ['an alias without its anchor', 'erp:\n  user: *reader\n', /an alias/],
    ['an unknown tag', 'erp: !vault abc\n', /:1: not valid YAML: an unknown tag/],
    ['a name that would reach into every object', '__proto__:\n  polluted: true\n', /:1: a setting can not be called/],
  ] as const) {
    it(`is refused when a file holds ${what}`, () => {
      expect(failure(folderWith({ 'local.yaml': text })).message).to.match(message);
      expect(({} as { polluted?: boolean }).polluted).to.equal(undefined);
    });
  }

  it('tells of a file in a format that is not read', () => {
    const configDir = folderWith({ 'default.yaml': validSettings(), 'local.toml': 'x = 1' });
    writeFileSync(join(configDir, 'local.js'), 'throw new Error("executed")');
    const { warnings } = loadSettings({ configDir, env: tokenInEnvironment });
    expect(warnings.join('\n')).to.contain('local.toml is not read').and.to.contain('local.js is not read');
  });
});
