import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { freePort } from '../support/free-port.js';
import { type MariaDb, startMariaDb } from '../support/mariadb.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb } from '../support/use-database.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

describe('A daemon that is started before its databases', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  const elsewhere = useMariaDb();
  let sandbox: Sandbox;
  let server: MariaDb;
  let daemon: Daemon | undefined;

  before(async () => {
    sandbox = await startSandbox({ token: canary.token });
    server = await startMariaDb();
  });
  afterEach(async () => {
    daemon?.kill('SIGKILL');
    await daemon?.ended;
  });
  after(async () => {
    await sandbox.close();
    await server.stop();
  });

  it('waits for the store, and begins when it is there', async () => {
    const database = await server.createDatabase();
    await createSampleErp({ target: { type: 'sqlite', file: dir.file('erp.sqlite') }, customers: 2, orders: 5 });
    await server.kill();
    const waybill = new Installation({
      folder: dir.path,
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: dir.file('erp.sqlite') },
      store: { type: 'mysql', database },
    });
    daemon = waybill.daemon();
    await daemon.line((line) => line.message === 'Waiting for the store');
    await server.restart();
    await eventually('its orders are at the service', () => sandbox.counts().orders === 5, 40_000);
    expect(daemon.output()).to.not.contain(database.password);
  });

  it('goes on without the ERP, and ends in peace', async () => {
    const port = await freePort();
    const waybill = new Installation({
      folder: dir.file('second'),
      serviceUrl: sandbox.url,
      erp: { type: 'mysql', database: { ...elsewhere.database, port }, user: 'nobody', password: canary.erpPassword },
      store: { type: 'sqlite' },
    });
    daemon = waybill.daemon();
    await daemon.line((line) => line.message === 'Delivering from here');
    daemon.kill('SIGTERM');
    expect(await daemon.ended).to.equal(0);
    expect(daemon.output()).to.contain('The ERP cannot be reached yet').and.to.not.contain(canary.erpPassword);
  });
});
