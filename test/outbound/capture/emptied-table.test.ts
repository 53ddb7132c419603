import { expect } from 'chai';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService, statesOf } from '../../support/jobs/service-of.js';

/** The long form: WAYBILL_EMPTIED_ORDERS=5000 npx mocha dist/test/outbound/capture/emptied-table.test.js */
const manyOrders = Number(process.env.WAYBILL_EMPTIED_ORDERS ?? 60);
const isLong = manyOrders > 60;
/** Any of the four is missed by the records, in one of these two ways. */
const tables = ['sales_orders', 'sales_order_lines', ...(isLong ? ['customers', 'products'] : [])];

onAnyLab('a table that is empty for a minute', (kit) => {
  const atService = (lab: Lab) => {
    const { orders, customers, requests } = lab.sandbox.ledger();
    return { orders, customers, writes: requests.filter(({ method }) => method !== 'GET').length };
  };

  for (const table of tables) {
    it(`changes nothing at the service: ${table}`, async function () {
      this.timeout(300_000);
      const lab = await kit.start({
        customers: 6,
        orders: manyOrders,
        // Everything that could remove something is switched on.
        settings: {
          capture: { maxUpdates: 5 },
          customers: { onDeleted: 'delete' },
          orders: {
            cancelled: { column: 'status', values: ['cancelled'] },
            onCancelled: 'delete',
            onDeleted: 'delete',
          },
        },
      });
      await lab.capture({ sweep: true });
      await lab.deliver();
      await expectAllAtService(lab);
      const before = atService(lab);
      await lab.changeErp(`CREATE TABLE kept AS SELECT * FROM ${table}`);
      try {
        await lab.changeErp(`DELETE FROM ${table}`);
        // The cursor's pages, and the sweep's: absent in three of them.
        await lab.capture();
        for (let i = 0; i < 3; i++) {
          await lab.capture({ sweep: true });
          await lab.deliver();
        }
        expect(atService(lab)).to.deep.equal(before);
        await lab.changeErp(`INSERT INTO ${table} SELECT * FROM kept`);
      } finally {
        await lab.changeErp('DROP TABLE kept');
      }
      for (let i = 0; i < 2; i++) {
        await lab.capture({ sweep: true });
        await lab.deliver();
      }
      expect(atService(lab)).to.deep.equal(before);
      // Nothing is left behind that a person would have to clear away.
      expect((await statesOf(kit)).parked ?? 0).to.equal(0);
      expect(await kit.rows('SELECT cause FROM alert WHERE open_cause IS NOT NULL')).to.deep.equal([]);
    });
  }
});
