import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadSettings, settingsFrom } from '../../src/config/load-settings.js';
import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';

describe('the example configuration', () => {
  const env = { WAYBILL_SERVICE_TOKEN: 'token', WAYBILL_ERP_PASSWORD: 'password' };

  it('is valid where it stands, once the secrets are there', () => {
    const { settings, warnings } = loadSettings({ configDir: 'config/example', env });
    expect(settings.erp.type).to.equal('mysql');
    expect(warnings).to.deep.equal([]);
  });

  it('for Odoo is as valid, and reads PostgreSQL', () => {
    const { settings, warnings } = loadSettings({ configDir: 'config/example-odoo', env });
    expect(settings.erp).to.include({ type: 'postgres', port: 5432, timeZone: 'UTC' });
    expect(warnings).to.deep.equal([]);
  });

  it('reads the sample ERP', () => {
    const { settings } = loadSettings({ configDir: 'config/example', env });
    const erp = { ...sampleErpMapping.erp, type: 'mysql', database: 'erp', user: 'waybill_reader' };
    const service = { environment: 'sandbox', baseUrl: 'https://sandbox.example.com', token: 'token' };
    const sample = settingsFrom({ installation: 'example-office', ...sampleErpMapping, erp, service });
    expect(settings.customers).to.deep.equal(sample.customers);
    expect(settings.orders).to.deep.equal(sample.orders);
    expect(settings.erp.timeZone).to.equal(sample.erp.timeZone);
    expect(settings.amounts.currency).to.equal(sample.amounts.currency);
  });

  it('is valid when it is copied beside the file that ships', () => {
    const configDir = mkdtempSync(join(tmpdir(), 'waybill-example-'));
    try {
      copyFileSync('config/default.yaml', join(configDir, 'default.yaml'));
      copyFileSync('config/example/local.yaml', join(configDir, 'local.yaml'));
      expect(loadSettings({ configDir, env }).files).to.have.lengthOf(2);
    } finally {
      rmSync(configDir, { recursive: true });
    }
  });
});
