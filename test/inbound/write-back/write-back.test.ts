import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { appendAudit } from '../../../src/audit/audit-log.js';
import { runSchedule } from '../../../src/daemon/schedule.js';
import { erpDialect } from '../../../src/db/databases.js';
import { openErpWriter } from '../../../src/erp/open-erp.js';
import { type ErpWriter, WriteBackError } from '../../../src/erp/write-back/erp-writer.js';
import { sideTables } from '../../../src/erp/write-back/side-tables.js';
import { type WriteBackResult, writeBack } from '../../../src/inbound/write-back/write-back.js';
import { endWriteBackAlerts } from '../../../src/inbound/write-back/write-back-alerts.js';
import { switchWriteBack, writeAgain } from '../../../src/inbound/write-back/write-back-state.js';
import type { SampleErpTarget } from '../../../src/lab/sample-erp/create-sample-erp.js';
import { outside } from '../../../src/model/outside.js';
import type { WriteBackChange, WriteBackKind } from '../../../src/model/write-back.js';
import { recover } from '../../../src/operator/recover.js';
import { sideTableBindings } from '../../../src/operator/side-table-bindings.js';
import { sync } from '../../../src/operator/sync.js';
import { liveIdentity, writeGoLive } from '../../../src/outbound/deliver/go-live.js';
import type { ExportedBindings } from '../../../src/outbound/recovery/take-over-bindings.js';
import { Lease } from '../../../src/store/lease.js';
import { markDue } from '../../../src/store/write-back-due.js';
import { tell } from '../../../src/words/words.js';
import { onSqliteAnd, type StoreKit, useStore } from '../../store/stores.js';
import { alertsInWords } from '../../support/alerts.js';
import { wallTimeNow } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { type Lab, type LabOptions, useLab } from '../../support/jobs/job-lab.js';
import { holdAsLost, loseEverything } from '../../support/jobs/lost-store.js';
import { ageStore, pruneAll } from '../../support/jobs/pass-nights.js';
import { told } from '../../support/told.js';
import { toldRows } from '../../support/told-rows.js';
import { waitFor } from '../../support/wait-for.js';

/** An ERP with its side tables, and an account that may do what is printed and nothing else. */
interface Office {
  lab: Lab;
  writer: ErpWriter;
  /** The writes to the ERP, a line for each transaction. */
  sent: { kind: WriteBackKind; keys: string[] }[];
  /** Somebody who does something before or after a transaction. */
  on: {
    before?: ((kind: WriteBackKind) => unknown) | undefined;
    /** The transaction may commit, and has not yet. */
    beforeCommit?: (() => unknown) | undefined;
    after?: (kind: WriteBackKind) => unknown;
    beforeClearing?: (() => unknown) | undefined;
    afterClearing?: () => unknown;
  };
  pass(laterMs?: number, writer?: ErpWriter): Promise<WriteBackResult>;
  /** The writer of another process. */
  another(): Promise<ErpWriter>;
  rows(table: string): Promise<Record<string, unknown>[]>;
  alerts(): Promise<string[]>;
  /** The account as SQL names it; '' on SQLite. */
  account: string;
}

const tables = ['waybill_orders', 'waybill_customers', 'waybill_invoices', 'other_orders'];
const oneHourMs = 3_600_000;

