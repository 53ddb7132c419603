import { expect } from 'chai';
import { standingInErp } from '../../src/operator/explain-record.js';
import { tellStory } from '../../src/operator/tell-story.js';
import { remedyFor, tell } from '../../src/words/words.js';
import { type Lab, onAnyLab } from '../support/jobs/job-lab.js';
import type { Tree } from '../support/merge-settings.js';

onAnyLab('what explain says of an order of the service that its row does not want sent any more', (kit) => {
  const pending = "status IN ('confirmed', 'hold') AND currency = 'EUR'";
  const start = async (settings: Tree = {}) => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: { orders: { pending, ...settings } } });
    await lab.capture();
    await lab.deliver();
    const [order] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
    const key = String(order.source_key);
    return { lab, key };
  };
  const standing = async (lab: Lab, key: string) => {
    const story = await kit.store.read('tell', (tx) => tellStory(tx, 'order', key));
    return standingInErp(lab.reader, lab.settings, story);
  };

  it('names the conditions and the columns that they look at', async () => {
    const { lab, key } = await start();
    expect(await standing(lab, key)).to.equal(null);
    await lab.changeErp("UPDATE sales_orders SET status='canceled' WHERE id=?", [key]);
    const fact = await standing(lab, key);
    expect(fact && tell(fact)).to.equal(
      'in the ERP it is not to be sent any more, by orders.pending: status is "canceled", currency is "EUR"; the service keeps what it has',
    );
    expect(fact && remedyFor(fact))
      .to.contain('orders.cancelled')
      .and.to.contain('orders.onCancelled');

    // The remedy: with the mark named, the service hears of it, and there is nothing left to say.
    const told = lab.another({
      settings: { orders: { cancelled: { column: 'status', values: ['canceled'] }, onCancelled: 'delete' } },
    });
    await told.capture({ sweep: true });
    await told.deliver();
    expect(told.sandbox.ledger().orders.map(({ reference }) => reference)).to.have.length(0);
    expect(await standing(told, key)).to.equal(null);
  });

  it('says nothing of a state that the settings call completed, and says that a row is gone', async () => {
    const { lab, key } = await start({ completed: { column: 'status', values: ['shipped'] } });
    await lab.changeErp("UPDATE sales_orders SET status='shipped' WHERE id=?", [key]);
    expect(await standing(lab, key)).to.equal(null);
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [key]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [key]);
    const fact = await standing(lab, key);
    expect(fact && tell(fact)).to.contain('orders.query has no row for it any more');
  });
});
