import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { createSampleErp, type SampleErpTarget } from '../../src/lab/sample-erp/create-sample-erp.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder } from '../support/change-sample-erp.js';
import { type Directus, startDirectus } from '../support/directus.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { makeShop, others, service } from './directus-shape.js';
import { expectedCustomers, expectedOrders } from './expected-records.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

const customers = 5;
const orders = 40;

describe('Directus, a service that other people wrote', function () {
  // The first time, it is installed.
  this.timeout(900_000);
  const dir = useTempDir();
  let directus: Directus;
  let waybill: Installation;
  let erp: SampleErpTarget & { type: 'sqlite' };
  let daemon: Daemon | null = null;
  /** The number of an order that was sent a second time, under the key of its second generation. */
  let sentAgain = '';
  const cancelled = new Set<string>();

  before(async () => {
    directus = await startDirectus(canary.token);
    await makeShop(directus);
    erp = { type: 'sqlite', file: dir.file('erp.sqlite') };
    await createSampleErp({ target: erp, customers, orders });
    waybill = new Installation({
      folder: dir.path,
      serviceUrl: directus.url,
      erp,
      store: { type: 'sqlite' },
      settings: {
        ...others,
        // A recovery changes every order.
        capture: { maxUpdates: 1_000 },
        schedule: { capture: '*/1 * * * * *' },
        delivery: { backoffBaseSeconds: 0.2, probeSeconds: 1 },
        service: { ...service, baseUrl: directus.url },
      },
    });
  });
  afterEach(async () => {
    daemon?.kill('SIGKILL');
    await daemon?.ended;
    daemon = null;
  });
  after(() => directus?.stop());

  // biome-ignore lint/suspicious/noExplicitAny: the test names what it selects
  const select = (file: string, sql: string): any[] => {
    const database = openSqlite(file, { readonly: true });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  };
  const inErp = (sql: string) => {
    const database = openSqlite(erp.file);
    database.exec(sql);
    database.close();
  };
  const there = (sql: string) => select(directus.file, sql);
  const succeeds = async (code: number, ...argv: string[]) => {
    const run = await waybill.run(...argv);
    expect(run.code, `${argv.join(' ')}\n${run.stdout}${run.stderr}`).to.equal(code);
    return run;
  };

  const compare = async (subject: string) =>
    JSON.parse((await waybill.run('reconcile', subject, '--json', '--again')).stdout);

  /** Both databases hold the same customers and orders, each once. */
  const bothAgree = async () => {
    const erpTables = { query: async (sql: string) => select(erp.file, sql) };
    const rows = there('SELECT id, client_reference, customer_code, note, status, total FROM orders ORDER BY id');
    const items = there('SELECT order_id, sku, qty, price FROM order_items ORDER BY order_id, id');
    const standing = rows.filter(({ status }) => status === 'confirmed');
    const asSent = standing.map(({ id, customer_code, note, total }) => ({
      customer_code,
      note,
      items: items.filter((item) => item.order_id === id).map(({ sku, qty, price }) => ({ sku, qty, price })),
      total,
    }));
    const byNote = (a: { note: string }, b: { note: string }) => a.note.localeCompare(b.note);
    const expected = [...(await expectedOrders(erpTables)).values()];
    expect(asSent.sort(byNote)).to.deep.equal(expected.sort(byNote));
    expect(rows.filter(({ status }) => status !== 'confirmed').map(({ note }) => note)).to.have.members([...cancelled]);
    expect(items.filter(({ order_id }) => !rows.some(({ id }) => id === order_id))).to.deep.equal([]);
    expect(rows.every(({ client_reference }) => client_reference)).to.equal(true);

    const known = there(
      'SELECT customer_code, name, email, street, postcode, city, country FROM customers ORDER BY customer_code',
    ).map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
    const codes = await expectedCustomers(erpTables);
    expect(known).to.deep.equal([...codes.keys()].sort().map((code) => codes.get(code)));
  };
  const oldest = () => there("SELECT id, note FROM orders WHERE status='confirmed' ORDER BY id LIMIT 1")[0];
  const loseStore = () => {
    for (const end of ['', '-wal', '-shm']) rmSync(waybill.storeFile + end, { force: true });
  };
  const references = () => there('SELECT note, id, client_reference FROM orders ORDER BY id');

  it('gets every customer and every order once', async () => {
    await succeeds(0, 'sync');
    await bothAgree();
    const seen = references();
    await succeeds(0, 'sync');
    expect(references()).to.deep.equal(seen);
  });

  it('follows changes and cancellations, and keeps the key of each create', async () => {
    const seen = references();
    const [first, second, third] = select(
      erp.file,
      `SELECT o.id, o.order_no, (SELECT COUNT(*) FROM sales_order_lines l WHERE l.order_id=o.id) AS lines
           FROM sales_orders o WHERE o.status='confirmed' AND o.currency='EUR' AND o.created_at>='2026-01-01'
          ORDER BY lines DESC, o.id`,
    );
    await editSampleLine(erp, first.id, 1, 77);
    inErp(`DELETE FROM sales_order_lines WHERE order_id=${second.id} AND line_no=1;
             UPDATE sales_orders SET total=(SELECT ROUND(SUM(qty*unit_price), 2) FROM sales_order_lines
               WHERE order_id=${second.id}) WHERE id=${second.id};
             UPDATE customers SET name='Renamed & Sons', updated_at='2027-01-01' WHERE id=1`);
    await cancelSampleOrder(erp, third.id);
    cancelled.add(third.order_no);
    await succeeds(0, 'sync');
    await bothAgree();
    expect(
      there('SELECT COUNT(*) AS n FROM order_items i JOIN orders o ON o.id=i.order_id WHERE i.qty=77'),
    ).to.deep.equal([{ n: 1 }]);
    expect(references()).to.deep.equal(seen);
  });

  it('shows its unpaid invoices', async () => {
    const code = there('SELECT customer_code FROM customers LIMIT 1')[0].customer_code;
    await directus.request(
      'POST',
      '/items/invoices',
      Array.from({ length: 230 }, (_, n) => ({
        invoice_no: `R-${1000 + n}`,
        customer_code: code,
        amount: 1000 + n,
        due_date: '2026-12-24',
        status: n % 5 === 0 ? 'paid' : 'unpaid',
      })),
    );
    const pull = async () => JSON.parse((await succeeds(0, 'sync', 'pull', '--json')).stdout).pull;
    expect(await pull()).to.include({ outcome: 'proven', unpaid: 184 });
    await directus.request('PATCH', '/items/invoices/R-1001', { status: 'paid' });
    await directus.request('DELETE', '/items/invoices/R-1002');
    expect(await pull()).to.include({ outcome: 'proven', unpaid: 182 });
    const { invoices } = JSON.parse((await succeeds(0, 'invoices', '--limit', '500', '--json')).stdout);
    // Directus keeps a date in SQLite as milliseconds.
    const unpaid = `SELECT invoice_no, customer_code, amount, date(due_date/1000, 'unixepoch') AS due_date, status
                        FROM invoices WHERE status='unpaid'`;
    expect(invoices).to.have.deep.members(there(unpaid));
  });

  it('agrees record by record when both are compared, changed ones included', async () => {
    const ofOrders = await compare('orders');
    expect(ofOrders).to.include({ state: 'done', read: orders, same: orders - 1, requests: orders });
    expect(ofOrders.causes).to.deep.equal([{ kind: 'unjudged', cause: 'filtered', count: 1 }]);
    expect(ofOrders.findings[0].reasonCode).to.equal('cancelled_in_erp');
    expect(await compare('customers')).to.include({ read: customers, same: customers });
  });

  it('holds each order once though it is killed three times, and Waybill with it', async () => {
    const enter = async (many: number) => {
      for (let n = 0; n < many; n++)
        await insertSampleOrder(erp, { customerId: 1 + (n % customers), lines: [{}, { qty: 2 }] });
    };
    const count = () => there('SELECT COUNT(*) AS n FROM orders')[0].n as number;
    daemon = waybill.daemon();
    await daemon.line(({ message }) => message === 'Delivering from here');
    for (const isBoth of [false, true, false]) {
      const before = count();
      await enter(60);
      await eventually('some of them arrive', () => count() > before + 5, 60_000);
      const ends = [directus.kill()];
      if (isBoth) {
        daemon.kill('SIGKILL');
        ends.push(daemon.ended.then(() => undefined));
      }
      await Promise.all(ends);
      expect(count(), 'killed on the way').to.be.lessThan(before + 60);
      if (isBoth) daemon = waybill.daemon();
      await directus.restart();
    }
    const open = "SELECT state FROM outbox_message WHERE state NOT IN ('delivered','superseded')";
    await eventually(
      'all are delivered',
      () => count() >= orders + 180 && select(waybill.storeFile, open).length === 0,
      400_000,
    );
    daemon.kill('SIGTERM');
    await daemon.ended;
    await bothAgree();
  });

  for (const [way, ...more] of [
    ['--look-up'],
    ['--from-service', '--sent-since', new Date(Date.now() - 3_600_000).toISOString()],
  ])
    it(`holds each order once when the store is lost and recovered ${way}`, async () => {
      const seen = references();
      loseStore();
      await succeeds(0, 'recover', way as string, ...more, '--yes');
      // Each that was found is flagged for review.
      await succeeds(3, 'sync');
      expect(references()).to.deep.equal(seen);
      // A change of each with all its fields follows, whatever the lost store had sent.
      await editSampleLine(erp, 7, 1, way === '--look-up' ? 5 : 6);
      await succeeds(0, 'sync');
      expect(references()).to.deep.equal(seen);
      await bothAgree();
    });

  it('gets an order again, once, that was deleted there and is missed by a comparison', async () => {
    const { id, note } = oldest();
    await directus.request('DELETE', `/items/orders/${id}`);
    sentAgain = note;
    const { causes, plan } = await compare('orders');
    expect(causes).to.deep.include({ kind: 'missing', cause: 'gone_at_service', count: 1 });
    await succeeds(0, 'reconcile', 'orders', '--repair', '--list', plan.fingerprint, '--reason', 'a test', '--yes');
    await succeeds(0, 'sync');
    await bothAgree();
    expect(references().filter((one) => one.note === note)).to.have.length(1);
  });

  it('never hides behind its 204 that an order to be changed was deleted, nor stops others', async () => {
    const { id, note } = oldest();
    await directus.request('DELETE', `/items/orders/${id}`);
    const [{ id: key }] = select(erp.file, `SELECT id FROM sales_orders WHERE order_no='${note}'`);
    await cancelSampleOrder(erp, key);
    const fresh = await insertSampleOrder(erp);
    const { stdout } = await succeeds(3, 'sync');
    expect(stdout).to.contain('1 wait for a person, 1 of them new').and.not.to.contain('out of reach');
    const story = (await succeeds(0, 'explain', 'order', note)).stdout;
    expect(story).to.contain('parked (revision').and.to.contain('HTTP 204');
    expect(references().map((one) => one.note)).to.include(fresh.orderNo);
    await bothAgree();
  });

  it('leaves to a person what a lost store had sent again under a key that no new store can know', async () => {
    const seen = references();
    loseStore();
    await succeeds(0, 'recover', '--look-up', '--yes');
    expect((await succeeds(3, 'sync')).stdout).to.contain('1 wait for a person, 1 of them new');
    expect((await succeeds(0, 'explain', 'order', sentAgain)).stdout).to.contain('under a later key');
    expect(references()).to.deep.equal(seen);
    await bothAgree();
  });
});
