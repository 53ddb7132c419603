import { expect } from 'chai';
import fc from 'fast-check';
import { ConfigurationError } from '../../src/config/configuration-error.js';
import { loadSettings } from '../../src/config/load-settings.js';
import { settingList } from '../../src/config/setting-list.js';
import { setIn } from '../../src/config/tree-path.js';
import {
  errorOf,
  folderWith,
  load,
  pathsOf,
  problemsOf,
  removeFolders,
  tokenInEnvironment,
  validSettings,
} from './folder.js';

type Settings = ReturnType<typeof validSettings>;

/** One mistake: how it is made, and the path under which it is told. No two of them touch the same setting. */
const mistakes: [path: string, make: (settings: Settings) => void][] = [
  ['installation', (s) => Object.assign(s, { installation: 'a b' })],
  ['erp.timeZone', (s) => delete s.erp.timeZone],
  ['erp.port', (s) => Object.assign(s.erp, { port: 99_999 })],
  ['erp.database', (s) => delete s.erp.database],
  ['erp.pasword', (s) => Object.assign(s.erp, { pasword: 'x' })],
  ['customers.query', (s) => delete s.customers.query],
  ['customers.fields.name', (s) => Object.assign(s.customers.fields as object, { name: { type: 'text' } })],
  [
    'customers.fields.email.type',
    (s) => Object.assign(s.customers.fields as object, { email: { column: 'e', type: 'mail' } }),
  ],
  ['orders.startFrom', (s) => delete s.orders.startFrom],
  ['orders.customerKey', (s) => delete s.orders.customerKey],
  ['orders.settleSeconds', (s) => Object.assign(s.orders, { settleSeconds: -1 })],
  ['orders.fields.items', (s) => Object.assign(s.orders, { fields: { items: 'x' } })],
  ['orders.lines.sortBy', (s) => Object.assign(s.orders.lines as object, { sortBy: [] })],
  [
    'orders.lines.fields.qty',
    (s) => delete (s.orders.lines as Settings['erp'] & { fields: Settings['erp'] }).fields.qty,
  ],
  ['amounts.currency', (s) => Object.assign(s.amounts, { currency: 'XYZ' })],
  ['amounts.rounding', (s) => Object.assign(s.amounts, { rounding: 'down' })],
  ['service.environment', (s) => Object.assign(s.service, { environment: 'test' })],
  ['service.deadlineSeconds', (s) => Object.assign(s.service, { deadlineSeconds: 15 })],
  ['service.idempotency.header', (s) => Object.assign(s.service, { idempotency: { header: 'Content-Length' } })],
  [
    'service.answers.inProgress[0].pattern',
    (s) => Object.assign(s.service, { answers: { inProgress: [{ status: 409, pattern: '(' }] } }),
  ],
  [
    'service.limits[0].perSeconds',
    (s) => {
      Object.assign(s, { retention: { messagesDays: 7 } });
      Object.assign(s.service, { limits: [{ requests: 9, perSeconds: 700_000 }] });
    },
  ],
  [
    'schedule.quietHours[0].to',
    (s) => Object.assign(s, { schedule: { ...(s.schedule as object), quietHours: [{ from: '22:00', to: '22:00' }] } }),
  ],
  ['store.type', (s) => Object.assign(s, { store: { type: 'oracle' } })],
  ['schedule.capture', (s) => Object.assign(s, { schedule: { ...(s.schedule as object), capture: 'every minute' } })],
  ['log', (s) => Object.assign(s, { log: 'info' })],
  ['deliver', (s) => Object.assign(s, { deliver: {} })],
  ['capture.pageSize', (s) => Object.assign(s, { capture: { pageSize: 1.5 } })],
  ['service.fields.order[""]', (s) => Object.assign(s.service, { fields: { order: { '': {} } } })],
  ['alerts', (s) => Object.assign(s, { alerts: null })],
];

