import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { isFullMatrix } from '../store/stores.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb } from '../support/use-database.js';
import { expectedCustomers, expectedOrders } from './expected-records.js';
import { canary, Installation } from './installation.js';

// Enough for pages, batches and claims by the dozen. The memory for 200,000: docs/performance.md.
const orders = isFullMatrix ? 2_000 : 400;
const customers = orders / 10;

describe('waybill sync, from a MariaDB ERP through a MariaDB store to the service', function () {
  this.timeout(600_000);
  const dir = useTempDir();
  const erp = useMariaDb();
  const store = useMariaDb();
  let sandbox: Sandbox;
  let waybill: Installation;

  before(async () => {
    const connection = await erp.server.connect(erp.database.database);
    await createSampleErp({ target: { type: 'mysql', connection }, customers, orders });
    await connection.end();
    sandbox = await startSandbox({ token: canary.token });
    const reader = await erp.database.createUser([
      'SELECT ON customers',
      'SELECT ON products',
      'SELECT ON sales_orders',
      'SELECT ON sales_order_lines',
    ]);
    waybill = new Installation({
      folder: dir.path,
      serviceUrl: sandbox.url,
      erp: { type: 'mysql', database: erp.database, user: reader.user, password: reader.password },
      store: { type: 'mysql', database: store.database },
    });
  });
  after(() => sandbox.close());

  it(`delivers ${orders} orders and their customers, each reference once, field by field, in bounded memory`, async () => {
    const run = await waybill.start('sync', '--json').ended;
    expect(run.stderr).to.equal('');
    expect(run.code).to.equal(0);
    const result = JSON.parse(run.stdout);
    expect(result.capture.captured).to.deep.equal({ orders, customers });
    expect(result.deliver.delivered).to.deep.equal({ orders, customers });
    expect(result.pull.outcome).to.equal('proven');
    expect(run.peakRssMiB).to.be.below(200);

    const expected = await expectedOrders(erp.database);
    const ledger = sandbox.ledger();
    expect(ledger.orders).to.have.length(expected.size).and.length(orders);
    expect(ledger.duplicates).to.deep.equal([]);
    for (const order of ledger.orders) {
      const { total, ...record } = expected.get(order.reference as string) as NonNullable<
        ReturnType<typeof expected.get>
      >;
      expect(order.record).to.deep.equal(record);
      expect(order.total).to.equal(total);
    }
    const expectedOnes = await expectedCustomers(erp.database);
    expect(ledger.customers).to.have.length(expectedOnes.size).and.length(customers);
    for (const customer of ledger.customers)
      expect(customer.record).to.deep.equal(expectedOnes.get(customer.customer_code));
  });

  it('sends nothing when it is run again', async () => {
    const before = sandbox.counts();
    const run = await waybill.run('sync', '--json');
    expect(run.code).to.equal(0);
    expect(JSON.parse(run.stdout).capture.captured).to.deep.equal({ orders: 0, customers: 0 });
    expect(sandbox.counts().orders).to.equal(before.orders);
    expect(JSON.parse(run.stdout).deliver.attempts).to.equal(0);
  });

  it('makes no second record when everything of a time is sent again by force', async () => {
    const run = await waybill.run(
      'resync',
      'orders',
      '--from',
      '2026-01-01',
      '--to',
      '2027-01-01',
      '--force',
      '--json',
    );
    expect(run.stderr).to.equal('');
    expect(run.code).to.equal(0);
    expect(JSON.parse(run.stdout).deliver.delivered.orders).to.equal(orders);
    const { orders: atService, duplicateReferences, replayed } = sandbox.counts();
    expect({ atService, duplicateReferences }).to.deep.equal({ atService: orders, duplicateReferences: 0 });
    expect(replayed).to.equal(orders);
  });

  it('gets every binding back when the store is lost, and makes no second record', async () => {
    const bindings = () =>
      store.database.query('SELECT entity, source_key, service_id FROM binding ORDER BY entity, source_key');
    const before = await bindings();
    expect(before).to.have.length(orders + customers);
    const tables = await store.database.query(
      'SELECT table_name AS name FROM information_schema.tables WHERE table_schema=DATABASE()',
    );
    await store.database.query(tables.map((table) => `DROP TABLE \`${table.name}\``).join('; '));

    const requests = sandbox.counts().requests;
    const held = await waybill.run('sync', '--json');
    expect(held.code).to.equal(3);
    expect(JSON.parse(held.stdout).deliver.stopped).to.contain('waybill recover');
    const sentSince = new Date(Date.now() - 3_600_000).toISOString();
    expect((await waybill.run('recover', '--from-service', '--yes')).code, 'since when?').to.equal(2);
    const recovered = await waybill.run('recover', '--from-service', '--sent-since', sentSince, '--yes', '--json');
    // The lost store may have changed any of them since: to say all fields once more is up to a person.
    expect(recovered.stderr).to.contain(`${orders} changes to orders are held`);
    expect(recovered.code).to.equal(0);
    expect(JSON.parse(recovered.stdout).unbound).to.equal(orders + customers);
    // The unpaid invoices were read; nothing was written there.
    expect(
      sandbox
        .ledger()
        .requests.slice(requests)
        .filter(({ method }) => method !== 'GET'),
    ).to.deep.equal([]);

    const run = await waybill.run('sync', '--json');
    expect(run.code, run.stderr).to.equal(0);
    expect(await bindings()).to.deep.equal(before);
    const { orders: atService, customers: customersThere, duplicateReferences } = sandbox.counts();
    expect({ atService, customersThere, duplicateReferences }).to.deep.equal({
      atService: orders,
      customersThere: customers,
      duplicateReferences: 0,
    });
  });

  it('keeps tokens and passwords out of its output and its tables', async () => {
    const secrets = [canary.token, waybill.env.WAYBILL_ERP_PASSWORD as string, store.database.password];
    const run = await waybill.run('sync', '--json');
    for (const secret of secrets) expect(run.stdout + run.stderr).to.not.contain(secret);
    const columns = await store.database.query(
      "SELECT table_name AS t, column_name AS c FROM information_schema.columns WHERE table_schema=DATABASE() AND data_type IN ('varchar','text','mediumtext','char')",
    );
    for (const { t, c } of columns) {
      for (const secret of secrets) {
        const hits = await store.database.query(`SELECT 1 FROM \`${t}\` WHERE \`${c}\` LIKE ? LIMIT 1`, [
          `%${secret}%`,
        ]);
        expect(hits, `${t}.${c}`).to.have.length(0);
      }
    }
  });
});
