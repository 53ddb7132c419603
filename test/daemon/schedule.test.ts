import { expect } from 'chai';
import type { RowDataPacket } from 'mysql2/promise';
import { runSchedule } from '../../src/daemon/schedule.js';
import { liveIdentity, writeGoLive } from '../../src/outbound/deliver/go-live.js';
import { listJobRuns, requestWakeUp } from '../../src/store/job-runs.js';
import type { Store, Tx } from '../../src/store/store.js';
import { useStore } from '../store/stores.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { type Lab, onAnyLab, useLab } from '../support/jobs/job-lab.js';
import { expectAllAtService, expectAttemptsFor, expectOneBodyPerKey, statesOf } from '../support/jobs/service-of.js';
import { waitFor } from '../support/wait-for.js';

const everySecond = { schedule: { capture: '* * * * * *', pull: '0 0 3 1 1 *' } };

/** Daemons of one test; whatever still runs after it is stopped. */
function useDaemons() {
  const running: { stop: AbortController; ended: Promise<void> }[] = [];
  afterEach(async () => {
    for (const { stop } of running) stop.abort();
    await Promise.all(running.splice(0).map(({ ended }) => ended));
  });
  return (lab: Lab) => {
    const stop = new AbortController();
    const ended = runSchedule(lab.context, { reader: lab.reader, client: lab.client }, stop.signal);
    running.push({ stop, ended });
    return {
      stop: async () => {
        stop.abort();
        await ended;
      },
    };
  };
}

onAnyLab('the schedule', (kit) => {
  const run = useDaemons();

  it('brings an order to the service soon after it was entered, and drains when it is told to stop', async () => {
    const lab = await kit.start({ settings: everySecond });
    const daemon = run(lab);
    await waitFor('the first orders', () => lab.sandbox.counts().orders === 12);
    // A statement that is never answered would stop one job for good, while the others go on.
    expect(lab.context.store.answerWithinMs).to.equal(120_000);
    const { orderNo } = await insertSampleOrder(lab.erp);
    await waitFor('the new order', () => lab.sandbox.ledger().orders.some(({ reference }) => reference === orderNo));
    await daemon.stop();
    await expectAllAtService(lab);
    expect(await statesOf(kit)).to.deep.equal({ delivered: 17 });
    expect(await kit.rows('SELECT name, holder FROM lease ORDER BY name')).to.deep.equal([
      { name: 'capture', holder: null },
      { name: 'service', holder: null },
    ]);
    const events = await kit.rows("SELECT event FROM audit_log WHERE event IN ('start','stop') ORDER BY id");
    expect(events.map(({ event }) => event)).to.deep.equal(['start', 'stop']);
    await expectAttemptsFor(kit, lab);
  });

  it('waits for a store that breaks off before the start is on record', async () => {
    const lab = await kit.start({ settings: everySecond });
    const store = Object.create(kit.store, {
      transaction: {
        value: <T>(action: string, work: (tx: Tx) => Promise<T>) =>
          action === 'note the start' ? Promise.reject(new Error('gone')) : kit.store.transaction(action, work),
      },
    }) as Store;
    const shut = lab.another({ actor: 'the first', store });
    const daemon = run(shut);
    await waitFor('the next try', () => shut.log.some((line) => line.includes('Trying again')));
    await daemon.stop();
  });

  it('gives back what it could not send any more when it is told to stop', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 30,
      settings: { ...everySecond, service: { concurrency: 2 } },
    });
    lab.sandbox.change({ delayAfterMs: 60 });
    const daemon = run(lab);
    await waitFor('some orders', () => lab.sandbox.counts().orders >= 3);
    await daemon.stop();
    const states = await statesOf(kit);
    expect(states.pending).to.be.greaterThan(10);
    expect(states).to.not.have.any.keys('sending', 'in_doubt');
    expect(states.delivered).to.equal(lab.sandbox.counts().orders + 1);
  });

  it('stands by while another one delivers, says so once, and takes over when that one ends', async () => {
    const lab = await kit.start({ settings: everySecond });
    const first = run(lab.another({ actor: 'the first' }));
    await waitFor('the first orders', () => lab.sandbox.counts().orders === 12);
    const standby = lab.another({ actor: 'the second', store: await kit.connect() });
    const second = run(standby);
    const standsBy = () => standby.log.filter((line) => line.includes('Standing by'));
    await waitFor('the second to stand by', () => standsBy().length > 0);
    expect(standsBy()[0]).to.contain('the first');
    expect(standby.log.some((line) => line.includes('Delivering from here'))).to.equal(false);

    await first.stop();
    const { orderNo } = await insertSampleOrder(lab.erp);
    await waitFor('the new order', () => lab.sandbox.ledger().orders.some(({ reference }) => reference === orderNo));
    expect(standby.log.some((line) => line.includes('Delivering from here'))).to.equal(true);
    expect(standsBy()).to.have.length(1);
    await second.stop();
    await expectAllAtService(lab);
  });

  it('says that nothing is delivered while the store is not live, and that it delivers as soon as it is', async () => {
    const kept = await kit.start({ settings: everySecond });
    const lab = kept.another({ settings: { service: { environment: 'production' } } });
    const daemon = run(lab);
    const said = () => lab.log.filter((line) => line.includes('from here'));
    await waitFor('a word about delivery', () => said().length > 0);
    expect(said()[0]).to.contain('Nothing is delivered from here').and.to.contain('waybill go-live');
    await kit.store.transaction('go live', (tx) =>
      writeGoLive(tx, liveIdentity(lab.settings, lab.reader.identity()), 'anna', Date.now()),
    );
    await waitFor('delivery', () => lab.sandbox.counts().orders > 0);
    expect(said()).to.have.length(2);
    expect(said()[1]).to.contain('Delivering from here');
    await daemon.stop();
  });

  it('pulls when somebody asks for it, whatever the clock says', async () => {
    const lab = await kit.start({ settings: everySecond });
    lab.sandbox.addInvoices([{ amount: 7 }]);
    const daemon = run(lab);
    await waitFor('the first orders', () => lab.sandbox.counts().orders === 12);
    const webhook = await kit.connect();
    await webhook.transaction('wake', (tx) => requestWakeUp(tx, 'pull', 'a webhook', Date.now()));
    await waitFor(
      'the pull',
      async () => (await kit.rows("SELECT id FROM invoice_pull WHERE outcome='proven'")).length > 0,
    );
    await daemon.stop();
    expect(await kit.rows('SELECT * FROM wake_up')).to.deep.equal([]);
  });

  it('counts a capture that is refused as one that failed', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: everySecond });
    await lab.capture();
    const other = JSON.stringify({ erp: 'sqlite:another.sqlite', key: ['id'] });
    await kit.store.transaction('as if it was another ERP', (tx) =>
      tx.run("UPDATE store_info SET value=? WHERE name='source_keys.customer'", [other]),
    );
    const daemon = run(lab);
    await waitFor('two failures', async () => {
      const runs = await kit.store.read('look', listJobRuns);
      const capture = runs.find(({ job }) => job === 'capture');
      return capture?.failure?.code === 'capture_refused' && capture.failures >= 2 ? true : null;
    });
    await daemon.stop();
  });

  it('goes on when the ERP is away for a while', async () => {
    const lab = await kit.start({ settings: everySecond });
    const daemon = run(lab);
    await waitFor('the first orders', () => lab.sandbox.counts().orders === 12);
    await lab.changeErp('ALTER TABLE sales_orders RENAME TO moved_away');
    await waitFor('a failed pass', () => lab.log.some((line) => line.includes('capture failed')));
    await lab.changeErp('ALTER TABLE moved_away RENAME TO sales_orders');
    const { orderNo } = await insertSampleOrder(lab.erp);
    await waitFor('the new order', () => lab.sandbox.ledger().orders.some(({ reference }) => reference === orderNo));
    await daemon.stop();
    await expectAllAtService(lab);
  });
});

