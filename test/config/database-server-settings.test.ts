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

const modeOf = ({ tls }: { tls?: { mode?: unknown } } | never) => tls?.mode;

describe('the connection to a database server', () => {
  it('has to be secure, unless the server is this machine or the settings say otherwise', () => {
    for (const host of ['127.0.0.1', 'localhost', '::1']) expect(modeOf(given({ host }).erp as never)).to.equal('off');
    expect(modeOf(given({ host: 'erp.example.test' }).erp as never)).to.equal('required');
    expect(modeOf(given({ host: 'erp.example.test', tls: { mode: 'off' } }).erp as never)).to.equal('off');
    expect(modeOf(given({ tls: { mode: 'required', serverName: 'localhost' } }).erp as never)).to.equal('required');
    const store = { type: 'mysql', database: 'waybill', user: 'waybill', host: 'store.example.test' };
    expect(modeOf(given({}, { store }).store as never)).to.equal('required');
  });

  it('is asked for the name in the certificate where the host is an address', () => {
    expect(problemsOf({ host: '192.0.2.7' })).to.deep.equal(['erp.tls.serverName required, but not set']);
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
    expect(given(erp, { writeBack }).writeBack.tls).to.deep.equal({
      mode: 'required',
      serverName: 'erp.example.test',
      caFile: '/ca.pem',
    });
    const elsewhere = { ...writeBack, host: 'side.example.test' };
    expect(given(erp, { writeBack: elsewhere }).writeBack.tls).to.deep.equal({ mode: 'required' });
    expect(problemsOf(erp, { writeBack: { ...writeBack, host: '192.0.2.8' } })).to.deep.equal([
      'writeBack.tls.serverName required, but not set',
    ]);
  });
});
