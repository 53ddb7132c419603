import { expect } from 'chai';
import fc from 'fast-check';
import type { ErpPage, ReadCustomer, ReadOrder } from '../../../src/erp/erp-reader.js';
import { partsOf } from '../../../src/outbound/capture/rows-aside.js';
import { readCursor } from '../../../src/store/job-runs.js';
import { useStore } from '../../store/stores.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { onSqliteLabAnd, useLab } from '../../support/jobs/job-lab.js';

describe('capture from a file into a file', () => {
  const kit = useLab(useStore('sqlite'));

  it('heeds a stop that comes while a page is written, although its drivers never wait, and goes on with the rest', async () => {
    const lab = await kit.start({ customers: 3, orders: 250 });
    const stop = new AbortController();
    const onTouched = (touched: readonly unknown[]) => touched.length > 0 && setImmediate(() => stop.abort());
    const first = await lab.capture({ signal: stop.signal, onTouched });
    expect(first.stopped).to.deep.equal({ reason: { code: 'stopping' } });
    expect(first.captured.orders).to.equal(64);
    const { changedAt, sweptAt } = await kit.store.read('look', (tx) => readCursor(tx, 'order'));
    expect([changedAt, sweptAt], 'the cursor stays where it was').to.deep.equal([null, null]);
    const second = await lab.capture();
    expect(second.captured.orders).to.equal(186);
    expect(await kit.rows('SELECT COUNT(*) AS n FROM outbox_message')).to.deep.equal([{ n: 253 }]);
  });

  it('lets timers and sockets have their turn while it reads what it knows', async () => {
    const lab = await kit.start({ customers: 3, orders: 250, settings: { capture: { pageSize: 50 } } });
    await lab.capture();
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await lab.capture({ sweep: true });
    isOver = true;
    // At least one for each statement on the ERP and each page.
    expect(turns).to.be.at.least(25);
  });
});

onSqliteLabAnd('mysql', 'a sweep over what is known', (kit) => {
  it('writes and locks nothing but what changed', async () => {
    const lab = await kit.start({ customers: 3, orders: 20, settings: { capture: { pageSize: 5 } } });
    await lab.capture();
    await lab.deliver();
    await editSampleLine(lab.erp, 7, 1, 9);
    const written: string[] = [];
    const { transaction } = kit.store;
    kit.store.transaction = function (action, work) {
      written.push(action);
      return transaction.call(this, action, work) as never;
    };
    try {
      const result = await lab.capture({ sweep: true });
      expect(result.captured).to.deep.equal({ customers: 0, orders: 1 });
      expect(result.unchanged).to.equal(22);
    } finally {
      kit.store.transaction = transaction;
    }
    // Customers that no order names, which may be known under another spelling, and the order.
    expect(written.filter((action) => action === 'write what was captured')).to.have.length(2);
  });
});

