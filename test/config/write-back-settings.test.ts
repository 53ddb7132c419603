import { expect } from 'chai';
import { secretsOf } from '../../src/app.js';
import type { ConfigurationError } from '../../src/config/configuration-error.js';
import { loadSettings, settingsFrom } from '../../src/config/load-settings.js';
import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';

const mysql = { ...sampleErpMapping.erp, type: 'mysql', database: 'erp', user: 'waybill_reader' };
const base = {
  ...sampleErpMapping,
  installation: 'example-office',
  erp: mysql,
  service: { environment: 'sandbox', baseUrl: 'https://sandbox.example.com', token: 'token' },
};

function problemsOf(writeBack: object, erp: object = mysql): string[] {
  try {
    settingsFrom({ ...base, erp, writeBack });
    return [];
  } catch (error) {
    return (error as ConfigurationError).problems.map(({ path, message }) => `${path} ${message}`);
  }
}

describe('the settings of the write-back', () => {
  it('are off by default, and then ask for nothing', () => {
    const { writeBack } = settingsFrom(base);
    expect(writeBack).to.deep.include({ enabled: false, batchSize: 200, timeoutSeconds: 20, sweepHours: 24 });
    expect(writeBack.orders).to.deep.equal({ enabled: true, table: 'waybill_orders' });
    expect(settingsFrom(base).schedule.writeBack).to.equal('15,45 * * * * *');
  });

  it('want an account of its own, which is not the one that reads', () => {
    expect(problemsOf({ enabled: true })).to.deep.equal(['writeBack.user required, but not set']);
    expect(problemsOf({ enabled: true, user: 'waybill_reader' })).to.deep.equal([
      'writeBack.user is the account that reads the ERP',
    ]);
    expect(problemsOf({ enabled: true, user: 'waybill_reader', host: 'side.example.test' })).to.deep.equal([]);
    expect(problemsOf({ enabled: true, user: 'waybill_writer', port: 3307, database: 'side' })).to.deep.equal([]);
    const sqlite = { ...sampleErpMapping.erp, type: 'sqlite', file: 'erp.sqlite' };
    expect(problemsOf({ enabled: true }, sqlite), 'SQLite knows no accounts').to.deep.equal([]);
  });

  it('refuse a table that is no name, parameters that nothing fills, and `gone` alone', () => {
    const user = 'waybill_writer';
    const wrong = { enabled: true, user, orders: { table: 'a`b' } };
    expect(problemsOf(wrong))
      .to.have.length(1)
      .and.satisfy(([one]: string[]) => one?.startsWith('writeBack.orders.table'));
    expect(
      problemsOf({ enabled: true, user, orders: { upsert: 'UPDATE o SET a=:servce_id WHERE k=:key_2' } }),
    ).to.deep.equal(['writeBack.orders.upsert has parameters that nothing fills']);
    expect(problemsOf({ enabled: true, user, invoices: { gone: 'DELETE FROM i WHERE n=:invoice_no' } })).to.deep.equal([
      'writeBack.invoices.gone is given without upsert',
    ]);
    const fine = { upsert: 'UPDATE o SET a=:service_status WHERE k=:key_1;', gone: 'DELETE FROM o WHERE k=:order_key' };
    expect(problemsOf({ enabled: true, user, orders: fine, customers: { enabled: false } })).to.deep.equal([]);
  });

  it('refuse a statement that would write to the rows of other records', () => {
    const check = (target: object, kind: 'orders' | 'invoices' = 'orders') =>
      problemsOf({ enabled: true, user: 'waybill_writer', [kind]: target });
    const wrong = (name: string) => [`writeBack.${name} would write to other records than its own`];
    for (const upsert of [
      'UPDATE marks SET service_id = :service_order_id',
      "UPDATE marks SET service_id = :service_order_id, k = :order_key WHERE done = '0'",
      'UPDATE marks SET service_id = :service_order_id /* WHERE k = :order_key */',
      'INSERT INTO marks (service_id) VALUES (:service_order_id)',
      'WITH m AS (SELECT :order_key AS k) UPDATE marks SET service_id = :service_order_id',
    ])
      expect(check({ upsert }), upsert).to.deep.equal(wrong('orders.upsert'));
    const upsert = 'INSERT INTO marks (k, service_id) VALUES (:order_key, :service_order_id)';
    expect(check({ upsert })).to.deep.equal([]);
    expect(check({ upsert: 'CALL mark(:key_1, :service_order_id)' })).to.deep.equal([]);
    expect(check({ upsert, gone: 'DELETE FROM marks' })).to.deep.equal(wrong('orders.gone'));
    expect(check({ upsert: 'UPDATE i SET a = :amount WHERE n = :customer_code' }, 'invoices')).to.deep.equal(
      wrong('invoices.upsert'),
    );
  });

  it('take the password from the environment, and never print it', () => {
    const env = {
      WAYBILL_SERVICE_TOKEN: 'token',
      WAYBILL_ERP_PASSWORD: 'password',
      WAYBILL_WRITE_BACK_ENABLED: 'true',
      WAYBILL_WRITE_BACK_USER: 'waybill_writer',
      WAYBILL_WRITE_BACK_PASSWORD: 'write-back-canary',
      WAYBILL_WRITE_BACK_SWEEP_HOURS: '6',
    };
    const { settings } = loadSettings({ configDir: 'config/example', env });
    expect(settings.writeBack.password?.reveal()).to.equal('write-back-canary');
    expect(settings.writeBack.sweepHours).to.equal(6);
    expect(JSON.stringify(settings)).to.not.include('canary');
    expect(secretsOf(settings)).to.include('write-back-canary');
  });
});
