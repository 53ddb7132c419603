import { expect } from 'chai';
import fc from 'fast-check';
import type { ErpPage, ReadCustomer, ReadOrder } from '../../../src/erp/erp-reader.js';
import { partsOf } from '../../../src/outbound/capture/rows-aside.js';
import { readCursor } from '../../../src/store/job-runs.js';
import { useStore } from '../../store/stores.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { onEveryLab, useLab } from '../../support/jobs/job-lab.js';

describe('capture from a file into a file', () => {
  const kit = useLab(useStore('sqlite'));

  it('heeds a stop that comes while a page is written, although its drivers never wait, and goes on with the rest', async () => {
    const lab = await kit.start({ customers: 3, orders: 250 });
    const stop = new AbortController();
    const onTouched = (touched: readonly unknown[]) => touched.length > 0 && setImmediate(() => stop.abort());
    const first = await lab.capture({ signal: stop.signal, onTouched });
    expect(first.stopped).to.deep.equal({ reason: 'stopping' });
    expect(first.captured.orders).to.equal(128);
    const { changedAt, sweptAt } = await kit.store.read('look', (tx) => readCursor(tx, 'order'));
    expect([changedAt, sweptAt], 'the cursor stays where it was').to.deep.equal([null, null]);
    const second = await lab.capture();
    expect(second.captured.orders).to.equal(122);
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

onEveryLab('a sweep over what is known', (kit) => {
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

describe('the parts of a page', () => {
  const order = (key: number, customer: number) =>
    ({ entity: 'order', sourceKey: `${key}`, customerKey: `${customer}` }) as unknown as ReadOrder;
  const customer = (key: number) => ({ entity: 'customer', sourceKey: `${key}` }) as unknown as ReadCustomer;

  it('are all its rows, each once, in their order, and no order comes before its customer', () => {
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
          expect(
            parts
              .flatMap((part) => part.customers)
              .map(({ sourceKey }) => sourceKey)
              .sort(),
          ).to.deep.equal(['1', '2', '3', '4', '5']);
          expect(parts.map(({ isLast }) => isLast)).to.deep.equal(parts.map((_, at) => at === parts.length - 1));
          const met = new Set<string>();
          for (const part of parts) {
            for (const { sourceKey } of part.customers) met.add(sourceKey);
            for (const row of part.rows) expect(met.has((row as ReadOrder).customerKey ?? '')).to.equal(true);
          }
        },
      ),
    );
  });
});
