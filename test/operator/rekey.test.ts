import { expect } from 'chai';
import { actOnMessages, planAction } from '../../src/operator/actions/message-actions.js';
import {
  planRekey,
  RekeyRefused,
  type RekeyRequest,
  rekey,
  withEveryRecord,
} from '../../src/operator/actions/rekey.js';
import { goLiveProblem } from '../../src/outbound/deliver/go-live.js';
import type { Store } from '../../src/store/store.js';
import { editSampleLine, insertSampleOrder, wallTimeNow } from '../support/change-sample-erp.js';
import { erpReaderOf } from '../support/erp-reader.js';
import { type Lab, onSqliteLabAnd } from '../support/jobs/job-lab.js';
import { withMethod } from '../support/jobs/with-method.js';
import { ordersByNumber } from '../support/orders-by-number.js';
import { refusalOf, told } from '../support/told.js';

const byNumber = { orders: { ...ordersByNumber, identity: ['order_no', 'created_at'] } };

onSqliteLabAnd('postgres', 'records whose keys are others now', (kit) => {
  const readers: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const reader of readers.splice(0)) await reader.close();
  });
  const requestOf = (lab: Lab, more: Partial<RekeyRequest> = {}): RekeyRequest => {
    const every = erpReaderOf(withEveryRecord(lab.settings));
    readers.push(every);
    const { reader } = lab;
    return { entity: 'order', reader, every, named: new Map(), isRestNew: false, reason: 'a test', ...more };
  };
  /** Two orders of the ERP get each other's ids. */
  const swapIds = async (lab: Lab, a: number, b: number) => {
    for (const [from, to] of [
      [a, 999_999],
      [b, a],
      [999_999, b],
    ] as const) {
      await lab.changeErp('UPDATE sales_orders SET id=? WHERE id=?', [to, from]);
      await lab.changeErp('UPDATE sales_order_lines SET order_id=? WHERE order_id=?', [to, from]);
    }
  };
  const setStatus = (lab: Lab, id: number, status: string) =>
    lab.changeErp('UPDATE sales_orders SET status=?, updated_at=? WHERE id=?', [status, wallTimeNow(), id]);

  it('never use an idempotency key of the record that had the key before, whatever becomes of them', async () => {
    const cancelled = { column: 'status', values: ['cancelled'] };
    const settings = {
      orders: { identity: ['order_no'], cancelled, onCancelled: 'delete' },
      service: { idempotency: { replaysRefusals: true } },
    };
    const lab = await kit.start({ customers: 1, orders: 3, settings });
    const works = async () => {
      await lab.capture({ sweep: true });
      await lab.deliver();
    };
    await works();
    const [a, b] = (await lab.readErp("SELECT id FROM sales_orders WHERE status='confirmed' ORDER BY id")).map(
      ({ id }) => Number(id),
    ) as [number, number];
    // Two generations of its key are used.
    for (const status of ['cancelled', 'confirmed']) {
      await setStatus(lab, a, status);
      await works();
    }
    const { id: refused } = await insertSampleOrder(lab.erp);
    lab.sandbox.setFaults([{ kind: 'status', status: 422, times: 1, match: { method: 'POST', path: '/v1/orders' } }]);
    await works();
    lab.sandbox.clearFaults();
    await swapIds(lab, a, b);
    await rekey(lab.context, requestOf(lab));
    await works();
    for (const status of ['cancelled', 'confirmed']) {
      await setStatus(lab, a, status);
      await works();
    }
    await swapIds(lab, a, refused);
    await rekey(lab.context, requestOf(lab));
    const retry = {
      action: 'retry',
      filter: { records: [{ entity: 'order', sourceKey: String(a) }] },
      serviceId: null,
      reason: 'a test',
    } as const;
    const { ids } = await planAction(lab.context, retry);
    expect((await actOnMessages(lab.context, retry, ids)).done).to.equal(1);
    await works();
    expect(await kit.rows("SELECT * FROM outbox_message WHERE state NOT IN ('delivered','superseded')")).to.deep.equal(
      [],
    );
    expect(lab.sandbox.ledger().orders).to.have.length(4);
  });

  const start = async (): Promise<Lab> => {
    const lab = await kit.start({
      customers: 3,
      orders: 8,
      settings: { orders: { identity: ['order_no', 'created_at'] } },
    });
    await lab.capture();
    await lab.deliver();
    return lab;
  };
  const orders = () =>
    kit.rows("SELECT source_key, service_id, revision FROM binding WHERE entity='order' ORDER BY service_id");
  const idsOf = async () => (await orders()).map(({ service_id: id }) => id);
  const keysAtService = (lab: Lab) => lab.sandbox.ledger().requests.map(({ idempotency_key: key }) => key);
  const recordsOf = (lab: Lab) => lab.sandbox.ledger().orders.map(({ order_id: id, record }) => ({ id, record }));
  /** An edit of each of some orders goes to its own record, a new order is one more, and nothing else is sent. */
  const goesOn = async (lab: Lab, newOrders = 0) => {
    const before = lab.sandbox.counts();
    const content = recordsOf(lab);
    expect((await lab.capture({ sweep: true })).stopped).to.equal(null);
    await lab.deliver({ erp: lab.reader });
    // A record that is sent again goes out under the key that it had.
    await lab.capture({ filter: { entity: 'order' }, force: true });
    await lab.deliver({ erp: lab.reader });
    expect(recordsOf(lab).slice(0, content.length)).to.deep.equal(content);
    for (const { id } of await lab.readErp('SELECT id FROM sales_orders'))
      await editSampleLine(lab.erp, Number(id), 1, 7);
    await insertSampleOrder(lab.erp);
    await lab.capture({ sweep: true });
    await lab.deliver({ erp: lab.reader });
    const { orders: now, duplicates } = lab.sandbox.ledger();
    expect(duplicates).to.deep.equal([]);
    const open = await kit.rows(
      "SELECT entity, source_key, operation, state, reason_code, reason_data FROM outbox_message WHERE state NOT IN ('delivered','superseded')",
    );
    expect(open).to.deep.equal([]);
    expect(lab.sandbox.counts().orders).to.equal(before.orders + newOrders + 1);
    expect(new Map(now.map(({ reference, record }) => [reference, record]))).to.deep.equal(await lab.expectedOrders());
  };

  it('keep their ids at the service when another column becomes the key', async () => {
    const lab = await start();
    const before = await idsOf();
    const keys = keysAtService(lab);
    const pinned = await kit.rows('SELECT id, idempotency_key FROM outbox_message ORDER BY id');
    const other = lab.another({ settings: byNumber });
    const plan = await planRekey(other.context, requestOf(other));
    expect(plan).to.deep.include({ problem: null, ambiguous: [], gone: [], unknown: [] });
    expect(plan.matches.size).to.equal(before.length);
    expect((await orders()).map(({ source_key: key }) => key).join()).to.not.include('A-');
    await rekey(other.context, requestOf(other));
    expect(await idsOf()).to.deep.equal(before);
    expect((await orders()).every(({ source_key: key }) => key.startsWith('A-'))).to.equal(true);
    expect(await kit.rows('SELECT id, idempotency_key FROM outbox_message ORDER BY id')).to.deep.equal(pinned);
    const lines = await kit.rows("SELECT source_key FROM audit_log WHERE outcome='rekey' AND entity='order'");
    expect(lines).to.have.length(before.length);
    await goesOn(other);
    // Under the old settings everything waits now.
    expect(told((await lab.capture()).stopped?.reason)).to.include('waybill rekey orders');
    expect(keysAtService(lab).slice(0, keys.length)).to.deep.equal(keys);
  });

  it('keep their ids when the ERP moves to a database in which the same ids are of other orders', async () => {
    const lab = await start();
    const moved: Lab = Object.assign(Object.create(lab), { reader: movedTo('another place', lab) });
    const [last] = await lab.readErp('SELECT MAX(id) AS id FROM sales_orders');
    const after = Number(last?.id) + 1;
    // One has an update more than the one that gets its key, so that the key of that update would come again.
    const known = (await orders()).map(({ source_key: key }) => Number(key));
    const edited = known.find((key) => key !== after - key && known.includes(after - key)) as number;
    await editSampleLine(lab.erp, edited, 1, 3);
    await lab.capture({ sweep: true });
    await lab.deliver();
    for (const [table, column] of [
      ['sales_orders', 'id'],
      ['sales_order_lines', 'order_id'],
    ])
      for (const expression of [`-(${after}-${column})`, `-${column}`])
        await lab.changeErp(`UPDATE ${table} SET ${column}=${expression}`);
    const before = await idsOf();
    moved.capture = (options) => Object.getPrototypeOf(moved).capture.call(moved, options);
    const request = requestOf(lab, { reader: moved.reader });
    await rekey(moved.context, request);
    expect(await idsOf()).to.deep.equal(before);
    lab.reader = moved.reader;
    const customers = requestOf(lab, { reader: moved.reader, entity: 'customer' });
    await rekey(lab.context, customers);
    // The order that has its key now gets the same revision as the one that had it.
    await editSampleLine(lab.erp, edited, 1, 4);
    await lab.capture({ sweep: true });
    await lab.deliver({ erp: lab.reader });
    expect(lab.sandbox.ledger().orders.map(({ order_id: id }) => id)).to.have.members(before);
    expect(
      await kit.rows("SELECT reason_code, reason_data FROM outbox_message WHERE state IN ('parked','in_doubt')"),
    ).to.deep.equal([]);
    await goesOn(lab);
  });

  it('leave a key that a new order may have, which goes out as one of its own', async () => {
    const lab = await start();
    const [{ source_key: key }] = await orders();
    const renumber = async (from: string, to: string) => {
      await lab.changeErp(`UPDATE sales_orders SET id=${to} WHERE ${from}`);
      await lab.changeErp(
        `UPDATE sales_order_lines SET order_id=${to.replace('id', 'order_id')} WHERE ${from.replace('id', 'order_id')}`,
      );
    };
    await renumber('id<1000', 'id+1000');
    lab.reader = movedTo('another place', lab);
    for (const entity of ['customer', 'order'] as const) await rekey(lab.context, requestOf(lab, { entity }));
    const { id } = await insertSampleOrder(lab.erp);
    await renumber(`id=${id}`, key);
    await lab.changeErp(`UPDATE sales_orders SET order_no='A-NEW' WHERE id=${key}`);
    await goesOn(lab, 1);
  });

  it('wait for a person where nothing tells which is which, and none of them is sent twice', async () => {
    const lab = await start();
    const before = await orders();
    const [{ source_key: key, service_id: id }] = before;
    await lab.changeErp(`UPDATE sales_orders SET order_no='A-1' WHERE id=${key}`);
    const other = lab.another({ settings: byNumber });
    const refused = await rekey(other.context, requestOf(other)).catch((error: Error) => error);
    expect(refused).to.be.instanceOf(RekeyRefused);
    expect(refusalOf(refused as Error)).to.include('--rest-is-new');
    expect(await orders()).to.deep.equal(before);
    expect(told((await other.capture()).stopped?.reason)).to.include('waybill rekey orders');
    // The advice works.
    await rekey(other.context, requestOf(other, { named: new Map([['A-1', id]]) }));
    expect((await orders()).find(({ service_id: one }) => one === id)).to.include({ source_key: 'A-1' });
    expect(lab.sandbox.counts().orders).to.equal(before.length);
  });

  it('stay behind where the ERP has them no more, and nothing follows from that', async () => {
    const lab = await start();
    const [{ source_key: key, service_id: id }] = await orders();
    await lab.changeErp(`DELETE FROM sales_order_lines WHERE order_id=${key}`);
    await lab.changeErp(`DELETE FROM sales_orders WHERE id=${key}`);
    const other = lab.another({ settings: { orders: { ...byNumber.orders, onDeleted: 'delete' } } });
    const { gone } = await rekey(other.context, requestOf(other));
    expect(gone.map(({ sourceKey }) => sourceKey)).to.deep.equal([key]);
    for (let sweep = 0; sweep < 3; sweep++) await other.capture({ sweep: true });
    await other.deliver();
    const [left] = (await orders()).filter(({ service_id: one }) => one === id);
    expect(left.source_key).to.match(/^….*:\d+$/);
    expect(lab.sandbox.ledger().requests.filter(({ method }) => method === 'DELETE')).to.deep.equal([]);
  });

  it('hold everything when a run breaks off at any point, until another one has finished it', async () => {
    const lab = await start();
    const before = await idsOf();
    const other = lab.another({ settings: byNumber });
    for (let nth = 1; ; nth++) {
      let left = nth;
      const dying = withMethod(kit.store, 'transaction', async (what, work) => {
        if (/key|remember|note/.test(what) && left-- === 0) throw new Error('the power is gone');
        return kit.store.transaction(what, work);
      }) as Store;
      const done = await rekey({ ...other.context, store: dying }, requestOf(other)).catch(
        (error: Error) => error.message,
      );
      if (done !== 'the power is gone') break;
      for (const any of [lab, other]) {
        expect(told((await any.capture({ sweep: true })).stopped?.reason), `after ${nth}`).to.include(
          'waybill rekey orders',
        );
        const problem = await kit.store.read('', (tx) => goLiveProblem(tx, any.settings, any.reader.identity()));
        expect(told(problem)).to.include('waybill rekey orders');
      }
    }
    expect(await idsOf()).to.deep.equal(before);
    await goesOn(other);
  });
});

function movedTo(place: string, lab: Lab): Lab['reader'] {
  return Object.assign(Object.create(lab.reader), { identity: () => place });
}