describe('a wrong configuration', () => {
  afterEach(removeFolders);

  for (const [path, make] of mistakes) {
    it(`is told what is wrong with ${path}, and nothing else`, () => {
      const settings = validSettings();
      make(settings);
      expect(pathsOf(problemsOf(settings))).to.deep.equal([path]);
    });
  }

  it('is told every one of its independent mistakes at once', () => {
    fc.assert(
      fc.property(fc.subarray(mistakes, { minLength: 1 }), (made) => {
        const settings = validSettings();
        for (const [, make] of made) make(settings);
        expect(pathsOf(problemsOf(settings))).to.have.members(made.map(([path]) => path));
        removeFolders();
      }),
      { numRuns: 100 },
    );
  });

  it('is told every required setting when there is nothing but what ships', () => {
    const error = errorOf(() => loadSettings({ configDir: 'config', env: { NODE_ENV: 'none' } }));
    expect(pathsOf(error.problems)).to.deep.equal([
      'installation',
      'erp.type',
      'erp.timeZone',
      'customers.query',
      'customers.key',
      'customers.fields.customer_code',
      'orders.query',
      'orders.key',
      'orders.startFrom',
      'orders.lines.query',
      'orders.lines.orderKey',
      'orders.lines.sortBy',
      'orders.lines.fields',
      'orders.customerKey',
      'amounts.currency',
      'service.environment',
      'service.baseUrl',
      'service.tokenFile',
    ]);
    for (const problem of error.problems) expect(problem).to.have.property('allowed').that.is.not.equal('');
  });

  it('reads well', () => {
    const settings = validSettings();
    Object.assign(settings.erp, { port: 99_999, hots: 'db' });
    delete settings.erp.timeZone;
    const configDir = folderWith({ 'local.yaml': settings });
    const { message } = errorOf(() => loadSettings({ configDir, env: tokenInEnvironment }));
    expect(message).to.equal(`The configuration in ${configDir} has 3 problems:

  erp.port: is not a whole number from 1 to 65535
      found: 99999 (${configDir}/local.yaml:6)
  erp.timeZone: required, but not set
      allowed: an IANA time zone such as Europe/Berlin
      try: set it in local.yaml, or in WAYBILL_ERP_TIME_ZONE
  erp.hots: no setting has this name
      where: ${configDir}/local.yaml:7
      try: did you mean erp.host?
`);
  });

  it('is told of the file whose value won', () => {
    const configDir = folderWith({
      'default.yaml': { log: { level: 'loud' }, ...validSettings() },
      'local.yaml': { log: { level: 'silent' } },
    });
    const [problem] = errorOf(() => loadSettings({ configDir, env: tokenInEnvironment })).problems;
    expect(problem).to.include({ found: '"silent"', where: `${configDir}/local.yaml:2` });
  });

  it('is told of a query of which nothing is left but its semicolon', () => {
    const settings = validSettings();
    Object.assign(settings.customers, { query: ' ;\n' });
    Object.assign(settings.orders, { query: ' ' });
    expect(pathsOf(problemsOf(settings))).to.deep.equal(['customers.query', 'orders.query']);
  });

  it('checks what every kind of database has when the kind is wrong', () => {
    const settings = { ...validSettings(), erp: { type: 'oracle', timeZone: 'Mars/Olympus', usr: 'x' } };
    expect(pathsOf(problemsOf(settings))).to.have.members(['erp.type', 'erp.timeZone', 'erp.usr']);
  });

  for (const [what, change, path, hint] of [
    [
      'a setting of another kind of database',
      { store: { host: 'db' } },
      'store.host',
      'only where store.type is mysql or postgres',
    ],
    [
      'a setting in the wrong group',
      { capture: { startFrom: 'all' } },
      'capture.startFrom',
      'did you mean orders.startFrom?',
    ],
    ['a name like none that is known', { log: { zzz: 1 } }, 'log.zzz', 'known here: level'],
  ] as const) {
    it(`is helped with ${what}`, () => {
      expect(problemsOf({ ...validSettings(), ...change })[0]).to.include({ path, hint });
    });
  }
});

