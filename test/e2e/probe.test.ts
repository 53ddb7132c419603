import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import type { SandboxOptions } from '../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { merge } from '../support/merge-settings.js';
import { useTempDir } from '../support/temp-dir.js';
import { waitFor } from '../support/wait-for.js';
import { expectNoSecret } from './expect-no-secret.js';
import { canary, Installation } from './installation.js';

describe('waybill probe, typed', function () {
  this.timeout(60_000);
  const dir = useTempDir();
  let sandbox: Sandbox;
  let waybill: Installation;
  const start = async (folder: string, options: Partial<SandboxOptions> = {}) => {
    sandbox = await startSandbox({ token: canary.token, echoCredentials: true, paidShare: 0, ...options });
    const erp = { type: 'sqlite', file: dir.file(`${folder}.sqlite`) } as const;
    await createSampleErp({ target: erp, customers: 4, orders: 12 });
    waybill = new Installation({ folder: dir.file(folder), serviceUrl: sandbox.url, erp, store: { type: 'sqlite' } });
  };
  afterEach(() => sandbox.close());
  const made = () => {
    const { counts } = sandbox.ledger();
    return [counts.customers, counts.orders];
  };

  it('writes a proposal of its own, which as it stands in the configuration delivers', async () => {
    await start('whole', { keyIn: 'body', keyField: 'request_code', createdStatus: 200, errorShape: 'fault' });
    const file = join(waybill.options.folder, 'profile.yaml');
    const probe = ['probe', '--sandbox', sandbox.url, '--out', file];
    const { code, stdout, stderr } = await waybill.run(...probe);
    expect(code, stderr).to.equal(0);
    expect(stdout).to.contain('request_code').and.to.contain(`The proposal, with the evidence: ${file}`);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const proposal = readFileSync(file, 'utf8');
    expectNoSecret('the proposal and what was printed', proposal + stdout + stderr);
    expect(made()).to.deep.equal([0, 0]);

    // Never over another one, and not after asking the service for it.
    const { requests } = sandbox.ledger().counts;
    const again = await waybill.run(...probe);
    expect([again.code, again.stderr]).to.deep.equal([2, `waybill: ${file} exists already. Name a new file.\n`]);
    expect(sandbox.ledger().counts.requests).to.equal(requests);

    const local = join(waybill.configDir, 'local.yaml');
    writeFileSync(local, stringify(merge(JSON.parse(readFileSync(local, 'utf8')), parse(proposal))));
    const synced = await waybill.run('sync');
    expect(synced.code, synced.stdout + synced.stderr).to.equal(0);
    expect(made()[1]).to.be.greaterThan(5);
  });

  it('removes what it made on Ctrl-C, and proposes what it found so far', async () => {
    await start('interrupted', { delayAfterMs: 100 });
    const file = join(waybill.options.folder, 'profile.yaml');
    const running = waybill.start('probe', '--sandbox', sandbox.url, '--out', file, '--json');
    await waitFor('some orders at the service', () => sandbox.ledger().counts.orders > 1);
    running.kill('SIGINT');
    const { code, stdout, stderr } = await running.ended;
    expect(stderr).to.contain('What was made is removed first');
    expect(code).to.equal(1);
    const printed = JSON.parse(stdout);
    expect(printed.stopped).to.match(/interrupted|stopping/);
    expect(printed.left).to.deep.equal([]);
    expect(made()).to.deep.equal([0, 0]);
    expect(parse(readFileSync(file, 'utf8')).service.idempotency.header).to.equal('Idempotency-Key');
  });

  it('writes no proposal where nothing was answered, so that the next probe has its name', async () => {
    await start('away');
    await sandbox.close();
    const file = join(waybill.options.folder, 'profile.yaml');
    const probe = ['probe', '--sandbox', sandbox.url, '--out', file];
    const away = await waybill.run(...probe);
    expect(away.code, away.stderr).to.equal(1);
    expect(away.stdout).to.contain('the service does not answer: ').and.contain('wrote no proposal');
    expect(existsSync(file)).to.equal(false);
    const { stopped, file: written } = JSON.parse((await waybill.run(...probe, '--json')).stdout);
    expect(stopped).to.contain('does not answer');
    expect(written).to.equal(null);
    const printed = await waybill.run('probe', '--sandbox', sandbox.url, '--out', '-');
    expect([printed.code, printed.stdout]).to.deep.equal([1, '']);
    expect(printed.stderr).to.contain('the service does not answer: ').and.contain('wrote no proposal');
  });

  it('asks nothing of a service that nobody called a sandbox', async () => {
    await start('unconfirmed');
    const unconfirmed = await waybill.run('probe');
    expect(unconfirmed.code).to.equal(2);
    expect(unconfirmed.stderr).to.contain(`Confirm it with --sandbox ${sandbox.url}`);
    const other = await waybill.run('probe', '--sandbox', 'https://other.example.com');
    expect(other.code).to.equal(2);
    expect(other.stderr).to.contain('https://other.example.com');
    const local = join(waybill.configDir, 'local.yaml');
    writeFileSync(
      local,
      stringify(merge(JSON.parse(readFileSync(local, 'utf8')), { service: { environment: 'production' } })),
    );
    const production = await waybill.run('probe', '--sandbox', sandbox.url);
    expect(production.code).to.equal(2);
    expect(production.stderr).to.contain('in a sandbox only');
    expect(sandbox.ledger().counts.requests).to.equal(0);
  });
});
