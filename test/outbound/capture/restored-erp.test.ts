import { expect } from 'chai';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService, statesOf } from '../../support/jobs/service-of.js';

/** The long form: WAYBILL_RESTORED_ORDERS=5000 npx mocha dist/test/outbound/capture/restored-erp.test.js */
const manyOrders = Number(process.env.WAYBILL_RESTORED_ORDERS ?? 60);
const tables = ['sales_orders', 'sales_order_lines', 'customers'];

/** Everything that could remove something is switched on. */
const settings = {
  customers: { onDeleted: 'delete' },
  orders: { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete', onDeleted: 'delete' },
};

onAnyLab('an ERP that was restored from yesterday', (kit) => {
  const heldBySource = async (lab: Lab) => (await summariseHeld(lab.context, {})).summary.holds.length;
  const openAlerts = async () =>
    (await kit.rows('SELECT cause FROM alert WHERE open_cause IS NOT NULL ORDER BY cause')).map(({ cause }) => cause);
  const atService = (lab: Lab) => {
    const { orders, customers, requests } = lab.sandbox.ledger();
    return { orders, customers, writes: requests.filter(({ method }) => method !== 'GET').length };
  };
  const yesterday = (table: string) => `yesterday_${table}`;

  /** Today's entries and edits have reached the service; then the backup of yesterday takes the place of the ERP. */
  const restored = async (): Promise<{ lab: Lab; lost: number[] }> => {
    const lab = await kit.start({ customers: 6, orders: manyOrders, settings });
    for (const table of tables) await lab.changeErp(`DROP TABLE IF EXISTS ${yesterday(table)}`);
    for (const table of tables) await lab.changeErp(`CREATE TABLE ${yesterday(table)} AS SELECT * FROM ${table}`);
    const lost: number[] = [];
    for (let i = 0; i < 4; i++)
      lost.push((await insertSampleOrder(lab.erp, { lines: [{ qty: i + 1 }], time: '2026-06-01 09:00:00.000000' })).id);
    const eligible = await lab.readErp(
      "SELECT id FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01' ORDER BY id",
    );
    for (const { id } of eligible.slice(0, 2)) await editSampleLine(lab.erp, Number(id), 1, 77);
    await lab.capture({ sweep: true });
    await lab.deliver();
    await expectAllAtService(lab);
    for (const table of tables) await lab.changeErp(`DELETE FROM ${table}`);
    for (const table of tables) await lab.changeErp(`INSERT INTO ${table} SELECT * FROM ${yesterday(table)}`);
    return { lab, lost };
  };
  const works = async (lab: Lab) => {
    for (let i = 0; i < 3; i++) {
      await lab.capture({ sweep: true });
      await lab.deliver();
    }
  };
  const confirmed = async (lab: Lab, how: 'send' | 'discard', keys?: string[]) => {
    const filter = keys ? { records: keys.map((sourceKey) => ({ entity: 'order' as const, sourceKey })) } : {};
    const { shown } = await summariseHeld(lab.context, filter);
    return (await confirmHeld(lab.context, filter, how, shown, 'asked the office')).done;
  };

  it('changes nothing at the service before a person confirms, and then what that person says', async function () {
    this.timeout(300_000);
    const { lab, lost } = await restored();
    const before = atService(lab);
    await works(lab);
    // Two others are entered meanwhile, under ids and numbers that were given before.
    for (let i = 0; i < 2; i++) await insertSampleOrder(lab.erp, { lines: [{ qty: 50 + i }] });
    await works(lab);
    expect(atService(lab)).to.deep.equal(before);
    expect(await heldBySource(lab)).to.equal(1);
    expect(await openAlerts()).to.deep.equal(['held.order', 'source.order']);

    // The reverted edits and the two lost orders that nothing replaced are what the ERP says now: send that.
    expect(await confirmed(lab, 'send')).to.equal(4);
    expect(await openAlerts()).to.deep.equal([]);
    await works(lab);
    const { orders } = atService(lab);
    const asBefore = before.orders.filter(({ reference }) => orders.some((one) => one.reference === reference));
    expect(orders).to.have.length(before.orders.length - 2);
    expect(asBefore).to.have.length(orders.length);
    // The two whose keys are another order's now wait for a person who names them.
    const keys = lost.slice(0, 2).map(String);
    const conflicts = await kit.rows("SELECT source_key FROM outbox_message WHERE park_class='conflict' ORDER BY id");
    expect(conflicts.map(({ source_key }) => source_key)).to.deep.equal(keys);
    expect(await confirmed(lab, 'send', keys)).to.equal(2);
    await works(lab);
    await expectAllAtService(lab);
    expect((await statesOf(kit)).parked ?? 0).to.equal(0);
  });

  it('is noticed also when more was entered than was lost before anybody looked', async () => {
    const { lab, lost } = await restored();
    const before = atService(lab);
    for (let i = 0; i < lost.length; i++) await insertSampleOrder(lab.erp, { lines: [{ qty: 50 + i }] });
    const next = await insertSampleOrder(lab.erp, { lines: [{ qty: 99 }] });
    await works(lab);
    const after = atService(lab);
    // A key that was never given before is a new order and nothing else.
    const others = after.orders.filter(({ reference }) => reference !== next.orderNo);
    expect(others).to.deep.equal(before.orders);
    expect(after.customers).to.deep.equal(before.customers);
    expect(after.writes).to.equal(before.writes + 1);
    expect(await heldBySource(lab)).to.equal(1);
    expect((await kit.rows("SELECT 1 FROM outbox_message WHERE park_class='conflict'")).length).to.equal(lost.length);

    expect(await confirmed(lab, 'discard')).to.equal(2);
    await works(lab);
    expect(atService(lab).writes).to.equal(before.writes + 1);
  });

  it('overwrites no customer with another who got the key', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: { customers: { send: 'all' } } });
    const columns = 'name, email, street, postcode, city, country, created_at, updated_at';
    await lab.changeErp(
      `INSERT INTO customers (id, customer_no, ${columns}) SELECT 99, 'K-OLD', ${columns} FROM customers WHERE id=1`,
    );
    await lab.capture({ sweep: true });
    await lab.deliver();
    const before = atService(lab);
    await lab.changeErp("UPDATE customers SET customer_no='K-NEW', name='Somebody Else' WHERE id=99");
    await works(lab);
    expect(atService(lab).customers).to.deep.equal(before.customers);
    const parked = await kit.rows(
      "SELECT reason_code, reason_data FROM outbox_message WHERE entity='customer' AND park_class='conflict'",
    );
    expect(parked).to.have.length(1);
    expect(parked[0].reason).to.include('another record under an old key: customer_code was K-OLD and is K-NEW.');
  });

  it('is no cause to doubt a code or number that is corrected before the service has the record', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    const { id } = await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'status', status: 400, match: { method: 'POST' } }]);
    await lab.deliver();
    await lab.changeErp("UPDATE customers SET customer_no='K-NEW' WHERE id=1");
    await lab.changeErp("UPDATE sales_orders SET order_no='A-NEW' WHERE id=?", [id]);
    lab.sandbox.clearFaults();
    await works(lab);
    await expectAllAtService(lab);
    expect((await statesOf(kit)).parked ?? 0).to.equal(0);
  });
});
