import { expect } from 'chai';
import { formerFingerprint, mappingFingerprint } from '../../../src/outbound/outbox/content-hash.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService } from '../../support/jobs/service-of.js';
import type { Tree } from '../../support/merge-settings.js';

onAnyLab('a mapping', (kit) => {
  const works = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const changesAt = (lab: Lab) =>
    lab.sandbox.ledger().requests.filter(({ method, path }) => method !== 'GET' && path.startsWith('/v1/orders/'));
  const heldOrders = () =>
    kit.rows("SELECT source_key, reason_code, reason_data FROM outbox_message WHERE entity='order' AND state='parked'");
  const boundKeys = async () =>
    (await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key")).map((row) =>
      Number(row.source_key),
    );
  const fingerprints = async () =>
    (await kit.rows("SELECT DISTINCT mapping_fingerprint FROM binding WHERE entity='order'")).map(
      (row) => row.mapping_fingerprint,
    );

  const shipTo = 'SELECT o.*, CASE WHEN customer_id=1 THEN 2 ELSE 1 END AS ship_to FROM sales_orders o';
  const codes = (code: string) =>
    `SELECT id, ${code} AS customer_no, name, email, street, postcode, city, country, updated_at FROM customers`;
  const changes: [string, Tree, Tree][] = [
    [
      'names the customer of orders by another column',
      { orders: { query: shipTo } },
      { orders: { query: shipTo, customerKey: 'ship_to' } },
    ],
    [
      'makes another code of each customer',
      { customers: { query: codes('customer_no') } },
      { customers: { query: codes("REPLACE(customer_no, 'K', 'X')") } },
    ],
  ];
  for (const [name, before, after] of changes)
    it(`that ${name} sends no change of an order before a person says so`, async () => {
      const lab = await kit.start({ customers: 2, orders: 6, settings: before });
      await works(lab);
      const keys = await boundKeys();
      const changed = lab.another({ settings: after });
      for (let pass = 0; pass < 2; pass++) await works(changed);
      expect(changesAt(lab)).to.deep.equal([]);
      const held = await heldOrders();
      expect(held).to.have.length(keys.length);
      for (const { reason } of held) expect(reason).to.equal('the mapping changed, and this record with it');
      // Put back, nothing is left of it.
      for (let pass = 0; pass < 2; pass++) await works(lab);
      expect(await heldOrders()).to.deep.equal([]);
      expect(changesAt(lab)).to.deep.equal([]);
    });

  it('that another query of customers leaves as it is holds no edit after a sweep', async () => {
    const lab = await kit.start({ customers: 2, orders: 6 });
    await works(lab);
    const [edited = 0] = await boundKeys();
    const changed = lab.another({ settings: { customers: { query: codes('customer_no') } } });
    await works(changed);
    expect(await fingerprints()).to.deep.equal([mappingFingerprint(changed.settings, 'order')]);
    await editSampleLine(lab.erp, edited, 1, 9);
    await works(changed);
    expect(changesAt(lab).map(({ method }) => method)).to.deep.equal(['PATCH']);
    await expectAllAtService(lab);
  });

  describe('that an earlier Waybill gave another fingerprint', () => {
    const upgraded = async () => {
      const lab = await kit.start({ customers: 2, orders: 6 });
      await works(lab);
      const former = formerFingerprint(lab.settings, 'order');
      await kit.store.transaction('as it was', async (tx) => {
        for (const table of ['binding', 'outbox_message'])
          await tx.run(`UPDATE ${table} SET mapping_fingerprint=? WHERE entity='order'`, [former]);
      });
      return { lab, edited: (await boundKeys())[0] as number };
    };

    it('holds no edit, and all get the new one', async () => {
      const { lab, edited } = await upgraded();
      await editSampleLine(lab.erp, edited, 1, 9);
      await lab.capture({ sweep: true });
      const [update] = await kit.rows("SELECT state, is_backlog FROM outbox_message WHERE operation='update'");
      expect([update.state, Number(update.is_backlog)]).to.deep.equal(['pending', 0]);
      await lab.deliver();
      await expectAllAtService(lab);
      expect(await fingerprints()).to.deep.equal([mappingFingerprint(lab.settings, 'order')]);
    });

    it('is held when the settings changed with the upgrade', async () => {
      const { lab } = await upgraded();
      await works(lab.another({ settings: { amounts: { currency: 'EUR', scale: 3 } } }));
      expect(changesAt(lab)).to.deep.equal([]);
      expect(await heldOrders()).to.have.length((await boundKeys()).length);
    });
  });
});
