import { expect } from 'chai';
import type { ConfigurationError } from '../../src/config/configuration-error.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';

const mysql = { ...sampleErpMapping.erp, type: 'mysql', database: 'erp', user: 'waybill_reader' };

function given(erp: object, more: object = {}) {
  const service = { environment: 'sandbox', baseUrl: 'https://sandbox.example.com', token: 'token' };
  return settingsFrom({
    ...sampleErpMapping,
    installation: 'example-office',
    service,
    erp: { ...mysql, ...erp },
    ...more,
  });
}

function problemsOf(erp: object, more?: object): string[] {
  try {
    given(erp, more);
    return [];
  } catch (error) {
    return (error as ConfigurationError).problems.map(({ path, message }) => `${path} ${message}`);
  }
}

describe('the kind of the ERP database', () => {
  const problemOf = (type: string) => {
    try {
      return given({ type });
    } catch (error) {
      return (error as ConfigurationError).problems.find(({ path }) => path === 'erp.type');
    }
  };

  it('that Waybill does not read is told what to do instead', () => {
    for (const type of ['mssql', 'oracle', 'db2', 'mariadb', 'postgresql'])
      expect(problemOf(type), type)
        .to.include({ message: 'is not mysql, postgres or sqlite' })
        .and.have.property('hint')
        .that.matches(/MariaDB is mysql, PostgreSQL is postgres.*SQL Server, Oracle or another one copy the tables/);
  });

  it('has a port of its own', () => {
    expect(given({ type: 'postgres' }).erp).to.include({ type: 'postgres', port: 5432, host: '127.0.0.1' });
    expect(given({}).erp).to.include({ type: 'mysql', port: 3306 });
  });
});

describe('the connection to a database server', () => {
  it('is asked for the name in the certificate where the host is an address', () => {
    for (const type of ['mysql', 'postgres'])
      expect(problemsOf({ type, host: '192.0.2.7' })).to.deep.equal(['erp.tls.serverName required, but not set']);
    expect(problemsOf({ type: 'postgres', host: '/var/run/postgresql' })).to.deep.equal([]);
    expect(problemsOf({ host: '192.0.2.7', tls: { serverName: 'erp.example.test' } })).to.deep.equal([]);
    expect(problemsOf({ host: '192.0.2.7', tls: { mode: 'off' } })).to.deep.equal([]);
    const store = { type: 'mysql', database: 'waybill', user: 'waybill', host: '2001:db8::7' };
    expect(problemsOf({}, { store })).to.deep.equal(['store.tls.serverName required, but not set']);
  });

  it('is asked for the private key of a client certificate', () => {
    const tls = { certificateFile: 'client.pem' };
    expect(problemsOf({ host: 'erp.example.test', tls })).to.deep.equal(['erp.tls.keyFile required, but not set']);
    expect(problemsOf({ host: 'erp.example.test', tls: { ...tls, key: 'PEM' } })).to.deep.equal([]);
  });

  it('of the write-back is that of the ERP, unless it has a host of its own', () => {
    const erp = { host: '192.0.2.7', tls: { serverName: 'erp.example.test', caFile: '/ca.pem' } };
    const writeBack = { enabled: true, user: 'waybill_writer' };
    expect(problemsOf(erp, { writeBack })).to.deep.equal([]);
    expect(problemsOf(erp, { writeBack: { ...writeBack, host: '192.0.2.8' } })).to.deep.equal([
      'writeBack.tls.serverName required, but not set',
    ]);
  });
});