onSqliteLabAnd('mysql', 'a sweep over what is settled', (kit) => {
  it('takes an order for settled only where its newest message, its binding, the mapping and the service agree', async () => {
    const lab = await kit.start({ customers: 3, orders: 8 });
    await lab.capture();
    await lab.deliver();
    const bound = await kit.rows(
      "SELECT source_key, mapping_fingerprint FROM binding WHERE entity='order' ORDER BY CAST(source_key AS DECIMAL(9))",
    );
    const [edited = '', removed = '', other = '', remapped = '', unnamed = '', turned = '', pruned = '', undone = ''] =
      bound.map((row) => String(row.source_key));
    const change = (sql: string, ...values: string[]) => kit.store.transaction('change', (tx) => tx.run(sql, values));
    const newestOf = (key: string, set: string) =>
      change(`UPDATE outbox_message SET ${set} WHERE entity='order' AND source_key=?`, key);
    const bindingOf = (key: string, set: string) =>
      change(`UPDATE binding SET ${set} WHERE entity='order' AND source_key=?`, key);
    // Another edit was captured since; only an older message says what the service holds.
    await newestOf(edited, `content_hash='${'0'.repeat(64)}'`);
    await newestOf(removed, `operation='delete', ${forged.parked}, park_class='held', was_sent=0, first_sent_at=NULL`);
    await bindingOf(other, `content_hash='${'1'.repeat(64)}'`);
    await bindingOf(remapped, `mapping_fingerprint='${'2'.repeat(64)}'`);
    await bindingOf(unnamed, 'identity=NULL');
    await bindingOf(turned, `identity='{"order_no":"A-1","created_at":"2020-01-01"}'`);
    // Rows that a person pruned say nothing against the binding.
    const itsMessages = "(SELECT id FROM outbox_message WHERE entity='order' AND source_key=?)";
    for (const table of ['message_body', 'attempt'])
      await change(`DELETE FROM ${table} WHERE message_id IN ${itsMessages}`, pruned);
    await change("DELETE FROM outbox_message WHERE entity='order' AND source_key=?", pruned);
    // An edit that was captured, and taken back since: an older message agrees, and the newest does not.
    const [line] = await lab.readErp(`SELECT qty FROM sales_order_lines WHERE order_id=${undone} AND line_no=1`);
    await editSampleLine(lab.erp, Number(undone), 1, 77);
    await lab.capture({ filter: { entity: 'order', keys: [undone] } });
    await editSampleLine(lab.erp, Number(undone), 1, Number(line?.qty));
    const touched: string[] = [];
    const result = await lab.capture({
      sweep: true,
      onTouched: (records) => touched.push(...records.map(({ entity, sourceKey }) => `${entity} ${sourceKey}`)),
    });
    expect(touched).to.have.members([edited, removed, turned, undone].map((key) => `order ${key}`));
    expect(result.captured).to.deep.equal({ customers: 0, orders: 4 });
    const mended = await kit.rows(
      "SELECT identity, mapping_fingerprint FROM binding WHERE entity='order' AND source_key IN (?,?)",
      [remapped, unnamed],
    );
    expect(mended.map((row) => row.mapping_fingerprint)).to.deep.equal(Array(2).fill(bound[0]?.mapping_fingerprint));
    expect(mended.map((row) => row.identity === null)).to.deep.equal([false, false]);

    const strict = lab.another({ settings: { service: { fields: { order: { note: { maxLength: 1 } } } } } });
    const parked = await strict.capture({ sweep: true });
    expect(parked.parked).to.equal(8);
  });
});

describe('the parts of a page', () => {
  const order = (key: number, customer: number) =>
    ({ entity: 'order', sourceKey: `${key}`, customerKey: `${customer}` }) as unknown as ReadOrder;
  const customer = (key: number) => ({ entity: 'customer', sourceKey: `${key}` }) as unknown as ReadCustomer;

  it('are all its rows, each once, in their order, each with the customers that it names', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 20 }),
        fc.integer({ min: 1, max: 6 }),
        (of, size) => {
          const rows = of.map((key, at) => order(at, key));
          const customers = [1, 2, 3, 4, 5].map(customer);
          const page: ErpPage<ReadOrder> = { rows, customers, last: null, more: false };
          const parts = [...partsOf(page, size)];
          expect(parts.flatMap((part) => part.rows)).to.deep.equal(rows);
          const all = parts.flatMap((part) => part.customers).map(({ sourceKey }) => sourceKey);
          expect([...new Set(all)].sort()).to.deep.equal(['1', '2', '3', '4', '5']);
          expect(parts.map(({ isLast }) => isLast)).to.deep.equal(parts.map((_, at) => at === parts.length - 1));
          for (const part of parts) {
            const beside = part.customers.map(({ sourceKey }) => sourceKey);
            const named = part.rows.map((row) => (row as ReadOrder).customerKey);
            expect(beside).to.include.members(named);
            if (!part.isLast) expect(named).to.include.members(beside);
          }
        },
      ),
    );
  });
});