/** @param erpType of another kind than the store's: then what is about the ERP alone is tried */
function writeBackTests(base: StoreKit, erpType: SampleErpTarget['type'] = base.dialect): void {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  // After the hook above: the connections of a lab are closed by its own.
  const kit = useLab(base, erpType);

  const open = async (over: object = {}, options: LabOptions = {}): Promise<Office> => {
    const plain = await kit.start({ customers: 3, orders: 8, ...options });
    for (const table of tables) await plain.changeErp(`DROP TABLE IF EXISTS ${table}`);
    const user = `writer_${randomBytes(4).toString('hex')}`;
    const account = { sqlite: '', mysql: `'${user}'@'127.0.0.1'`, postgres: user }[erpType];
    const credential = account ? { user, password: 'write-back-canary' } : {};
    const lab = plain.another({ settings: { writeBack: { enabled: true, batchSize: 3, ...credential, ...over } } });
    await switchWriteBack(kit.store, lab.settings.writeBack);
    const printed = sideTables(lab.settings, await erpDialect(erpType), user, '127.0.0.1');
    if (account) {
      const password = erpType === 'mysql' ? 'IDENTIFIED BY' : 'PASSWORD';
      await lab.changeErp(`CREATE USER ${account} ${password} 'write-back-canary'`);
      closing.push(async () => {
        if (erpType === 'postgres') await lab.changeErp(`DROP OWNED BY ${account}`);
        await lab.changeErp(`DROP USER ${account}`);
      });
    }
    for (const statement of [...printed.tables, ...printed.grants]) await lab.changeErp(statement);
    const another = async () => {
      const opened = (await openErpWriter(lab.settings)) as ErpWriter;
      closing.push(() => opened.close());
      return opened;
    };
    const real = await another();
    const office: Office = {
      lab,
      account,
      sent: [],
      on: {},
      writer: {
        identity: () => real.identity(),
        close: () => real.close(),
        rowsAfter: (...asked) => real.rowsAfter(...asked),
        async clearPending(kind, changes, mayCommit) {
          await office.on.beforeClearing?.();
          await real.clearPending(kind, changes, mayCommit);
          await office.on.afterClearing?.();
        },
        async write(kind: WriteBackKind, changes: readonly WriteBackChange[], mayCommit) {
          await office.on.before?.(kind);
          await real.write(kind, changes, async () => {
            await mayCommit();
            await office.on.beforeCommit?.();
          });
          office.sent.push({ kind, keys: changes.map(({ key }) => key) });
          await office.on.after?.(kind);
        },
      },
      another,
      pass: (laterMs = 0, writer = office.writer) =>
        writeBack({ ...lab.context, nowMs: () => Date.now() + laterMs }, { writer, reader: lab.reader }),
      rows: (table) => lab.readErp(`SELECT * FROM ${table} ORDER BY 1`),
      alerts: async () => (await alertsInWords(kit)).map(({ cause, message }) => `${cause}: ${message}`),
    };
    return office;
  };
  const withInvoices = async (office: Office, count: number) => {
    const { lab } = office;
    lab.sandbox.addInvoices(
      Array.from({ length: count }, (_, i) => ({ invoice_no: `INV-${i + 1}`, amount: 1999 + i, customer_code: 'K1' })),
    );
    await lab.pull();
  };

  it('brings orders, customers and unpaid invoices into the side tables, once', async () => {
    const office = await open();
    const { lab } = office;
    await lab.capture();
    await lab.deliver();
    await withInvoices(office, 2);
    const { written, failures } = await office.pass();
    expect(failures).to.deep.equal([]);

    const orders = await office.rows('waybill_orders');
    const bound = await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key");
    expect(orders.map((row) => [row.order_key, row.service_order_id])).to.deep.equal(
      bound.map((row) => [row.source_key, row.service_id]),
    );
    const listed = await kit.rows('SELECT invoice_no FROM invoice');
    expect(written).to.deep.equal({ orders: bound.length, customers: 3, invoices: listed.length });
    const totals = await lab.readErp('SELECT id, order_no, total FROM sales_orders ORDER BY id');
    for (const row of orders) {
      const source = totals.find(({ id }) => String(id) === row.order_key);
      expect(row).to.include({ order_number: source?.order_no, service_status: 'confirmed', parked_reason: null });
      expect(Number(row.service_total)).to.equal(Number(source?.total));
      expect(row.delivered_at).to.match(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    }
    expect(await office.rows('waybill_customers')).to.have.length(3);
    const invoices = (await office.rows('waybill_invoices')).filter((row) => row.invoice_no === 'INV-1');
    expect(invoices[0]).to.include({
      invoice_no: 'INV-1',
      currency: 'EUR',
      status: 'unpaid',
      no_longer_listed_at: null,
    });
    expect(Number(invoices[0]?.amount)).to.equal(19.99);

    const transactions = office.sent.length;
    expect((await office.pass()).written).to.deep.equal({ orders: 0, customers: 0, invoices: 0 });
    expect((await office.pass(25 * oneHourMs)).written, 'a sweep').to.deep.equal({
      orders: 0,
      customers: 0,
      invoices: 0,
    });
    expect(office.sent).to.have.length(transactions);
    const audited = await kit.rows("SELECT outcome, detail FROM audit_log WHERE event='write_back'");
    expect(audited.map(({ detail }) => JSON.parse(detail))).to.deep.equal([{ ...written, refused: 0 }]);
  });

  it('is nothing that capture sees as a change', async () => {
    const office = await open();
    const { lab } = office;
    await lab.capture();
    await lab.deliver();
    const newest = await lab.readErp('SELECT MAX(updated_at) AS at FROM sales_orders');
    expect((await office.pass()).written.orders).to.be.above(0);
    expect(await lab.readErp('SELECT MAX(updated_at) AS at FROM sales_orders')).to.deep.equal(newest);
    expect((await lab.capture()).read, 'a pass over the changes').to.deep.equal({ customers: 0, orders: 0 });
    expect((await lab.capture({ sweep: true })).captured).to.deep.equal({ customers: 0, orders: 0 });
  });

  if (erpType !== 'sqlite')
    it('names the grant that is missing, while everything else goes on', async () => {
      const office = await open();
      const { lab } = office;
      await lab.changeErp(`REVOKE INSERT ON waybill_orders FROM ${office.account}`);
      await lab.capture();
      expect((await office.pass()).failures, 'nothing is to be written yet').to.deep.equal([]);
      await lab.deliver();
      const { written, failures } = await office.pass();
      expect(failures.map(({ kind }) => kind)).to.deep.equal(['orders']);
      expect(written).to.deep.equal({ orders: 0, customers: 3, invoices: 0 });
      const [alert = '', ...others] = await office.alerts();
      expect(others).to.deep.equal([]);
      expect(alert).to.match(
        /(INSERT command|permission) denied .*waybill_orders.*Grant it to the account of writeBack/,
      );
      expect(alert).to.not.include('canary');

      await withInvoices(office, 2);
      await lab.changeErp("UPDATE customers SET name='Changed', updated_at='2026-11-20 10:00:00' WHERE id=1");
      expect((await lab.capture({ sweep: true })).captured.customers).to.equal(1);
      expect((await lab.deliver()).delivered.customers).to.equal(1);
      expect((await office.pass()).written.invoices).to.be.above(1);

      await lab.changeErp(`GRANT INSERT ON waybill_orders TO ${office.account}`);
      expect((await office.pass(oneHourMs)).written.orders).to.be.above(0);
      expect(await office.alerts()).to.deep.equal([]);
    });

  if (erpType !== 'sqlite')
    it('writes with an account that can do nothing else in the ERP', async () => {
      const office = await open({ orders: { upsert: "UPDATE sales_orders SET remark='x' WHERE id=:order_key" } });
      const { lab } = office;
      await lab.capture();
      await lab.deliver();
      const { failures } = await office.pass();
      expect(failures.map(({ reason }) => tell(reason)).join()).to.match(
        /(command denied to user|permission denied for table) .*sales_orders/,
      );
      expect(await lab.readErp("SELECT id FROM sales_orders WHERE remark='x'")).to.deep.equal([]);
    });

  it('stops for a missing table or column only what needs it, says which, and makes good for it', async () => {
    const office = await open();
    const { lab } = office;
    await lab.capture();
    await lab.deliver();
    await withInvoices(office, 2);
    const [{ n: listed }] = await kit.rows('SELECT COUNT(*) AS n FROM invoice');
    await lab.changeErp('ALTER TABLE waybill_customers RENAME TO away');
    closing.push(() => lab.changeErp('DROP TABLE IF EXISTS away'));
    await lab.changeErp('ALTER TABLE waybill_invoices DROP COLUMN status_when_it_left');
    const { written, failures } = await office.pass();
    expect(written).to.include({ customers: 0, invoices: 0 });
    expect(written.orders).to.be.above(0);
    expect(failures.map(({ kind }) => kind)).to.deep.equal(['customers', 'invoices']);
    const [alert = '', ...others] = await office.alerts();
    expect(others).to.deep.equal([]);
    expect(alert).to.match(/^write-back\.failing: .*waybill_customers.*status_when_it_left.*waybill erp side-tables/s);

    const tried: WriteBackKind[] = [];
    office.on.before = (kind) => tried.push(kind);
    await office.pass();
    expect(tried, 'waits before it tries again').to.deep.equal([]);
    await lab.changeErp('ALTER TABLE away RENAME TO waybill_customers');
    await lab.changeErp('ALTER TABLE waybill_invoices ADD COLUMN status_when_it_left VARCHAR(64) NULL');
    expect((await office.pass(oneHourMs)).written).to.deep.equal({ orders: 0, customers: 3, invoices: Number(listed) });
    expect(await office.alerts()).to.deep.equal([]);
    const outcomes = await kit.rows("SELECT outcome FROM audit_log WHERE event='write_back' ORDER BY id");
    expect(outcomes.map(({ outcome }) => outcome)).to.deep.equal(['failed', 'failed', 'written', 'written']);
  });

  it('writes all others when the ERP refuses one row, and tries that one again', async () => {
    const office = await open();
    const { lab } = office;
    const trigger = {
      mysql:
        "CREATE TRIGGER no_two BEFORE INSERT ON waybill_invoices FOR EACH ROW IF NEW.invoice_no='INV-2' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='two is taboo'; END IF",
      postgres: `CREATE OR REPLACE FUNCTION taboo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'two is taboo'; END $$;
         CREATE TRIGGER no_two BEFORE INSERT ON waybill_invoices FOR EACH ROW WHEN (NEW.invoice_no='INV-2') EXECUTE FUNCTION taboo()`,
      sqlite:
        "CREATE TRIGGER no_two BEFORE INSERT ON waybill_invoices WHEN NEW.invoice_no='INV-2' BEGIN SELECT RAISE(ABORT, 'two is taboo'); END",
    };
    await lab.changeErp(trigger[erpType]);
    await withInvoices(office, 5);
    const { written, refused, failures } = await office.pass();
    expect({ invoices: written.invoices, refused, failures }).to.deep.equal({ invoices: 4, refused: 1, failures: [] });
    expect((await office.alerts()).join()).to.match(/write-back\.refused: 1 invoices .*INV-2: .*two is taboo/);
    expect((await office.pass()).refused, 'not tried at every pass').to.equal(0);
    await lab.changeErp(`DROP TRIGGER no_two${erpType === 'postgres' ? ' ON waybill_invoices' : ''}`);
    expect((await office.pass(oneHourMs)).written.invoices).to.equal(1);
    expect(await office.rows('waybill_invoices')).to.have.length(5);
    expect(await office.alerts()).to.deep.equal([]);
  });

  it('runs statements of the settings, which capture does not see either', async () => {
    const upsert =
      "UPDATE sales_orders SET remark=:service_order_id WHERE id=:key_1 -- :not_a_parameter of orders\n AND :order_key<>':x'";
    const office = await open({ orders: { upsert }, customers: { enabled: false } });
    const { lab } = office;
    if (office.account) await lab.changeErp(`GRANT SELECT, UPDATE (remark) ON sales_orders TO ${office.account}`);
    await lab.capture();
    await lab.deliver();
    expect((await office.pass()).failures).to.deep.equal([]);
    const bound = await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key");
    for (const { source_key, service_id } of bound)
      expect(await lab.readErp(`SELECT remark FROM sales_orders WHERE id=${source_key}`)).to.deep.equal([
        { remark: service_id },
      ]);
    expect((await lab.capture()).read).to.deep.equal({ customers: 0, orders: 0 });
    expect(await office.alerts()).to.deep.equal([]);
    expect(await office.rows('waybill_invoices'), 'the others have their tables').to.deep.equal([]);
  });

  it('warns of a statement that moves the column which capture follows', async () => {
    const upsert = "UPDATE sales_orders SET updated_at='2099-01-01 10:00:00' WHERE id=:order_key";
    const office = await open({ orders: { upsert } });
    const { lab } = office;
    if (office.account) await lab.changeErp(`GRANT SELECT, UPDATE ON sales_orders TO ${office.account}`);
    await lab.capture();
    await lab.deliver();
    await office.pass();
    expect((await office.alerts()).join()).to.match(/write-back\.moves\.orders: .*writeBack\.orders\.upsert moves/);
    expect((await lab.capture()).captured, 'read again, and nothing is sent').to.deep.equal({
      customers: 0,
      orders: 0,
    });
    expect((await office.pass()).written.orders, 'no circle').to.equal(0);
    // Its remedy: a side table instead.
    const corrected = lab.another({ settings: { writeBack: { orders: { upsert: undefined } } } });
    await writeBack(corrected.context, { writer: office.writer, reader: corrected.reader });
    expect(await office.alerts()).to.deep.equal([]);
  });

  describe('of a flag by which orders are pending', () => {
    const setsBack = "UPDATE sales_orders SET status='sent' WHERE id=:key_1 AND updated_at=:changed_at";
    const minutesAgo = (minutes: number) => wallTimeNow(new Date(Date.now() - minutes * 60_000));
    const start = async (clearPending = setsBack, options: LabOptions = {}) => {
      const office = await open({ orders: { clearPending } }, options);
      if (office.account)
        await office.lab.changeErp(`GRANT SELECT, UPDATE (status) ON sales_orders TO ${office.account}`);
      const { lab } = office;
      await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE currency<>'EUR'");
      await lab.changeErp('UPDATE sales_orders SET updated_at=?', [minutesAgo(30)]);
      const statusOf = async () =>
        new Map(
          (await lab.readErp('SELECT id, status FROM sales_orders')).map(({ id, status }) => [String(id), status]),
        );
      const sent = async () => [...(await statusOf())].filter(([, status]) => status === 'sent').map(([id]) => id);
      const bound = async () =>
        (await kit.rows("SELECT source_key FROM binding WHERE entity='order'")).map((row) => String(row.source_key));
      const edit = async (id: string, qty: number, updatedAt = minutesAgo(5)) => {
        await lab.changeErp('UPDATE sales_order_lines SET qty=? WHERE order_id=? AND line_no=1', [qty, id]);
        const total = '(SELECT SUM(l.qty*l.unit_price) FROM sales_order_lines l WHERE l.order_id=sales_orders.id)';
        await lab.changeErp(`UPDATE sales_orders SET status='confirmed', total=${total}, updated_at=? WHERE id=?`, [
          updatedAt,
          id,
        ]);
      };
      const qtyAtService = async (id: string) => {
        const [row] = await kit.rows("SELECT service_id FROM binding WHERE entity='order' AND source_key=?", [id]);
        const order = lab.sandbox.ledger().orders.find(({ order_id }) => order_id === row?.service_id);
        return order?.record.items[0]?.qty;
      };
      return { office, lab, statusOf, sent, bound, edit, qtyAtService };
    };

    it('waits for the acknowledgement, and no hold takes it for a lost table', async () => {
      const { office, lab, sent, bound } = await start(setsBack, { orders: 40, bad: { fractionalQuantities: 1 } });
      await lab.capture({ sweep: true });
      await office.pass();
      expect(await sent(), 'nothing is acknowledged').to.deep.equal([]);
      await lab.deliver();
      expect((await office.pass()).failures).to.deep.equal([]);
      expect((await sent()).sort())
        .to.deep.equal((await bound()).sort())
        .and.not.to.deep.equal([]);
      // The parked one is given up: now no order is pending any more.
      await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE status='confirmed'");
      const pass = await lab.capture({ sweep: true });
      expect(pass).to.deep.include({ captured: { customers: 0, orders: 0 }, holds: [], held: 0 });
      expect(await office.alerts()).to.deep.equal([]);
      expect((await office.pass(25 * oneHourMs)).failures, 'a sweep').to.deep.equal([]);
    });

    it('leaves it set where the order was edited before or while it is set back, and sends that change', async () => {
      const { office, lab, statusOf, bound, edit, qtyAtService } = await start();
      await lab.capture();
      await lab.deliver();
      const [before, meanwhile] = (await bound()) as [string, string];
      await edit(before, 61);
      office.on.beforeClearing = async () => {
        office.on.beforeClearing = undefined;
        await edit(meanwhile, 62);
      };
      await office.pass();
      const left = [before, meanwhile].sort();
      const keys = await bound();
      const stillSet = async () => {
        const status = await statusOf();
        return keys.filter((key) => status.get(key) === 'confirmed');
      };
      expect((await stillSet()).sort()).to.deep.equal(left);
      expect(await office.alerts(), 'that is no fault').to.deep.equal([]);
      expect((await lab.capture({ sweep: true })).captured.orders).to.equal(2);
      await office.pass();
      expect((await stillSet()).sort(), 'on its way').to.deep.equal(left);
      await lab.deliver();
      await office.pass();
      expect(await stillSet()).to.deep.equal([]);
      expect([await qtyAtService(before), await qtyAtService(meanwhile)]).to.deep.equal([61, 62]);
    });

    it('leaves it set while another content is on its way, or the row could not take that back', async () => {
      const { office, lab, statusOf, bound, edit, qtyAtService } = await start();
      await lab.capture();
      await lab.deliver();
      const [id] = (await bound()) as [string];
      const qty = await qtyAtService(id);
      await edit(id, 63);
      await lab.capture({ sweep: true });
      await edit(id, Number(qty), minutesAgo(3));
      await office.pass();
      expect((await statusOf()).get(id)).to.equal('confirmed');
      await lab.capture({ sweep: true });
      await lab.deliver();
      await office.pass();
      expect((await statusOf()).get(id)).to.equal('sent');
      expect(await qtyAtService(id)).to.equal(qty);
    });

    it('lets a row rest first, because its next edit may have the same time', async () => {
      const { office, lab, statusOf, bound } = await start();
      await lab.capture();
      await lab.deliver();
      const [young] = (await bound()) as [string];
      await lab.changeErp('UPDATE sales_orders SET updated_at=? WHERE id=?', [wallTimeNow(), young]);
      await office.pass();
      expect((await statusOf()).get(young)).to.equal('confirmed');
      await lab.changeErp('UPDATE sales_orders SET updated_at=? WHERE id=?', [minutesAgo(2), young]);
      await office.pass();
      expect((await statusOf()).get(young)).to.equal('sent');
    });

    it('does nothing twice when the process ends right after it', async () => {
      const { office, lab, sent, bound } = await start();
      await lab.capture();
      await lab.deliver();
      let runs = 0;
      office.on.afterClearing = () => {
        if (++runs === 1) throw new Error('killed');
      };
      const killed = await office.pass().catch((error: Error) => error.message);
      expect(killed).to.equal('killed');
      const first = await sent();
      expect(first).not.to.deep.equal([]);
      await office.pass();
      expect((await sent()).sort()).to.deep.equal((await bound()).sort());
      expect((await lab.capture({ sweep: true })).captured).to.deep.equal({ customers: 0, orders: 0 });
    });

    it('tells of a statement that leaves it set, and goes on with the others where the ERP refuses one', async () => {
      const { office, lab, sent, bound } = await start();
      await lab.capture();
      await lab.deliver();
      const [one, two] = (await bound()) as [string, string];
      const status = `CASE id WHEN ${one} THEN NULL WHEN ${two} THEN status ELSE 'sent' END`;
      const clearPending = `UPDATE sales_orders SET status=${status} WHERE id=:order_key AND updated_at=:changed_at`;
      const other = lab.another({ settings: { writeBack: { orders: { clearPending } } } });
      const writer = (await openErpWriter(other.settings)) as ErpWriter;
      closing.push(() => writer.close());
      const result = await writeBack(other.context, { writer, reader: other.reader });
      expect(result).to.include({ refused: 2 });
      expect((await sent()).length).to.equal((await bound()).length - 2);
      const refusals = toldRows(
        await kit.rows(
          'SELECT record_key, refusal_code, refusal_data FROM write_back_row WHERE refusal_code IS NOT NULL',
        ),
      );
      const reasons = new Map(refusals.map((row) => [row.record_key, String(row.refusal)]));
      expect([...reasons.keys()].sort()).to.deep.equal([one, two].sort());
      expect(reasons.get(two)).to.include(
        'it is pending as before after writeBack.orders.clearPending ran with :changed_at',
      );
      expect((await office.alerts()).join()).to.include('write-back.refused: 2 orders could not be written back');
      // The remedy: the statement of `office` is right, and another one is tried at once.
      await office.pass();
      expect((await sent()).length).to.equal((await bound()).length);
      expect(await office.alerts()).to.deep.equal([]);
    });
  });

  it('has a row for each key, also where they differ only by case or by spaces at the end', async () => {
    const office = await open();
    const numbers = ['INV-1', 'INV-1 ', 'inv-1'];
    office.lab.sandbox.addInvoices(numbers.map((invoice_no, nth) => ({ invoice_no, amount: 100 * (nth + 1) })));
    await office.lab.pull();
    await office.pass();
    const amounts = new Map((await office.rows('waybill_invoices')).map((row) => [row.invoice_no, Number(row.amount)]));
    expect(numbers.map((number) => amounts.get(number))).to.deep.equal([1, 2, 3]);
    expect(await office.writer.rowsAfter('invoices', 'INV-1', 1)).to.deep.equal([{ key: 'INV-1 ', serviceId: null }]);
    if (erpType !== 'mysql') return;
    // A query of the ERP may join a text column of its own, whatever its collation.
    await office.lab.changeErp('DROP TABLE IF EXISTS other_orders');
    await office.lab.changeErp(
      'CREATE TABLE other_orders AS SELECT CONVERT(invoice_no USING utf8mb4) COLLATE utf8mb4_general_ci AS no FROM waybill_invoices',
    );
    const joined = await office.lab.readErp('SELECT no FROM other_orders JOIN waybill_invoices ON invoice_no=no');
    expect(joined).to.have.length(amounts.size);
  });

  describe('of a writer that stopped at the worst moment', () => {
    const change = (set: string) =>
      kit.store.transaction('change an invoice', async (tx) => {
        await tx.run(set);
        await markDue(tx, 'invoices', ['INV-1']);
      });
    const lapse = () => kit.store.transaction('time passes', (tx) => tx.run('UPDATE lease SET expires_at=1'));
    const shown = async (office: Office) =>
      (await office.rows('waybill_invoices')).map((row) => [row.invoice_no, Number(row.amount)]);
    const openWith = async (amount: number) => {
      const office = await open();
      office.lab.sandbox.addInvoices([{ invoice_no: 'INV-1', amount }]);
      await office.lab.pull();
      await kit.store.transaction('keep one', (tx) => tx.run("DELETE FROM invoice WHERE invoice_no<>'INV-1'"));
      return office;
    };

    it('writes nothing older over what its successor wrote, when it was frozen before its transaction', async () => {
      const office = await openWith(50_000);
      await office.pass();
      await change('UPDATE invoice SET amount=40000');
      office.on.before = async () => {
        office.on.before = undefined;
        await lapse();
        await change('UPDATE invoice SET amount=30000');
        expect((await office.pass()).written.invoices).to.equal(1);
      };
      const woke = await office.pass().catch((error: Error) => error.message);
      expect(woke).to.match(/^The write-back lease has gone to another process/);
      expect(await shown(office)).to.deep.equal([['INV-1', 300]]);
      expect((await office.pass()).written.invoices).to.equal(0);
      expect(await kit.rows('SELECT id FROM write_back_due')).to.deep.equal([]);
    });

    for (const [what, sql, expected] of [
      ['a newer row', 'UPDATE invoice SET amount=30000', [['INV-1', 300]]],
      ['the removal of the row', 'DELETE FROM invoice', []],
    ] as const)
      it(`writes before its successor, when it was frozen before its commit: then comes ${what}`, async () => {
        const office = await openWith(50_000);
        const successor = await office.another();
        let written: Promise<WriteBackResult> | undefined;
        office.on.beforeCommit = async () => {
          office.on.beforeCommit = undefined;
          await lapse();
          await change(sql);
          written = office.pass(0, successor);
          // It waits for the rows, which are locked: it must not have written them by then.
          await Promise.race([written, new Promise((go) => setTimeout(go, 500))]);
        };
        const woke = await office.pass().catch((error: Error) => error.message);
        expect(woke).to.match(/^The write-back lease has gone to another process/);
        expect((await written)?.failures).to.deep.equal([]);
        expect(await shown(office)).to.deep.equal(expected);
      });

    it('is written again, when it was killed after its commit and the row went back to what it was', async () => {
      const office = await openWith(50_000);
      await office.pass();
      await change('UPDATE invoice SET amount=40000');
      office.on.after = () => {
        throw new Error('killed');
      };
      expect(await office.pass().catch((error: Error) => error.message)).to.equal('killed');
      office.on.after = () => undefined;
      await change('UPDATE invoice SET amount=50000');
      expect((await office.pass()).written.invoices).to.equal(1);
      expect(await shown(office)).to.deep.equal([['INV-1', 500]]);
    });
  });

  if (erpType !== base.dialect) return;

  it('is done by the daemon, beside what it does for the service', async () => {
    const office = await open({}, { settings: { schedule: { writeBack: '* * * * * *', capture: '* * * * * *' } } });
    const { lab, writer } = office;
    const stop = new AbortController();
    const ended = runSchedule(lab.context, { reader: lab.reader, client: lab.client, writer }, stop.signal);
    try {
      await waitFor('the orders in the side table', async () => {
        const rows = await office.rows('waybill_orders');
        return rows.length === 8 && rows.every((row) => row.service_order_id !== null);
      });
    } finally {
      stop.abort();
      await ended;
    }
    const leases = await kit.rows("SELECT holder FROM lease WHERE name='write-back'");
    expect(leases).to.deep.equal([{ holder: null }]);
  });

  it('keeps the ids that an earlier store wrote while nothing else proves them, and a recovery takes them over', async () => {
    const office = await open({}, { customers: 2, orders: 4 });
    const { lab } = office;
    await lab.capture({ sweep: true });
    await lab.deliver();
    await office.pass();
    const ids = async () => {
      const orders = (await office.rows('waybill_orders')).map(({ service_order_id: id }) => id);
      return [...orders, ...(await office.rows('waybill_customers')).map(({ service_customer_id: id }) => id)];
    };
    const before = await ids();
    expect(before).to.have.length(6).and.not.include(null);
    const made = { orders: 4, customers: 2, duplicateReferences: 0 };
    const lose = async () => {
      await loseEverything(kit);
      for (const table of ['write_back_target', 'write_back_row', 'write_back_due'])
        await kit.rows(`DELETE FROM ${table}`);
      await holdAsLost(kit);
    };
    const recoverBy = (bindings: ExportedBindings | null) =>
      recover(lab.context, lab.reader, { fate: { to: 'parked' }, bindings, reason: 'a test' });

    await lose();
    expect(await recoverBy(null)).to.include({ unbound: 6 });
    await office.pass();
    expect(await ids(), 'the only proof that is left').to.deep.equal(before);
    expect((await office.rows('waybill_orders')).map(({ parked_class: parked }) => parked)).to.deep.equal(
      Array(4).fill('unproven'),
    );

    await lose();
    const { bindings, unbound } = await recoverBy(sideTableBindings(lab.context, office.writer));
    expect(bindings).to.include({ imported: 6, taken: 0 });
    expect(unbound).to.equal(0);
    await lab.deliver();
    expect(lab.sandbox.counts()).to.include(made);
    await office.pass();
    expect(await ids()).to.deep.equal(before);
    const parked = (await office.rows('waybill_orders')).map(({ parked_class: one }) => one);
    expect(parked).to.deep.equal(Array(4).fill(null));
  });

  if (erpType === 'mysql')
    it('writes nothing into a side table that has lost its key, and says so', async () => {
      const office = await open();
      await office.lab.changeErp('ALTER TABLE waybill_customers DROP PRIMARY KEY');
      await office.lab.capture({ sweep: true });
      await office.lab.deliver();
      const { failures } = await office.pass();
      expect(JSON.stringify(failures)).to.contain('waybill_customers has no unique key on customer_key');
      expect(await office.rows('waybill_customers')).to.deep.equal([]);
      expect(await office.rows('waybill_orders')).to.not.deep.equal([]);
    });

  it('finds a change whose transaction committed later than its neighbours', async () => {
    const office = await open();
    const { lab } = office;
    await lab.capture();
    await lab.deliver();
    await office.pass();
    const shipped = (id: number, key: string) =>
      kit.store.transaction('note it', async (tx) => {
        await tx.run("UPDATE binding SET service_status='shipped' WHERE entity='order' AND source_key=?", [key]);
        await tx.run("INSERT INTO write_back_due (id, kind, record_key) VALUES (?,'orders',?)", [id, key]);
      });
    const [first, second] = (await office.rows('waybill_orders')).map((row) => String(row.order_key));
    await shipped(1_000_020, first as string);
    expect((await office.pass()).written.orders).to.equal(1);
    await shipped(1_000_010, second as string);
    expect((await office.pass()).written.orders).to.equal(1);
    const rows = (await office.rows('waybill_orders')).filter((row) => row.service_status === 'shipped');
    expect(rows).to.have.length(2);
  });

  const due = async (kind: WriteBackKind) => {
    const marks = await kit.rows('SELECT DISTINCT record_key FROM write_back_due WHERE kind=? ORDER BY 1', [kind]);
    return marks.map(({ record_key }) => String(record_key));
  };

  it('marks what changed in the transaction that changes it, and loses nothing by a crash', async () => {
    const office = await open();
    const { lab } = office;
    await office.pass();
    await lab.capture();
    await office.pass();
    expect([await due('orders'), await due('customers')]).to.deep.equal([[], []]);

    // A transaction that is rolled back leaves neither the change nor a mark.
    const broken = kit.store.transaction('break off', async (tx) => {
      await appendAudit(tx, [{ event: 'read_back', entity: 'order', sourceKey: '1', actor: 'test' }], Date.now());
      expect(await tx.rows('SELECT record_key FROM write_back_due')).to.deep.equal([{ recordKey: '1' }]);
      throw new Error('the power went');
    });
    expect(await broken.catch(({ message }) => message)).to.match(/the power went/);
    expect(await due('orders')).to.deep.equal([]);

    await lab.deliver();
    await withInvoices(office, 2);
    const bound = await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY 1");
    const listed = await kit.rows('SELECT invoice_no FROM invoice ORDER BY 1');
    const orders = bound.map(({ source_key }) => String(source_key));
    const invoices = listed.map(({ invoice_no }) => String(invoice_no));
    expect([await due('orders'), await due('invoices')]).to.deep.equal([orders, invoices]);
    expect(orders).to.have.length.above(3);

    // The process dies before it writes, and once more after the ERP has a batch and before that is noted.
    office.on.after = () => {
      throw new Error('the power went again');
    };
    await office.pass().catch(() => undefined);
    office.on.after = () => undefined;
    expect(await due('orders')).to.deep.equal(orders);
    expect((await office.pass()).written).to.deep.equal({
      orders: orders.length,
      customers: 3,
      invoices: invoices.length,
    });
    expect((await office.rows('waybill_orders')).map((row) => String(row.order_key)).sort()).to.deep.equal(
      orders.toSorted(),
    );
    expect(await kit.rows('SELECT id FROM write_back_due')).to.deep.equal([]);
  });

  it('keeps a mark that is set while its record is being written', async () => {
    const office = await open();
    await withInvoices(office, 1);
    await office.pass();
    office.lab.sandbox.payInvoice('INV-1');
    await office.lab.pull();
    office.on.after = async () => {
      office.on.after = () => undefined;
      await kit.store.transaction('change it once more', async (tx) => {
        await tx.run("UPDATE invoice SET left_status='paid' WHERE invoice_no='INV-1'");
        await markDue(tx, 'invoices', ['INV-1']);
      });
    };
    await office.pass();
    await office.pass();
    const row = (await office.rows('waybill_invoices')).find(({ invoice_no }) => invoice_no === 'INV-1');
    expect(row).to.include({ status_when_it_left: 'paid' });
  });

  it('marks nothing of a kind that is off, and sweeps it when it is on again', async () => {
    const office = await open();
    const { lab } = office;
    await office.pass();
    await switchWriteBack(kit.store, { ...lab.settings.writeBack, enabled: false });
    await lab.capture();
    await lab.deliver();
    expect([await due('orders'), await due('customers')]).to.deep.equal([[], []]);
    await switchWriteBack(kit.store, lab.settings.writeBack);
    expect((await office.pass()).written.orders).to.be.above(0);

    const { orders, ...others } = lab.settings.writeBack;
    await switchWriteBack(kit.store, { ...others, orders: { ...orders, enabled: false } });
    await withInvoices(office, 2);
    expect(await due('invoices')).to.include.members(['INV-1', 'INV-2']);
  });

  it('ends its alerts where it is switched off', async () => {
    const office = await open();
    await office.lab.changeErp('ALTER TABLE waybill_invoices RENAME TO away');
    closing.push(() => office.lab.changeErp('DROP TABLE IF EXISTS away'));
    await withInvoices(office, 1);
    await office.pass();
    expect(await office.alerts()).to.have.length(1);
    await kit.store.transaction('switch it off', (tx) => endWriteBackAlerts(tx, Date.now()));
    expect(await office.alerts()).to.deep.equal([]);
  });

  it('writes back after a pass by hand', async () => {
    const office = await open();
    const { lab } = office;
    const partners = { reader: lab.reader, client: () => lab.client, writer: () => office.writer };
    const result = await sync(lab.context, partners, { stages: ['capture', 'deliver'] });
    expect(result.writeBack).to.deep.include({ busy: null, failures: [] });
    expect(result.writeBack?.written.orders)
      .to.equal((await office.rows('waybill_orders')).length)
      .and.be.above(0);
    expect((await sync(lab.context, partners, { stages: ['capture'] })).writeBack).to.equal(null);

    office.on.before = () => {
      throw new WriteBackError('unreachable', 'away');
    };
    await withInvoices(office, 1);
    const byHand = async () => (await sync(lab.context, partners, { stages: ['deliver'] })).writeBack;
    expect((await byHand())?.failures).to.deep.equal([
      { kind: 'invoices', reason: { code: 'write_back_failed', kind: 'unreachable', message: outside('away') } },
    ]);
    expect((await byHand())?.failures, 'it does not wait for its next try').to.have.length(1);
    expect(await office.alerts(), 'it may be there again in a moment').to.deep.equal([]);
    await office.pass(oneHourMs);
    expect((await office.alerts()).join(), 'after alert.failuresInRow failures').to.match(/write-back\.failing: away/);
  });

  it('keeps an invoice that left the list, with the time, and takes up a changed amount', async () => {
    const office = await open();
    await withInvoices(office, 3);
    await office.pass();
    office.lab.sandbox.payInvoice('INV-2');
    await office.lab.pull();
    await office.pass();
    const rows = await office.rows('waybill_invoices');
    expect(rows.map((row) => [row.invoice_no, row.no_longer_listed_at !== null])).to.deep.equal([
      ['INV-1', false],
      ['INV-2', true],
      ['INV-3', false],
    ]);
    expect(office.sent.at(-1)).to.deep.equal({ kind: 'invoices', keys: ['INV-2'] });
  });

  it('shows what is parked and why, until it is solved', async () => {
    const office = await open();
    const { lab } = office;
    const [{ id = '' } = {}] = await lab.readErp(
      "SELECT MAX(id) AS id FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01'",
    );
    await lab.changeErp('UPDATE sales_order_lines SET qty=qty+0.5 WHERE order_id=?', [id]);
    await lab.capture();
    await lab.deliver();
    await office.pass();
    const first = async () => (await office.rows('waybill_orders')).find((row) => row.order_key === String(id));
    expect(await first()).to.include({ service_order_id: null, parked_class: 'unmapped' });
    expect((await first())?.parked_reason).to.match(/qty/);

    await kit.store.transaction('discard', (tx) =>
      tx.run(`UPDATE outbox_message SET ${forged.discarded} WHERE source_key=? AND entity='order'`, [String(id)]),
    );
    await office.pass(25 * oneHourMs);
    expect(await first(), 'nothing is known of it any more').to.equal(undefined);

    await lab.changeErp('UPDATE sales_order_lines SET qty=qty-0.5 WHERE order_id=?', [id]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    await office.pass();
    expect(await first()).to.include({ service_status: 'confirmed', parked_class: null, parked_reason: null });
  });

  it('goes on where it was when it was broken off between two batches', async () => {
    const office = await open();
    await withInvoices(office, 10);
    office.on.before = () => {
      if (office.sent.length === 2) throw new Error('the power went');
    };
    const failure = await office.pass().catch((error: Error) => error.message);
    expect(failure).to.equal('the power went');
    expect(await office.rows('waybill_invoices')).to.have.length(6);
    office.on.before = () => undefined;
    office.on.after = () => {
      if (office.sent.length === 3) throw new Error('the power went again');
    };
    await office.pass().catch(() => undefined);
    office.on.after = () => undefined;
    expect((await office.pass()).written.invoices).to.equal(4);
    const numbers = office.sent.flatMap(({ keys }) => keys);
    const twice = numbers.filter((number, index) => numbers.indexOf(number) !== index);
    expect(twice, 'what the ERP had and nobody knew').to.have.length(3);
    expect(await office.rows('waybill_invoices')).to.have.length(10);
  });

  it('waits for go-live, and takes away what another store wrote into the side tables before', async () => {
    const office = await open();
    const { lab } = office;
    await lab.changeErp('DELETE FROM waybill_invoices');
    for (let i = 0; i < 7; i++)
      await lab.changeErp(
        `INSERT INTO waybill_invoices (invoice_no, amount, currency, due_date, status, listed_since, written_at)
         VALUES ('SANDBOX-${i}', 1, 'EUR', '2026-01-01', 'unpaid', '2026-01-01 10:00:00', '2026-01-01 10:00:00')`,
      );
    await withInvoices(office, 2);
    const live = lab.another({ settings: { service: { environment: 'production' } } });
    const pass = () => writeBack(live.context, { writer: office.writer, reader: lab.reader });
    const held = await pass();
    expect(told(held.held)).to.match(/^not live yet/);
    expect(office.sent).to.deep.equal([]);

    expect((await office.pass()).failures, 'a sandbox').to.deep.equal([]);
    const numbers = async () => (await office.rows('waybill_invoices')).map(({ invoice_no }) => String(invoice_no));
    expect((await numbers()).filter((no) => no.startsWith('SANDBOX-'))).to.have.length(7);

    await kit.store.transaction('forget what was written', (tx) => tx.run('DELETE FROM write_back_target'));
    await kit.store.transaction('go live', (tx) =>
      writeGoLive(tx, liveIdentity(live.settings, lab.reader.identity()), 'an operator', Date.now()),
    );
    await kit.store.transaction('as before the first pull', (tx) =>
      tx.run("UPDATE invoice_pull SET outcome='failed' WHERE outcome='proven'"),
    );
    await pass();
    expect((await numbers()).filter((no) => no.startsWith('SANDBOX-'))).to.have.length(7);
    await kit.store.transaction('a pull', (tx) => tx.run("UPDATE invoice_pull SET outcome='proven'"));
    expect(await pass()).to.deep.include({ held: null, failures: [], refused: 0 });
    const listed = (await kit.rows('SELECT invoice_no FROM invoice')).map(({ invoice_no }) => invoice_no);
    expect(await numbers()).to.have.members(listed);
  });

  for (const how of ['side tables', 'statements of the settings'])
    it(`keeps what ${how} wrote when retention has removed the messages and their audit`, async () => {
      const insert = 'INTO other_orders VALUES (:order_key, :order_number, :service_status, :service_total)';
      const replace = `REPLACE ${insert}`;
      const upsert = {
        sqlite: replace,
        mysql: replace,
        postgres: `INSERT ${insert} ON CONFLICT (k) DO UPDATE SET status=excluded.status`,
      }[erpType];
      const own = how !== 'side tables';
      const office = await open(own ? { orders: { upsert } } : {});
      const { lab } = office;
      await lab.changeErp(
        'CREATE TABLE other_orders (k VARCHAR(255) PRIMARY KEY, no VARCHAR(255), status VARCHAR(255), total VARCHAR(40))',
      );
      if (office.account) await lab.changeErp(`GRANT ALL ON other_orders TO ${office.account}`);
      const table = own ? 'other_orders' : 'waybill_orders';
      await lab.capture();
      await lab.deliver();
      expect((await office.pass()).failures).to.deep.equal([]);
      const before = await office.rows(table);
      expect(before).to.have.length.above(3);
      for (const row of before) expect(Object.values(row).slice(1, 4)).to.not.include(null);
      const sent = office.sent.length;

      const laterMs = 800 * 24 * oneHourMs;
      await ageStore(lab, 800);
      const { messages, audit } = await pruneAll(lab.another({}));
      expect([messages > 0, audit > 0]).to.deep.equal([true, true]);
      expect((await office.pass(laterMs)).written.orders).to.equal(0);
      expect(await office.rows(table)).to.deep.equal(before);
      expect(office.sent).to.have.length(sent);
    });

  it('writes everything anew into another table, and again when told to', async () => {
    const office = await open();
    await withInvoices(office, 4);
    await office.pass();
    await office.lab.changeErp("DELETE FROM waybill_invoices WHERE invoice_no<'INV-3'");
    expect((await office.pass()).written.invoices).to.equal(0);
    expect(await writeAgain(office.lab.context)).to.equal(null);
    expect((await office.pass()).written.invoices).to.equal(4);
    expect(await office.rows('waybill_invoices')).to.have.length(4);
  });

  it('leaves it to one process at a time', async () => {
    const office = await open();
    await withInvoices(office, 1);
    await Lease.acquire(kit.store, 'write-back', 'the other daemon', 60_000);
    expect(await office.pass()).to.deep.include({ busy: 'the other daemon' });
    expect(office.sent).to.deep.equal([]);
    expect(await writeAgain(office.lab.context)).to.equal('the other daemon');
  });
}

onSqliteAnd('mysql', 'write-back', (kit) => writeBackTests(kit));

describe('write-back from a SQLite store into a MariaDB ERP', () => writeBackTests(useStore('sqlite'), 'mysql'));
describe('write-back from a SQLite store into a PostgreSQL ERP', () => writeBackTests(useStore('sqlite'), 'postgres'));
