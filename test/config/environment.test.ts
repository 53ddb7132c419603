import { expect } from 'chai';
import fc from 'fast-check';
import { environmentOverrides } from '../../src/config/environment-overrides.js';
import { settingList } from '../../src/config/setting-list.js';
import { load, pathsOf, problemsOf, removeFolders, tokenInEnvironment, validSettings } from './folder.js';

const withEnvironment = (env: Record<string, string>) => load(validSettings(), { ...tokenInEnvironment, ...env });
const refused = (env: Record<string, string>) => problemsOf(validSettings(), { ...tokenInEnvironment, ...env });

describe('settings from the environment', () => {
  afterEach(removeFolders);

  it('have names made from the path of the setting', () => {
    const names = Object.fromEntries(settingList.map(({ path, environmentName }) => [path, environmentName]));
    expect(names).to.include({
      installation: 'WAYBILL_INSTALLATION',
      'erp.passwordFile': 'WAYBILL_ERP_PASSWORD_FILE',
      'erp.file': 'WAYBILL_ERP_FILE',
      'store.database': 'WAYBILL_STORE_DATABASE',
      'service.baseUrl': 'WAYBILL_SERVICE_BASE_URL',
      'service.deadlineSeconds': 'WAYBILL_SERVICE_DEADLINE_SECONDS',
      'service.endpoints.createOrder.path': 'WAYBILL_SERVICE_ENDPOINTS_CREATE_ORDER_PATH',
    });
  });

  it('have names that no two settings share', () => {
    const names = settingList.map((entry) => entry.environmentName);
    expect(names).to.have.lengthOf(new Set(names).size);
    expect(settingList.map(({ path }) => path)).to.have.lengthOf(new Set(settingList.map(({ path }) => path)).size);
  });

  it('win over the files, with numbers, truth values, lists and groups converted', () => {
    const { settings } = withEnvironment({
      WAYBILL_ERP_PORT: '3307',
      WAYBILL_ERP_QUERY_TIMEOUT_SECONDS: '0.5',
      WAYBILL_INVOICES_ENABLED: 'false',
      WAYBILL_ORDERS_KEY: '["company", "id"]',
      WAYBILL_ORDERS_LINES_ORDER_KEY: '["company", "order_id"]',
      WAYBILL_ORDERS_START_FROM: '{"column": "id", "from": 100}',
      WAYBILL_ORDERS_FIELDS: '{"note": {"constant": "by waybill"}}',
      WAYBILL_SERVICE_LIMITS: '[{"requests": 10}]',
      WAYBILL_SERVICE_ANSWERS_KEY_REUSED: '[{"status": 400, "code": "reused"}]',
      WAYBILL_STORE_FILE: '/tmp/elsewhere.sqlite',
      WAYBILL_INSTALLATION: '12345',
    });
    expect(settings.erp).to.include({ port: 3307, queryTimeoutSeconds: 0.5 });
    expect(settings.invoices.enabled).to.equal(false);
    expect(settings.orders.key).to.deep.equal(['company', 'id']);
    expect(settings.orders.startFrom).to.deep.equal({ column: 'id', from: 100 });
    expect(settings.orders.fields.note).to.include({ constant: 'by waybill' });
    expect(settings.service.limits).to.deep.equal([{ requests: 10, perSeconds: 1 }]);
    expect(settings.service.answers.keyReused).to.deep.equal([{ status: 400, code: 'reused' }]);
    expect(settings.store).to.include({ type: 'sqlite', file: '/tmp/elsewhere.sqlite' });
    expect(settings.installation).to.equal('12345');
    expect(withEnvironment({ WAYBILL_ORDERS_START_FROM: 'all' }).settings.orders.startFrom).to.equal('all');
  });

  it('are enough to choose another kind of database', () => {
    const { settings } = withEnvironment({
      WAYBILL_STORE_TYPE: 'mysql',
      WAYBILL_STORE_DATABASE: 'w',
      WAYBILL_STORE_USER: 'u',
    });
    expect(settings.store).to.include({ type: 'mysql', database: 'w', port: 3306 });
  });

  it('are refused under an unknown name, with the one that was probably meant', () => {
    const [problem, ...others] = refused({ WAYBILL_SERVICE_BASEURL: 'x' });
    expect(problem).to.include({ path: 'WAYBILL_SERVICE_BASEURL', hint: 'did you mean WAYBILL_SERVICE_BASE_URL?' });
    expect(others).to.deep.equal([]);
  });

  it('are refused with the name of the variable when the value is wrong', () => {
    const problems = refused({
      WAYBILL_ERP_PORT: '33o6',
      WAYBILL_INVOICES_ENABLED: 'yes',
      WAYBILL_ORDERS_FIELDS: '{"note": ',
      WAYBILL_LOG_LEVEL: '',
    });
    const paths = ['erp.port', 'orders.fields', 'invoices.enabled', 'log.level'];
    expect(pathsOf(problems)).to.have.members(paths);
    expect(problems.map(({ where }) => where)).to.have.members([
      'WAYBILL_ERP_PORT',
      'WAYBILL_ORDERS_FIELDS',
      'WAYBILL_INVOICES_ENABLED',
      'WAYBILL_LOG_LEVEL',
    ]);
    expect(problems.find(({ path }) => path === 'erp.port')?.found).to.equal('"33o6"');
  });

  it('are refused when they are empty, because a command that failed inside a script leaves them so', () => {
    const [problem] = problemsOf(validSettings(), { WAYBILL_SERVICE_TOKEN: ' ' });
    expect(problem).to.include({ path: 'service.token', message: 'empty', where: 'WAYBILL_SERVICE_TOKEN' });
    expect(refused({ WAYBILL_STORE_FILE: '' })[0]?.message).to.equal('empty');
  });

  it('leave everything that does not begin with WAYBILL_ alone', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (env) => {
        const foreign = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('WAYBILL_')));
        expect(environmentOverrides(foreign)).to.deep.equal({ overrides: [], problems: [] });
      }),
    );
  });

  it('give either a value or a problem for every setting and any text, and never throw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...settingList), fc.string(), (entry, text) => {
        const { overrides, problems } = environmentOverrides({ [entry.environmentName]: text });
        expect(overrides.length + problems.length).to.equal(1);
      }),
    );
  });
});
