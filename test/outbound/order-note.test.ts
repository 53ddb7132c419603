import { expect } from 'chai';
import { insertSampleOrder, wallTimeNow } from '../support/change-sample-erp.js';
import { onAnyLab } from '../support/jobs/job-lab.js';

onAnyLab('the note of an order, where it is mapped', (kit) => {
  it('is none where it is empty, and becomes null at the service when it is emptied', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 3,
      settings: { orders: { fields: { note: { column: 'remark', optional: true } } } },
    });
    const remark = (id: number, text: string | null) =>
      lab.changeErp('UPDATE sales_orders SET remark=?, updated_at=? WHERE id=?', [text, wallTimeNow(), id]);
    const [named, none, empty] = [
      (await insertSampleOrder(lab.erp)).id,
      (await insertSampleOrder(lab.erp)).id,
      (await insertSampleOrder(lab.erp)).id,
    ];
    await remark(named, 'ring twice');
    await remark(none, null);
    await remark(empty, '');
    await lab.capture({ sweep: true });
    await lab.deliver();
    const notes = async () =>
      (
        await kit.rows(
          `SELECT m.source_key, m.operation, COALESCE(b.body, b.record) AS body FROM outbox_message m JOIN message_body b ON b.message_id=m.id
            WHERE m.entity='order' AND m.state='delivered' AND m.source_key IN (?,?,?) ORDER BY m.source_key, m.revision`,
          [named, none, empty].map(String),
        )
      ).map(({ source_key, operation, body }) => `${source_key} ${operation} ${JSON.stringify(JSON.parse(body).note)}`);
    const created = [`${named} create "ring twice"`, `${none} create undefined`, `${empty} create undefined`];
    expect(await notes()).to.deep.equal(created);

    await remark(named, '');
    await remark(none, 'mind the dog');
    await lab.capture();
    await lab.deliver();
    await remark(none, null);
    await lab.capture();
    await lab.deliver();
    expect((await notes()).filter((note) => !created.includes(note))).to.deep.equal([
      `${named} update null`,
      `${none} update "mind the dog"`,
      `${none} update null`,
    ]);
  });
});
