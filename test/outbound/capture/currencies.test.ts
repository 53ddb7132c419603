import { expect } from 'chai';
import { wantedRows, writeBackForm } from '../../../src/inbound/write-back/wanted-rows.js';
import { foreseeDelivery } from '../../../src/operator/foresee-delivery.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';

onAnyLab('orders in several currencies', (kit) => {
  it('are sent by the exponent of each, with totals apart; one in an unknown currency is parked', async () => {
    const lab = await kit.start({
      customers: 2,
      orders: 4,
      sandbox: { unknownFields: 'accept' },
      settings: {
        orders: {
          pending: "status = 'confirmed'",
          total: undefined,
          currency: { column: 'currency', field: 'currency' },
        },
        amounts: { currency: 'EUR', currencies: ['JPY', 'KWD'] },
        invoices: { enabled: false },
      },
    });
    const ids = (await lab.readErp('SELECT id FROM sales_orders ORDER BY id LIMIT 4')).map(({ id }) => Number(id));
    const codes = ['EUR', 'JPY', 'KWD', 'USD'];
    await lab.changeErp("UPDATE sales_orders SET status='draft'");
    for (const [i, id] of ids.entries()) {
      await lab.changeErp("UPDATE sales_orders SET currency=?, status='confirmed' WHERE id=?", [codes[i] ?? 'EUR', id]);
      await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=? AND line_no>1', [id]);
      await lab.changeErp('UPDATE sales_order_lines SET qty=2, unit_price=12 WHERE order_id=?', [id]);
    }
    const [euro, yen, dinar, dollar] = ids.map(String) as [string, string, string, string];
    const totals = { EUR: '2400', JPY: '24', KWD: '24000' };
    const before = await foreseeDelivery(lab.context, lab.reader);
    expect(before).to.deep.include({ ordersTotals: totals, parked: 1 });
    expect(await lab.capture()).to.include({ parked: 1 });
    expect((await foreseeDelivery(lab.context, lab.reader)).ordersTotals).to.deep.equal(totals);
    const parked = await kit.rows(
      "SELECT source_key, park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'",
    );
    expect(parked).to.have.length(1);
    expect(parked[0]).to.include({ source_key: dollar, park_class: 'unmapped' });
    expect(parked[0]?.reason).to.include('currency "USD" is not among the currencies of the settings (EUR, JPY, KWD)');

    await lab.deliver();
    const held = lab.sandbox.ledger().orders.map(({ total }) => total);
    expect(held.sort()).to.deep.equal([24, 2400, 24_000]);
    const form = writeBackForm(lab.settings);
    const rows = await kit.store.read('look', (tx) => wantedRows(tx, 'orders', [euro, yen, dinar], form));
    expect([euro, yen, dinar].map((key) => rows.get(key)?.service_total)).to.deep.equal(['24.00', '24', '24.000']);
    expect(await lab.capture({ sweep: true })).to.deep.include({ captured: { customers: 0, orders: 0 } });
  });
});
