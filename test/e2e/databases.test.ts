import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.js';
import { everyAttempt } from '../support/every-attempt.js';
import { type MariaDb, startMariaDb } from '../support/mariadb.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

const orders = 300;

describe('a daemon whose databases fail while it works', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  let server: MariaDb;
  let proxy: CuttableProxy;
  let store: TestDatabase;
  let sandbox: Sandbox;
  let daemon: Daemon;

  before(async () => {
    server = await startMariaDb();
  });
  after(() => server.stop());

  beforeEach(async () => {
    const erp = await server.createDatabase();
    store = await server.createDatabase();
    const connection = await server.connect(erp.database);
    await createSampleErp({ target: { type: 'mysql', connection }, customers: 20, orders });
    await connection.end();
    sandbox = await startSandbox({ token: canary.token, delayMs: [0, 20] });
    proxy = await startCuttableProxy({ host: store.host, port: store.port });
    const waybill = new Installation({
      folder: dir.file(`run-${Date.now()}`),
      serviceUrl: sandbox.url,
      erp: { type: 'mysql', database: erp, user: erp.user, password: erp.password },
      store: { type: 'mysql', database: { ...store, port: proxy.port } },
      settings: {
        schedule: { capture: '* * * * * *' },
        delivery: { leaseSeconds: 4, drainSeconds: 5, backoffBaseSeconds: 0.2 },
        invoices: { enabled: false },
        service: {
          environment: 'sandbox',
          baseUrl: sandbox.url,
          deadlineSeconds: 1.5,
          limits: [{ requests: 60, perSeconds: 1 }],
        },
      },
    });
    daemon = waybill.daemon();
  });
  afterEach(async () => {
    daemon.kill('SIGKILL');
    await daemon.ended;
    await proxy.close();
    await sandbox.close();
  });

  const atService = (count: number) =>
    eventually(`${count} orders are at the service`, () => sandbox.counts().orders >= count, 60_000);

  /** Each order once at the service, each known to the store as delivered, each request as one attempt. */
  const whole = async () => {
    await atService(orders);
    await eventually('nothing is open in the store', async () => {
      const [row] = await store.query(
        "SELECT COUNT(*) AS n FROM outbox_message WHERE state IN ('pending','sending','in_doubt')",
      );
      return Number(row?.n) === 0;
    });
    expect(sandbox.counts()).to.include({ orders, duplicateReferences: 0 });
    const [row] = await store.query(
      "SELECT SUM(m.state='delivered') AS delivered, COUNT(*) AS messages, (SELECT COUNT(*) FROM binding) AS bindings FROM outbox_message m",
    );
    const { customers } = sandbox.counts();
    expect({
      delivered: Number(row?.delivered),
      messages: Number(row?.messages),
      bindings: Number(row?.bindings),
    }).to.deep.equal({
      delivered: orders + customers,
      messages: orders + customers,
      bindings: orders + customers,
    });
    const [half] = await store.query(
      "SELECT COUNT(*) AS n FROM outbox_message m WHERE m.state='delivered' AND NOT EXISTS (SELECT 1 FROM audit_log a WHERE a.message_id=m.id AND a.event='delivered')",
    );
    expect(Number(half?.n), 'delivered without its line in the audit').to.equal(0);
    const attempts = await store.query(
      `SELECT COUNT(*) AS n FROM ${everyAttempt} WHERE started_at IS NOT NULL OR verdict=?`,
      ['unknown'],
    );
    expect(Number(attempts[0]?.n)).to.be.at.least(sandbox.counts().requests);
  };

  it('goes on where it was when the server of ERP and store is killed and comes back', async () => {
    await atService(orders / 5);
    await server.kill();
    await sleep(2_000);
    await server.restart();
    await whole();
  });

  it('goes on when the server is restarted in an orderly way', async () => {
    await atService(orders / 5);
    await server.restart();
    await whole();
  });

  it('does nothing twice when the word for a commit is lost, again and again', async () => {
    let lost = 0;
    for (let at = 1; at <= 5; at++) {
      await atService((orders * at) / 8);
      await Promise.race([proxy.cutAfter((sent) => sent.includes('COMMIT')).then(() => lost++), sleep(5_000)]);
    }
    expect(lost, 'commits whose answer was cut off').to.be.at.least(3);
    await whole();
  });
});
