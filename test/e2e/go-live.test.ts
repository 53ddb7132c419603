import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, Installation } from './installation.js';

describe('Going live with a production service', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  let sandbox: Sandbox;
  let waybill: Installation;

  before(async () => {
    await createSampleErp({ target: { type: 'sqlite', file: dir.file('erp.sqlite') }, customers: 5, orders: 40 });
    sandbox = await startSandbox({ token: canary.token });
    waybill = new Installation({
      folder: dir.path,
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: dir.file('erp.sqlite') },
      store: { type: 'sqlite' },
      settings: { service: { environment: 'production', baseUrl: sandbox.url } },
    });
  });
  after(() => sandbox.close());

  it('a dry run reads and decides, and neither writes nor sends', async () => {
    const run = await waybill.run('sync', '--dry-run', '--json');
    expect(run.code).to.equal(0);
    expect(JSON.parse(run.stdout).capture.captured).to.deep.equal({ customers: 5, orders: 40 });
    expect(sandbox.counts().requests).to.equal(0);
    expect(JSON.parse((await waybill.run('outbox', '--json')).stdout).count).to.equal(0);
  });

  it('a trial sends five orders and their customers, and nothing else', async () => {
    expect((await waybill.run('sync', '--trial')).code).to.equal(2);
    const run = await waybill.run('sync', '--limit', '5', '--trial', '--json');
    expect(run.stderr).to.equal('');
    expect(run.code).to.equal(0);
    expect(sandbox.counts().orders).to.equal(5);
    expect(sandbox.counts().customers).to.be.at.most(5);
  });

  it('a second trial takes five more, also from what was captured meanwhile', async () => {
    expect((await waybill.run('sync', 'capture')).code).to.equal(0);
    expect((await waybill.run('sync', '--limit', '5', '--trial')).code).to.equal(0);
    expect(sandbox.counts().orders).to.equal(10);
  });

  it('everything else is held, with the reason, until a person says go-live', async () => {
    const held = await waybill.run('sync', '--json');
    expect(held.code).to.equal(3);
    expect(JSON.parse(held.stdout).deliver.stopped).to.contain('waybill go-live');
    expect(sandbox.counts().orders).to.equal(10);

    const shown = await waybill.run('go-live', '--dry-run', '--json');
    expect(JSON.parse(shown.stdout)).to.deep.include({
      live: false,
      environment: 'production',
      excludedByStartFrom: 2,
    });
    expect(JSON.parse(shown.stdout).open.orders + JSON.parse(shown.stdout).captured.orders).to.equal(30);
    expect((await waybill.run('go-live')).code, 'no terminal, no --yes').to.equal(2);

    const unsaid = await waybill.run('go-live', '--yes');
    expect([unsaid.code, unsaid.stderr.includes('add --first-installation')]).to.deep.equal([2, true]);
    expect(shown.stdout).to.contain('"asksForFirst":true');
    expect((await waybill.run('go-live', '--yes', '--first-installation')).code).to.equal(0);
    // Said once: a script that says it again is no mistake.
    expect((await waybill.run('go-live', '--yes', '--first-installation')).stdout).to.contain('is live already');
    expect((await waybill.run('sync')).code).to.equal(0);
    expect(sandbox.counts()).to.include({ orders: 40, customers: 5, duplicateReferences: 0 });
  });

  it('a lost store is held again, and after the confirmation there is no second record', async () => {
    for (const end of ['', '-wal', '-shm']) rmSync(waybill.storeFile + end, { force: true });
    const held = await waybill.run('sync', '--json');
    expect(held.code).to.equal(3);
    expect(JSON.parse(held.stdout).deliver.stopped).to.contain('waybill recover');
    const trial = await waybill.run('sync', '--limit', '1', '--trial');
    expect(trial.code, 'not even a trial').to.equal(3);
    const before = sandbox.counts().requests;
    expect((await waybill.run('go-live', '--yes')).code, 'not before the recovery').to.equal(3);
    const sentSince = new Date(Date.now() - 3_600_000).toISOString();
    const recovered = await waybill.run('recover', '--from-service', '--sent-since', sentSince, '--yes');
    expect(recovered.stderr).to.equal('');
    expect(recovered.code).to.equal(0);
    expect((await waybill.run('sync', 'deliver')).code, 'not before go-live').to.equal(3);
    expect((await waybill.run('go-live', '--yes', '--reason', 'disk replaced')).code).to.equal(0);
    expect(sandbox.counts().requests).to.equal(before);
    expect((await waybill.run('sync')).code).to.equal(0);
    expect(sandbox.counts()).to.include({ orders: 40, customers: 5, duplicateReferences: 0 });
  });

  it('knows no standby on another machine where the store is a file', async () => {
    const run = await waybill.run('go-live', '--standby', '--yes');
    expect(run.code).to.equal(2);
    expect(run.stderr).to.contain('one in PostgreSQL, MySQL or MariaDB');
  });

  it('is held again when the ERP database is another one', async () => {
    await createSampleErp({
      target: { type: 'sqlite', file: dir.file('copy.sqlite') },
      customers: 5,
      orders: 41,
      seed: 2,
    });
    const moved = new Installation({ ...waybill.options, erp: { type: 'sqlite', file: dir.file('copy.sqlite') } });
    const run = await moved.run('sync', 'deliver', '--json');
    expect(run.code).to.equal(3);
    expect(JSON.parse(run.stdout).deliver.stopped).to.match(
      /keys of customers were id in .*erp\.sqlite, and now id in .*copy\.sqlite.*rekey customers --same.*then .*rekey orders --same.*then .*go-live/,
    );
  });

  it('a store that belongs to production refuses a sandbox profile', async () => {
    const other = new Installation({
      ...waybill.options,
      settings: { service: { environment: 'sandbox', baseUrl: sandbox.url } },
    });
    const run = await other.run('sync');
    expect(run.code).to.equal(2);
    expect(run.stderr).to.contain('belongs to the production environment');
  });
});