describe('settings that have to agree', () => {
  afterEach(removeFolders);
  const change = (group: keyof Settings & ('erp' | 'customers' | 'orders' | 'service' | 'amounts'), values: object) => {
    const settings = validSettings();
    Object.assign(settings[group], values);
    return settings;
  };
  const refusedAt = (settings: object) => pathsOf(problemsOf(settings));

  it('need no customers where none are sent, but then the code in the order', () => {
    const settings = validSettings();
    delete settings.orders.customerKey;
    expect(refusedAt({ ...settings, customers: { send: 'none' } })).to.deep.equal(['orders.fields.customer_code']);
    settings.orders.fields = { customer_code: 'customer_code' };
    load({ ...settings, customers: { send: 'none' } });
  });

  it('need customers that are sent where the invoices of each are asked for', () => {
    const settings = validSettings();
    load({ ...settings, invoices: { scope: 'per-customer' } });
    delete settings.orders.customerKey;
    settings.orders.fields = { customer_code: 'customer_code' };
    const without = { ...settings, customers: { send: 'none' } };
    expect(refusedAt({ ...without, invoices: { scope: 'per-customer' } })).to.deep.equal(['invoices.scope']);
    load({ ...without, invoices: { scope: 'all' } });
  });

  it('compare composite keys with what points at them', () => {
    const settings = change('orders', { key: ['company', 'id'], customerKey: ['company', 'customer_id'] });
    expect(refusedAt(settings)).to.have.members(['orders.customerKey', 'orders.lines.orderKey']);
  });

  for (const [baseUrl, environment, allowed] of [
    ['http://api.example.com', 'production', false],
    ['http://api.example.com', 'sandbox', true],
    ['https://api.example.com', 'production', true],
    ['http://127.0.0.1:8080', 'production', true],
    ['http://[::1]:8080/base', 'production', true],
    ['http://localhost:8080', 'production', true],
    ['http://localhost.example.com', 'production', false],
    ['http://127.0.0.1.example.com', 'production', false],
    ['ftp://api.example.com', 'sandbox', false],
    ['api.example.com', 'sandbox', false],
    ['https://api.example.com?key=1', 'sandbox', false],
    ['https://user:x@api.example.com', 'sandbox', false],
  ] as const) {
    it(`${allowed ? 'allow' : 'refuse'} ${baseUrl} in ${environment}`, () => {
      const settings = change('service', { baseUrl, environment });
      if (allowed) load(settings);
      else expect(refusedAt(settings)).to.deep.equal(['service.baseUrl']);
    });
  }

  for (const [what, settings, path] of [
    ['a deadline of half the lease', change('service', { deadlineSeconds: 15 }), 'service.deadlineSeconds'],
    [
      'a first wait above the longest',
      { ...validSettings(), delivery: { backoffBaseSeconds: 10, backoffMaxSeconds: 5 } },
      'delivery.backoffBaseSeconds',
    ],
    ['a kind of store that is no text', { ...validSettings(), store: { type: { toString: '' } } }, 'store.type'],
    ['a store that forgets', { ...validSettings(), store: { file: ':memory:' } }, 'store.file'],
    [
      'one answer with two meanings',
      change('service', { answers: { inProgress: [{ status: 409 }], alreadyExists: [{ status: 409 }] } }),
      'service.answers.alreadyExists[0]',
    ],
    ['a key that names a column twice', change('orders', { key: ['id', 'id'] }), 'orders.key'],
    [
      'a field with a column and a constant',
      change('orders', { fields: { note: { column: 'a', constant: 'b' } } }),
      'orders.fields.note',
    ],
    [
      'a customer code that may be missing',
      change('customers', { fields: { customer_code: { column: 'code', optional: true } } }),
      'customers.fields.customer_code.optional',
    ],
    [
      'a path to another host',
      change('service', { endpoints: { createOrder: { path: '//evil.example' } } }),
      'service.endpoints.createOrder.path',
    ],
    ['a cron expression without seconds', { ...validSettings(), schedule: { pull: '*/15 * * * *' } }, 'schedule.pull'],
    ['an offset for a time zone', { ...validSettings(), schedule: { timeZone: '+02:00' } }, 'schedule.timeZone'],
    ['a currency that is gone', change('amounts', { currency: 'DEM' }), 'amounts.currency'],
    [
      'a slip within a field mapping, once',
      change('orders', { fields: { note: { colum: 'a' } } }),
      'orders.fields.note.colum',
    ],
    [
      'a key beyond what a number holds',
      change('orders', { startFrom: { column: 'id', from: 2 ** 53 } }),
      'orders.startFrom.from',
    ],
  ] as const) {
    it(`refuse ${what}`, () => {
      expect(refusedAt(settings)).to.deep.equal([path]);
    });
  }
});

describe('any content of a settings file', () => {
  afterEach(removeFolders);

  const value = fc.oneof(
    fc.constantFrom(null, '', 'all', 'mysql', 'sqlite', 0, -1, 0.5, true, [], {}, ['a', 1], { type: 'mysql' }),
    fc.jsonValue({ maxDepth: 3 }),
  );

  it('is accepted or refused with a list of problems, and nothing else happens', () => {
    const paths = settingList.map(({ segments }) => segments);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...paths), fc.nat(4), value), { maxLength: 6 }), (changes) => {
        const settings: Record<string, unknown> = structuredClone(validSettings());
        for (const [segments, depth, given] of changes)
          setIn(settings, segments.slice(0, depth + 1), structuredClone(given));
        const configDir = folderWith({ 'local.yaml': JSON.stringify(settings) });
        try {
          loadSettings({ configDir, env: tokenInEnvironment });
        } catch (error) {
          expect(error).to.be.instanceOf(ConfigurationError);
          const { problems } = error as ConfigurationError;
          expect(problems).to.have.lengthOf.above(0);
          const told = problems.map(({ path, message }) => `${path} ${message}`);
          expect(told).to.have.lengthOf(new Set(told).size);
        }
        removeFolders();
      }),
      { numRuns: 1000 },
    );
  });
});
