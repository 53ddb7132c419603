import { renameSync, rmSync } from 'node:fs';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

describe('A daemon whose store file is replaced while it runs', function () {
  this.timeout(120_000);
  const dir = useTempDir();
  let sandbox: Sandbox;
  let daemon: Daemon | null = null;

  before(async () => {
    sandbox = await startSandbox({ token: canary.token });
  });
  after(async () => {
    daemon?.kill('SIGKILL');
    await daemon?.ended;
    await sandbox.close();
  });

  it('ends with words, writes into no file that nobody sees, and the next one holds delivery', async () => {
    const erp = { type: 'sqlite', file: dir.file('erp.sqlite') } as const;
    await createSampleErp({ target: erp, customers: 3, orders: 6 });
    const waybill = new Installation({
      folder: dir.file('machine'),
      serviceUrl: sandbox.url,
      erp,
      store: { type: 'sqlite' },
      settings: { schedule: { capture: '* * * * * *', pull: '0 0 3 1 1 *' } },
    });
    daemon = waybill.daemon();
    await eventually('the orders are at the service', () => sandbox.counts().orders === 6, 30_000);
    const file = dir.file('machine/waybill.sqlite');
    const store = openSqlite(file);
    store.exec(`VACUUM INTO '${dir.file('copy.sqlite')}'`);
    store.close();
    await insertSampleOrder(erp);
    await eventually('one more is there', () => sandbox.counts().orders === 7, 30_000);
    // The witness hears of it within seconds.
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    renameSync(dir.file('copy.sqlite'), file);
    for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    expect(await daemon.ended).to.equal(1);
    const said = daemon.lines.find(({ message }) => message.includes('was moved, deleted or replaced'));
    expect(said?.message).to.include(file).and.to.include('restart it');

    daemon = waybill.daemon();
    await daemon.line(({ message }) => message === 'Delivery is held until `waybill recover`', 30_000);
    expect(sandbox.counts()).to.include({ orders: 7, duplicateReferences: 0 });
  });
});
