import { expect } from 'chai';
import { useStore } from '../../store/stores.js';
import { alertsInWords } from '../../support/alerts.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder, wallTimeNow } from '../../support/change-sample-erp.js';
import { type Lab, type LabKit, onSqliteLabAnd, useLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService, statesOf } from '../../support/jobs/service-of.js';

function oddKeysTests(kit: LabKit): void {
  const works = async (lab: Lab, times = 3) => {
    for (let i = 0; i < times; i++) {
      await lab.capture({ sweep: true });
      await lab.deliver();
    }
  };
  const writesAt = (lab: Lab) => lab.sandbox.ledger().requests.filter(({ method }) => method !== 'GET').length;
  const removalsAt = (lab: Lab) => lab.sandbox.ledger().requests.filter(({ method }) => method === 'DELETE');
  const concat = (...parts: string[]) =>
    kit.erpType === 'sqlite' ? parts.join(' || ') : `CONCAT(${parts.join(', ')})`;

  it('is read to its end where keys have 19 digits', async () => {
    const settings = { capture: { pageSize: 5 }, orders: { onDeleted: 'delete' } };
    const lab = await kit.start({ customers: 2, orders: 60, settings });
    const type = { sqlite: null, mysql: 'MODIFY', postgres: 'ALTER' }[kit.erpType];
    for (const [table, column] of type
      ? [['sales_orders', 'id'] as const, ['sales_order_lines', 'order_id'] as const]
      : [])
      await lab.changeErp(`ALTER TABLE ${table} ${type} ${column} ${kit.erpType === 'mysql' ? '' : 'TYPE'} BIGINT`);
    await lab.changeErp('UPDATE sales_orders SET id=id+1234567890123456918');
    await lab.changeErp('UPDATE sales_order_lines SET order_id=order_id+1234567890123456918');
    await works(lab);
    await expectAllAtService(lab);
    expect(removalsAt(lab)).to.deep.equal([]);
  });

  const queriesBy = (key: (order: string) => string) => ({
    query: `SELECT ${key('o')} AS k, o.* FROM sales_orders o`,
    key: 'k',
    lines: {
      query: `SELECT ${key('o')} AS k, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
                JOIN sales_orders o ON o.id=l.order_id JOIN products p ON p.id=l.product_id`,
      orderKey: 'k',
    },
  });

  it('loses no record whose key is too long to be asked for', async () => {
    const orders = { ...queriesBy((o) => concat(`'${'K'.repeat(300)}'`, `${o}.id`)), onDeleted: 'delete' };
    const lab = await kit.start({ customers: 1, orders: 3, settings: { orders } });
    await works(lab, 1);
    await expectAllAtService(lab);
    const before = writesAt(lab);
    await works(lab, 4);
    expect(writesAt(lab)).to.equal(before);
    await expectAllAtService(lab);
    // An order that waits for its lines goes on waiting from when it was first seen.
    await insertSampleOrder(lab.erp);
    await lab.changeErp(
      'UPDATE sales_orders SET total=total+1, updated_at=? WHERE id=(SELECT id FROM (SELECT MAX(id) AS id FROM sales_orders) q)',
      [wallTimeNow()],
    );
    await works(lab, 1);
    const waiting = await kit.rows('SELECT first_seen_at FROM unsettled');
    expect(waiting).to.have.length(1);
    await works(lab, 1);
    expect(await kit.rows('SELECT first_seen_at FROM unsettled')).to.deep.equal(waiting);
  });

  describe('whose database calls several spellings of a key equal', () => {
    /** SQLite and PostgreSQL compare the texts of the sample ERP byte by byte, unless the query says otherwise. */
    const collation = { sqlite: ' COLLATE NOCASE', mysql: '', postgres: ' COLLATE ci' }[kit.erpType];
    const loosely = (column: string) => `(${column}${collation})`;
    const orders = {
      ...queriesBy((o) => loosely(`${o}.order_no`)),
      cancelled: { column: 'status', values: ['cancelled'] },
      onCancelled: 'delete',
      onDeleted: 'delete',
    };
    const respellOrder = (lab: Lab, id: number, spelling = 'LOWER(order_no)') =>
      lab.changeErp(`UPDATE sales_orders SET order_no=${spelling}, updated_at=? WHERE id=?`, [wallTimeNow(), id]);
    const requestsSince = (lab: Lab, before: number) =>
      lab.sandbox
        .ledger()
        .requests.slice(before)
        .map(({ method }) => method);

    it('has one record, however its key is spelled, and an edit of it is an update', async () => {
      const lab = await kit.start({ customers: 1, orders: 3, settings: { orders } });
      const { id, orderNo } = await insertSampleOrder(lab.erp);
      await works(lab, 1);
      const writes = writesAt(lab);
      await respellOrder(lab, id);
      expect((await lab.reader.presence('order', [orderNo])).existing).to.deep.equal(new Set([orderNo]));
      // Once by the cursor, and in sweeps. The number is the note as well.
      await lab.capture();
      await lab.deliver();
      await works(lab);
      expect(requestsSince(lab, writes)).to.deep.equal(['PATCH']);
      await editSampleLine(lab.erp, id, 1, 77);
      await works(lab);
      expect(requestsSince(lab, writes)).to.deep.equal(['PATCH', 'PATCH']);
      expect(await kit.rows('SELECT 1 FROM outbox_message WHERE source_key=?', [orderNo.toLowerCase()])).to.deep.equal(
        [],
      );
      await cancelSampleOrder(lab.erp, id);
      await lab.capture();
      await lab.deliver();
      expect(requestsSince(lab, writes)).to.deep.equal(['PATCH', 'PATCH', 'DELETE']);
    });

    it('has one record also where the key is respelled before its create is sent', async () => {
      const lab = await kit.start({ customers: 1, orders: 3, settings: { orders } });
      const { id } = await insertSampleOrder(lab.erp);
      await lab.capture();
      await respellOrder(lab, id);
      await works(lab, 2);
      await expectAllAtService(lab);
      await cancelSampleOrder(lab.erp, id);
      await works(lab, 2);
      await expectAllAtService(lab);
      expect(removalsAt(lab)).to.have.length(1);
    });

    const spelled = (how: string) => loosely(`${how}(c.customer_no)`);
    /** Customers in this spelling, and orders that name them in lower case. */
    const queries = (how: string, pending?: string) => ({
      customers: {
        query: `SELECT ${spelled(how)} AS k, UPPER(c.customer_no) AS code, c.* FROM customers c`,
        key: 'k',
        ...(pending && { pending }),
        fields: { customer_code: 'code' },
        onDeleted: 'delete',
      },
      orders: {
        query: `SELECT ${spelled('LOWER')} AS c, o.* FROM sales_orders o JOIN customers c ON c.id=o.customer_id`,
        customerKey: 'c',
      },
    });

    it('has one customer, however it and its orders spell its key', async () => {
      const lab = await kit.start({ customers: 2, orders: 3, settings: queries('UPPER') });
      await works(lab, 1);
      await expectAllAtService(lab);
      const writes = writesAt(lab);
      const later = lab.another({ settings: queries('LOWER') });
      await insertSampleOrder(lab.erp);
      await works(later, 3);
      expect(requestsSince(lab, writes)).to.deep.equal(['POST']);
      await expectAllAtService(lab);
    });

    it('parks an order whose customer may not be sent any more, and is spelled another way there', async () => {
      const lab = await kit.start({ customers: 2, orders: 3, settings: queries('UPPER') });
      await works(lab, 1);
      const { id } = await insertSampleOrder(lab.erp);
      const settings = queries('UPPER', '1=0');
      await works(lab.another({ settings: { ...settings, orders: { ...settings.orders, settleSeconds: 0 } } }), 2);
      const [parked] = await kit.rows(
        "SELECT reason_code, reason_data FROM outbox_message WHERE entity='order' AND source_key=? AND state='parked'",
        [`${id}`],
      );
      expect(parked)
        .to.have.property('reason')
        .that.contains('is not in customers.query, or customers.pending leaves it out');
      // As soon as the customer may be sent again, so may the order.
      await works(lab);
      await expectAllAtService(lab);
    });

    it('has two records where it has a row in each spelling, and guesses at none where both are respelled', async () => {
      const byRemark = queriesBy((o) => loosely(`COALESCE(${o}.remark, ${o}.order_no)`));
      const lab = await kit.start({ customers: 1, orders: 3, settings: { orders: byRemark } });
      await lab.changeErp('UPDATE sales_orders SET remark=NULL');
      const twins = [(await insertSampleOrder(lab.erp)).id];
      const spell = (...spellings: string[]) =>
        Promise.all(
          twins.map((id, at) =>
            lab.changeErp('UPDATE sales_orders SET remark=? WHERE id=?', [spellings[at] as string, id]),
          ),
        );
      await spell('twin');
      await works(lab, 1);
      twins.push((await insertSampleOrder(lab.erp)).id);
      await spell('twin', 'Twin');
      await works(lab, 2);
      const writes = writesAt(lab);
      await spell('tWin', 'TWIN');
      const { orderNo } = await insertSampleOrder(lab.erp);
      await works(lab, 2);
      expect(requestsSince(lab, writes)).to.deep.equal(['POST']);
      expect(lab.sandbox.ledger().orders.at(-1)?.reference).to.equal(orderNo);
      const parked = () =>
        kit.rows("SELECT source_key, park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'");
      expect(await parked()).to.deep.equal([
        {
          source_key: 'Twin',
          park_class: 'unmapped',
          reason:
            'the ERP calls the keys "TWIN", "Twin", "tWin", "twin" equal, so which of its rows was captured as "Twin", "twin" is not known. Give that row its key in this spelling again.',
        },
      ]);
      await spell('twin', 'Twin');
      await works(lab, 2);
      expect(requestsSince(lab, writes)).to.deep.equal(['POST']);
      expect(await parked()).to.deep.equal([]);
    });
  });

  it('goes on past a row without a key, and says how many there are until they have one', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 4,
      settings: { orders: queriesBy((o) => `CASE WHEN ${o}.remark='no key' THEN NULL ELSE ${o}.id END`) },
    });
    const { id } = await insertSampleOrder(lab.erp);
    await lab.changeErp("UPDATE sales_orders SET remark='no key' WHERE id=?", [id]);
    await lab.capture();
    await lab.deliver();
    const expected = await lab.expectedOrders();
    expect(lab.sandbox.ledger().orders).to.have.length(expected.size - 1);
    const alerts = () => alertsInWords(kit, "open_cause='keyless.order'");
    expect((await alerts()).map(({ message }) => message)).to.deep.equal([
      '1 row of orders.query can not be sent: the key is NULL. Give it a key in the ERP, or leave it out in the query.',
    ]);
    await lab.changeErp('UPDATE sales_orders SET remark=NULL WHERE id=?', [id]);
    await works(lab, 1);
    await expectAllAtService(lab);
    expect(await alerts()).to.deep.equal([]);
  });

  it('goes on past rows whose key is an empty text, and parks them with the reason', async () => {
    const own = (o: string) => concat(`${o}.id`, "''");
    const lab = await kit.start({
      customers: 1,
      orders: 4,
      settings: { orders: queriesBy((o) => `CASE WHEN ${o}.remark='no key' THEN '' ELSE ${own(o)} END`) },
    });
    const { id } = await insertSampleOrder(lab.erp);
    await lab.changeErp("UPDATE sales_orders SET remark='no key' WHERE id=?", [id]);
    await works(lab, 2);
    const expected = await lab.expectedOrders();
    expect(lab.sandbox.ledger().orders).to.have.length(expected.size - 1);
    expect(
      await kit.rows("SELECT park_class, reason_code, reason_data FROM outbox_message WHERE source_key=''"),
    ).to.deep.equal([
      {
        park_class: 'unmapped',
        reason: 'orders.query yields a row whose key is empty. Give it a key in the ERP, or leave it out in the query.',
      },
    ]);
    await lab.changeErp('UPDATE sales_orders SET remark=NULL WHERE id=?', [id]);
    await works(lab, 1);
    await expectAllAtService(lab);
  });

  it('has the same records when the column of their creation time gets another precision', async () => {
    const lab = await kit.start({ customers: 1, orders: 4 });
    const { id } = await insertSampleOrder(lab.erp, { time: '2026-06-01 09:00:00.600000' });
    await works(lab, 1);
    await lab.changeErp(
      {
        sqlite: 'UPDATE sales_orders SET created_at=substr(created_at, 1, 19)',
        mysql: 'ALTER TABLE sales_orders MODIFY created_at DATETIME NOT NULL',
        postgres: 'ALTER TABLE sales_orders ALTER created_at TYPE TIMESTAMP(0)',
      }[kit.erpType],
    );
    await editSampleLine(lab.erp, id, 1, 77);
    // A column that changes while it is read stops one read; the next one knows it as it is now.
    const failure = await lab.capture().then(
      () => null,
      ({ message }: Error) => message,
    );
    if (kit.erpType === 'sqlite') expect(failure).to.equal(null);
    else expect(failure).to.include('no longer yields the column "created_at" as it was');
    await works(lab, 1);
    await expectAllAtService(lab);
    expect((await statesOf(kit)).parked ?? 0).to.equal(0);
  });

  const toDecimal = {
    sqlite: null,
    mysql: (table: string, column: string) => `ALTER TABLE ${table} MODIFY ${column} DECIMAL(12,2) NOT NULL`,
    postgres: (table: string, column: string) => `ALTER TABLE ${table} ALTER ${column} TYPE NUMERIC(12,2)`,
  }[kit.erpType];
  if (toDecimal !== null)
    it('has the same records when a key of whole numbers becomes one with decimal places', async () => {
      const lab = await kit.start({ customers: 2, orders: 4, settings: { orders: { onDeleted: 'delete' } } });
      await works(lab, 1);
      const writes = writesAt(lab);
      await lab.changeErp(toDecimal('sales_orders', 'id'));
      await lab.changeErp(toDecimal('sales_order_lines', 'order_id'));
      expect((await lab.capture({ sweep: true }).catch((error: Error) => error)) as Error)
        .to.have.property('message')
        .that.includes('"id" as it was: its numbers have other decimal places now');
      await works(lab);
      expect(writesAt(lab)).to.equal(writes);
      await expectAllAtService(lab);
      expect(await kit.rows("SELECT source_key FROM outbox_message WHERE source_key LIKE '%.%'")).to.deep.equal([]);
    });

  it('is not taken for a restored one when the newest draft is thrown away, and its key given again', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    const sent = await insertSampleOrder(lab.erp, { time: '2026-05-01 09:00:00.000000' });
    const draft = await insertSampleOrder(lab.erp, { status: 'draft', time: '2026-06-01 09:00:00.000000' });
    await works(lab, 1);
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [draft.id]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [draft.id]);
    await editSampleLine(lab.erp, sent.id, 1, 77);
    await works(lab, 1);
    await expectAllAtService(lab);
    const next = await insertSampleOrder(lab.erp, { time: '2026-06-01 10:00:00.000000' });
    expect(next.id).to.equal(draft.id);
    await works(lab, 1);
    await expectAllAtService(lab);
    expect(await kit.rows('SELECT cause FROM alert WHERE open_cause IS NOT NULL')).to.deep.equal([]);
  });
}

onSqliteLabAnd('mysql', 'an ERP with odd keys', oddKeysTests);
describe('an ERP with odd keys (SQLite, the ERP on PostgreSQL)', () =>
  oddKeysTests(useLab(useStore('sqlite'), 'postgres')));
