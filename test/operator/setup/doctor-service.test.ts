import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { settingsFrom } from '../../../src/config/load-settings.js';
import type { Settings } from '../../../src/config/settings.js';
import { sampleErpMapping } from '../../../src/lab/sample-erp/create-sample-erp.js';
import { pauseJobs } from '../../../src/operator/actions/pause-jobs.js';
import { askService, checkConnection } from '../../../src/operator/setup/doctor/check-service.js';
import { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { tell } from '../../../src/words/words.js';
import { Authority } from '../../support/certificates.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';
import { useTempDir } from '../../support/temp-dir.js';

onAnyLab('the doctor’s question to the service', (kit) => {
  const attempts = () => kit.rows('SELECT purpose FROM attempt');

  it('is one request that is on record, and changes nothing else', async () => {
    const lab = await kit.start();
    const found = await askService(lab.context, lab.client);
    expect(found.map(({ severity, what }) => [severity, what.slice(0, 32)])).to.deep.equal([
      ['ok', 'The service takes the credential'],
    ]);
    expect(lab.sandbox.counts().requests).to.equal(1);
    expect((await attempts()).map(({ purpose }) => purpose)).to.deep.equal(['list_invoices']);
    const audit = await kit.rows("SELECT detail FROM audit_log WHERE detail LIKE '%doctor%'");
    expect(JSON.stringify(audit)).to.contain('doctor');
    expect(await kit.rows('SELECT * FROM invoice_staging')).to.deep.equal([]);
  });

  it('tells that the credential is refused, and is asked once', async () => {
    const lab = (await kit.start({ sandbox: { token: 'another' } })).another({});
    const [found] = await askService(lab.context, lab.client);
    expect(found?.severity).to.equal('error');
    expect(found?.todo[0]).to.contain('service.tokenFile');
    expect(lab.sandbox.counts().requests).to.equal(1);
  });

  it('is asked once, also where another try might pass', async () => {
    const lab = await kit.start();
    lab.sandbox.setFaults([{ kind: 'status', status: 500, times: 1 }]);
    const [found] = await askService(lab.context, lab.client);
    expect(found?.severity).to.equal('error');
    expect(lab.sandbox.counts().requests).to.equal(1);
  });

  it('is not sent behind a pause, or beside a daemon, or where no harmless one is known', async () => {
    const lab = await kit.start();
    await lab.pull();
    const before = lab.sandbox.counts().requests;
    await pauseJobs(lab.context, ['pull'], 'stocktaking');
    const [held] = await askService(lab.context, lab.client);
    expect(held?.severity).to.equal('warning');
    expect(held?.because && tell(held.because)).to.contain('stocktaking');
    const lease = await ServiceLease.acquire(lab.another({ actor: 'daemon@erp-host:1' }).context);
    const [busy] = await askService(lab.context, lab.client);
    expect(busy?.what).to.contain('daemon@erp-host:1 talks to the service right now');
    if (lease instanceof ServiceLease) await lease.release();
    const off = lab.another({ settings: { invoices: { enabled: false } } });
    expect((await askService(off.context, off.client))[0]?.severity).to.equal('note');
    expect(lab.sandbox.counts().requests).to.equal(before);
  });
});

describe('the doctor’s look at the service’s address', () => {
  const dir = useTempDir();
  let server: Server;
  let authority: Authority;
  before((done) => {
    authority = new Authority(dir.file('authority'));
    const { key, cert } = authority.issue('server', undefined, 3);
    server = createServer({ key, cert }, () => {
      throw new Error('No request was allowed.');
    }).listen(0, '127.0.0.1', done);
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const settingsAt = (baseUrl: string, tls: object = {}): Settings =>
    settingsFrom({
      ...sampleErpMapping,
      installation: 'test-office',
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: 'none.sqlite' },
      service: { environment: 'sandbox', baseUrl, token: 'x', tls, idempotency: { lifetimeHours: 24 } },
    });
  const severities = async (settings: Settings, nowMs = Date.now()) =>
    (await checkConnection(settings, nowMs)).map(({ severity }) => severity);

  it('checks the certificate, sends nothing, and tells how long it is good', async () => {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const trusting = settingsAt(url, { caFile: authority.certFile });
    expect(await severities(trusting)).to.deep.equal(['ok', 'warning']);
    expect(await severities(trusting, Date.now() - 30 * 86_400_000)).to.deep.equal(['ok', 'ok']);
    const [refused] = await checkConnection(settingsAt(url), Date.now());
    expect(refused?.todo[0]).to.contain('service.tls.caFile');
  });

  it('tells where nothing listens', async () => {
    const [found] = await checkConnection(settingsAt('http://127.0.0.1:1'), Date.now());
    expect(found?.severity).to.equal('error');
    expect(found?.what).to.contain('127.0.0.1:1 can not be reached');
  });
});
