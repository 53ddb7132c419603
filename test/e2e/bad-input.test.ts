import { expect } from 'chai';
import {
  createSampleErp,
  type SampleErpSummary,
  sampleErpMapping,
} from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { oneOfEachBadRow } from '../lab/sample-erp/one-of-each-bad-row.js';
import { freePort } from '../support/free-port.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb } from '../support/use-database.js';
import { canary, Installation, type InstallationOptions } from './installation.js';

describe('Bad input gets a clear error and loses nothing', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  const maria = useMariaDb();
  let sandbox: Sandbox;
  let made: SampleErpSummary;
  let count = 0;

  before(async () => {
    const target = { type: 'sqlite' as const, file: dir.file('erp.sqlite') };
    made = await createSampleErp({ target, customers: 5, orders: 20, bad: oneOfEachBadRow });
    sandbox = await startSandbox({ token: canary.token });
  });
  after(() => sandbox.close());

  /** A fresh installation on the same ERP. */
  const install = (change: Partial<InstallationOptions> = {}) =>
    new Installation({
      folder: dir.file(`installation-${++count}`),
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: dir.file('erp.sqlite') },
      store: { type: 'sqlite' },
      ...change,
    });

  it('parks each bad order with its reason, and delivers its neighbours', async () => {
    const waybill = install();
    const run = await waybill.run('sync', '--json');
    expect(run.code).to.equal(3);
    const result = JSON.parse(run.stdout);
    expect(result.deliver.delivered.orders).to.equal(20);
    expect(result.capture.parked).to.equal(6);
    expect(sandbox.counts().orders).to.equal(20);

    const list = await waybill.run('outbox', '--state', 'parked', '--json');
    expect(list.code).to.equal(0);
    const reasons = new Map<string, string>(
      JSON.parse(list.stdout).messages.map((message: { sourceKey: string; reason: string; reasonRemedy?: string }) => [
        message.sourceKey,
        `${message.reason}. ${message.reasonRemedy ?? ''}`,
      ]),
    );
    const reasonOf = (kind: keyof SampleErpSummary['bad']) => reasons.get(String(made.bad[kind][0]));
    expect(reasonOf('ordersWithoutLines')).to.match(/no lines/);
    expect(reasonOf('fractionalQuantities')).to.match(/line \d+.*qty/);
    expect(reasonOf('negativeQuantities')).to.match(/line \d+.*qty.*-/);
    expect(reasonOf('pricesWithThreeDecimals')).to.match(/more than 2 decimals.*orders\.lines\.amount/);
    expect(reasonOf('missingCustomers')).to.match(/customer/i);
    expect(reasonOf('totalMismatches')).to.match(/add up to [\d.]+ EUR, the order says [\d.]+ EUR/);
  });

  it('says that a key is unknown instead of reporting that nothing went well', async () => {
    const run = await install().run('sync', '--key', '99999');
    expect(run.code).to.equal(1);
    expect(run.stderr).to.contain('99999').and.to.contain('orders.pending');
    const range = await install().run('resync', 'orders', '--from', '2026-11-08', '--to', '2026-11-01');
    expect(range.code).to.equal(2);
    expect((await install().run('resync', 'orders', '--from', 'yesterday')).code).to.equal(2);
  });

  it('takes a key in the wrong form for wrong usage, and says how it is written', async () => {
    const lines = {
      ...sampleErpMapping.orders.lines,
      query:
        'SELECT l.order_id, o.customer_id, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l JOIN sales_orders o ON o.id = l.order_id LEFT JOIN products p ON p.id = l.product_id',
      orderKey: ['order_id', 'customer_id'],
    };
    const orders = { ...sampleErpMapping.orders, key: ['id', 'customer_id'], lines };
    const waybill = install({ settings: { orders } });
    for (const command of [['sync'], ['resync', 'orders']]) {
      const run = await waybill.run(...command, '--key', '5');
      expect(run.stderr).to.contain('"5" is not a key of').and.to.contain('id/customer_id');
      expect(run.code).to.equal(2);
    }
  });

  it('names an unknown column, its setting and the columns that there are, and exits 2 before anything is written', async () => {
    const waybill = install({
      settings: { orders: { ...sampleErpMapping.orders, number: 'ordernum', total: 'sum_total' } },
    });
    const run = await waybill.run('sync');
    expect(run.code).to.equal(2);
    expect(run.stderr).to.match(/orders\.number.*"ordernum".*order_no/);
    expect(run.stderr).to.match(/orders\.total.*"sum_total"/);
    const list = await waybill.run('outbox', '--json');
    expect(JSON.parse(list.stdout).count).to.equal(0);
  });

  it('says which setting is wrong, for all of them at once, and exits 2', async () => {
    const waybill = install({ settings: { amounts: { currency: 'XYZ' }, installation: '?' } });
    const run = await waybill.run('status');
    expect(run.code).to.equal(2);
    expect(run.stderr).to.contain('amounts.currency').and.to.contain('installation');
  });

  it('says that the ERP is out of reach, and where it looked', async () => {
    const port = await freePort();
    const waybill = install();
    const database = { ...maria.database, port };
    const offline = install({ erp: { type: 'mysql', database, user: 'nobody', password: canary.erpPassword } });
    const run = await offline.run('sync');
    expect(run.code).to.equal(1);
    expect(run.stderr).to.contain(`127.0.0.1:${port}`).and.to.not.contain(canary.erpPassword);
    expect((await waybill.run('sync', 'capture')).code).to.equal(3);
  });

  it('says that the store is out of reach, and where it looked', async () => {
    const port = await freePort();
    const waybill = install({ store: { type: 'mysql', database: { ...maria.database, port } } });
    const run = await waybill.run('sync');
    expect(run.code).to.equal(1);
    expect(run.stderr)
      .to.contain(`127.0.0.1:${port}`)
      .and.to.contain('Check store.host and store.port')
      .and.to.not.contain(maria.database.password);
  });

  it('keeps everything for later when the service is out of reach', async () => {
    const port = await freePort();
    const waybill = install({
      settings: {
        service: { environment: 'sandbox', baseUrl: `http://127.0.0.1:${port}`, deadlineSeconds: 1 },
        delivery: { probeSeconds: 60, outageAfterFailures: 2, leaseSeconds: 4 },
      },
    });
    const run = await waybill.run('sync', '--json');
    expect(run.code).to.not.equal(0);
    expect(JSON.parse(run.stdout).deliver.stopped).to.match(/ECONNREFUSED/);
    const list = await waybill.run('outbox', '--state', 'pending', '--json');
    expect(JSON.parse(list.stdout).count).to.equal(25);
  });

  it('stops at a wrong token, says so, and sends nothing more', async () => {
    const wrong = 'wrong-token-0f0f0f0f';
    const waybill = install({ token: wrong });
    const before = sandbox.counts();
    const run = await waybill.run('sync', '--json');
    expect(run.code).to.equal(3);
    expect(run.stdout + run.stderr)
      .to.contain('service.tokenFile')
      .and.to.not.contain(wrong);
    expect(sandbox.counts().requests - before.requests).to.be.at.most(16);
    expect(sandbox.counts().orders).to.equal(before.orders);
    const again = await waybill.run('sync', 'deliver', '--json');
    expect(JSON.parse(again.stdout).deliver.attempts).to.equal(0);
  });
});
