import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { compareUnderLoad } from '../../bench/reconcile.js';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { isFullMatrix } from '../store/stores.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, eventually, Installation } from './installation.js';

describe('waybill reconcile and resync', function () {
  this.timeout(300_000);
  const folder = useTempDir();
  let sandbox: Sandbox;
  let waybill: Installation;
  const orders = 90;

  const install = (limit: { requests: number; perSeconds: number }) => {
    waybill = new Installation({
      folder: folder.path,
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: folder.file('erp.sqlite') },
      store: { type: 'sqlite' },
      settings: {
        capture: { maxUpdates: 1_000 },
        service: {
          environment: 'sandbox',
          baseUrl: sandbox.url,
          endpoints: { readOrder: {} },
          limits: [limit],
        },
      },
    });
  };

  before(async () => {
    sandbox = await startSandbox({ token: canary.token });
    const file = folder.file('erp.sqlite');
    await createSampleErp({ target: { type: 'sqlite', file }, customers: 4, orders });
    // A whole page is read at once, so that little time passes in the test.
    install({ requests: 500, perSeconds: 0.2 });
    expect((await waybill.run('sync')).code).to.equal(0);
  });
  after(() => sandbox.close());

  const inStore = (sql: string) => {
    const store = openSqlite(waybill.storeFile);
    try {
      store.exec(sql);
    } finally {
      store.close();
    }
  };
  const readsOf = () => sandbox.ledger().requests.filter(({ method }) => method === 'GET').length;

  it('goes on after a kill, shows the list, repairs that list alone, and files the month', async () => {
    const [gone, wrong] = sandbox.ledger().orders;
    sandbox.removeOrder(gone?.order_id as string);
    sandbox.setOrder(wrong?.order_id as string, { total: 4 });
    const before = readsOf();
    waybill.env.TORTURE_KILL_POINT = 'after-reconcile-commit:2';
    const killed = await waybill.run('reconcile', 'orders');
    delete waybill.env.TORTURE_KILL_POINT;
    expect(killed.stderr).to.contain('reached after-reconcile-commit SIGKILL');
    // The dead hold their lease until its time is over.
    inStore("UPDATE lease SET expires_at=1 WHERE name='service'");

    const { code, stdout, stderr } = await waybill.run('reconcile', 'orders', '--json');
    expect({ code, stderr }).to.deep.equal({ code: 3, stderr: '' });
    const found = JSON.parse(stdout);
    expect(found).to.include({ read: orders, same: orders - 2, state: 'done' });
    expect(found.found).to.deep.equal({ missing: 1, different: 1, extra: 0, unjudged: 0 });
    expect(readsOf() - before).to.equal(orders);
    expect(found.findings.map((one: { serviceId: string }) => one.serviceId).sort()).to.deep.equal(
      [gone?.order_id, wrong?.order_id].sort(),
    );
    expect(found.totals).to.have.length(1);

    const shown = await waybill.run('reconcile', 'orders', '--repair', '--reason', 'month end');
    expect(shown.code).to.equal(2);
    expect(shown.stdout).to.contain('missing at the service: gone since it was acknowledged');
    expect(shown.stdout).to.contain(`--list ${found.plan.fingerprint}`);
    const repair = ['reconcile', 'orders', '--repair', '--reason', 'month end', '--yes', '--list'];
    const other = await waybill.run(...repair, '000000000000');
    expect(other).to.include({ code: 3 });
    expect(other.stdout).to.contain('Nothing was done: the list is');
    expect(sandbox.counts().orders).to.equal(orders - 1);
    const repaired = await waybill.run(...repair, found.plan.fingerprint);
    expect(repaired, repaired.stdout + repaired.stderr).to.include({ code: 0, stderr: '' });
    expect(sandbox.counts()).to.include({ orders, duplicateReferences: 0, throttled: 0 });

    const reports = folder.file('reports');
    const month = sandbox.ledger().orders[0]?.created_at.slice(0, 7) ?? '';
    const filed = await waybill.run(
      'reconcile',
      'orders',
      '--month',
      month,
      '--report',
      reports,
      '--csv',
      folder.file('d.csv'),
    );
    expect(filed, filed.stdout + filed.stderr).to.include({ stderr: '' });
    const names = ['differences.csv', 'sums.csv'].map((end) => `waybill-orders-${month}-${end}`);
    expect(readdirSync(reports).sort()).to.deep.equal([...names, `waybill-orders-${month}.html`].sort());
    const page = readFileSync(`${reports}/waybill-orders-${month}.html`, 'utf8');
    const { createHash } = await import('node:crypto');
    for (const name of names) {
      const text = readFileSync(`${reports}/${name}`);
      expect(page).to.contain(createHash('sha256').update(text).digest('hex'));
    }
  });

  it('stops a resync at Ctrl-C, and the same command sends what is left, and nothing twice', async () => {
    const erp = openSqlite(folder.file('erp.sqlite'));
    // No order had so many of anything. Nothing says when that was changed.
    erp.exec(`UPDATE sales_order_lines SET qty='21.000' WHERE line_no=1;
      UPDATE sales_orders SET total=(SELECT printf('%.2f', SUM(l.qty*l.unit_price)) FROM sales_order_lines l WHERE l.order_id=sales_orders.id)`);
    erp.close();
    const before = sandbox.ledger().requests.length;
    const updates = () =>
      sandbox
        .ledger()
        .requests.slice(before)
        .filter(({ method }) => method !== 'GET');
    // Claimed is what leaves in a second: a third of them.
    install({ requests: 30, perSeconds: 1 });
    const command = waybill.start('resync', 'orders');
    await eventually('some are sent', () => updates().length > 0);
    command.kill('SIGINT');
    const { code, stdout, stderr } = await command.ended;
    expect(code, stdout).to.equal(3);
    expect(stdout).to.match(/Delivery stopped: stopping\. \d+ messages are left to the next run, or to a daemon\./);
    expect(stderr).to.contain('stopping: requests under way end first');
    // They are on record: a newer try has nothing to prove.
    expect(JSON.parse((await waybill.run('outbox', '--state', 'in_doubt', '--json')).stdout).count).to.equal(0);
    expect(updates().length).to.be.within(1, orders - 1);

    install({ requests: 500, perSeconds: 0.2 });
    const again = await waybill.run('resync', 'orders');
    expect(again, again.stdout + again.stderr).to.include({ code: 0, stderr: '' });
    expect(updates().map(({ status }) => status)).to.deep.equal(Array(orders).fill(200));
    expect(new Set(updates().map(({ path }) => path)).size).to.equal(orders);
    const compared = await waybill.run('reconcile', 'orders', '--again', '--json');
    expect(compared.code, compared.stdout).to.equal(0);
    expect(JSON.parse(compared.stdout)).to.include({ read: orders, same: orders });
  });

  it('has a running daemon compare, and watches it', async () => {
    const daemon = waybill.daemon();
    try {
      await daemon.line(({ message }) => message === 'Delivering from here');
      const { code, stdout, stderr } = await waybill.run('reconcile', 'customers');
      expect(code, stdout + stderr).to.equal(0);
      expect(stderr).to.match(/daemon@.* talks to the service: it compares, and this command watches\./);
      expect(stdout).to.contain('4 customers compared in 4 requests: 4 agree.');
    } finally {
      daemon.kill('SIGTERM');
      await daemon.ended;
    }
  });
});

// A measurement of some twenty seconds of CPU. The long form, 100,000 orders and ten kills: npm run bench -- reconcile
if (isFullMatrix)
  describe('a comparison of both sides in a daemon that delivers meanwhile', function () {
    this.timeout(300_000);

    it('leaves the limit to delivery, survives kills, and finds what an undisturbed one finds', async () => {
      const result = await compareUnderLoad({ orders: 300, differing: 30, limit: 50, waiting: 100, kills: 3 });
      expect(result.unequal).to.deep.equal([]);
      expect(result).to.include({ found: 30, kills: 3, throttled: 0, duplicates: 0 });
      expect(result.deliveryShare).to.be.at.least(0.95);
      expect(Math.max(result.daemonPeakMiB, result.commandPeakMiB)).to.be.below(200);
      expect(new Set(result.killedAt).size).to.be.above(1);
    });
  });