describe('the schedule on a MariaDB store', () => {
  const kit = useLab(useStore('mysql'));
  const run = useDaemons();

  it('delivers each order once when its connections to the store are cut again and again', async () => {
    const lab = await kit.start({
      customers: 3,
      orders: 60,
      settings: { ...everySecond, service: { concurrency: 4 } },
    });
    lab.sandbox.change({ delayAfterMs: 20 });
    // A store of its own, so that the test can look while the daemon's connections are cut.
    const daemonStore = await kit.connect();
    const account = kit.settings as { user: string; database: string };
    const process = lab.another({ store: daemonStore, actor: 'the daemon' });
    const daemon = run(process);
    const root = await kit.mariaDb.server.connect(account.database);
    try {
      for (const orders of [5, 20, 35]) {
        await waitFor(`${orders} orders`, () => lab.sandbox.counts().orders >= orders, 40_000);
        // Cut in the midst of a statement: a pool replaces connections that are cut at rest, and nobody notices.
        await root.query('LOCK TABLES outbox_message WRITE');
        await waitFor('a statement under way', async () => {
          const [waiting] = await root.query<RowDataPacket[]>(
            "SELECT id FROM information_schema.processlist WHERE user = ? AND state = 'Waiting for table metadata lock'",
            [account.user],
          );
          return waiting.length > 0;
        });
        await root.query(`KILL USER '${account.user}'@'127.0.0.1'`);
        await root.query('UNLOCK TABLES');
      }
    } finally {
      await root.end();
    }
    await waitFor('all orders', () => lab.sandbox.counts().orders === 60, 40_000);
    await waitFor(
      'all outcomes',
      async () => {
        const states = await statesOf(kit).catch(() => null);
        return states?.delivered === 63;
      },
      40_000,
    );
    await daemon.stop();
    // It did notice.
    expect(process.log.join()).to.include('The server closed the connection. Is the database running');
    await expectAllAtService(lab);
    expectOneBodyPerKey(lab);
  });
});
