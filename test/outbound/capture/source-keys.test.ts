import { expect } from 'chai';
import type { Fact } from '../../../src/model/facts/fact.js';
import { checkKeys, keepKeys, whyNotSame } from '../../../src/operator/actions/rekey.js';
import { goLiveProblem } from '../../../src/outbound/deliver/go-live.js';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { ordersByNumber } from '../../support/orders-by-number.js';
import { told } from '../../support/told.js';

onSqliteLabAnd('mysql', 'source keys', (kit) => {
  const byNumber = { orders: ordersByNumber };

  it('that name other columns hold capture and delivery before anything is written', async () => {
    const lab = await kit.start({ customers: 3, orders: 10 });
    await lab.capture();
    await lab.deliver();
    const before = lab.sandbox.counts();
    const messages = await kit.rows('SELECT id FROM outbox_message');
    const other = lab.another({ settings: byNumber });
    for (const options of [{ sweep: true }, { dryRun: true }]) {
      const { stopped, captured } = await other.capture(options);
      expect(told(stopped?.reason)).to.include('waybill rekey orders --same').and.include('order_no in');
      expect(captured).to.deep.equal({ customers: 0, orders: 0 });
    }
    await other.deliver({ retryHorizonMs: 0 });
    expect(lab.sandbox.counts()).to.deep.equal(before);
    expect(await kit.rows('SELECT id FROM outbox_message')).to.deep.equal(messages);
    const problem = await kit.store.read('', (tx) => goLiveProblem(tx, other.settings, other.reader.identity()));
    expect(told(problem)).to.include('every order would go out a second time');
    // Under the old keys everything goes on.
    expect((await lab.capture({ sweep: true })).stopped).to.equal(null);
  });

  it('that no longer find their records are not taken for the same', async () => {
    const lab = await kit.start({ customers: 3, orders: 10 });
    await lab.capture();
    await lab.deliver();
    const other = lab.another({ settings: byNumber });
    expect(whyNotSame(await checkKeys(other.context, other.reader, 'order'))).to.include({
      code: 'none_under_their_keys',
    });
  });

  it('of a database that moved are the same once a person says so', async () => {
    const lab = await kit.start({ customers: 3, orders: 10 });
    await lab.capture();
    await lab.deliver();
    const before = lab.sandbox.counts();
    const moved = Object.assign(Object.create(lab.reader), { identity: () => 'another place' });
    lab.reader = moved;
    expect(told((await lab.capture({ sweep: true })).stopped?.reason)).to.include('waybill rekey customers --same');
    for (const entity of ['customer', 'order'] as const) {
      const check = await checkKeys(lab.context, moved, entity);
      expect(whyNotSame(check)).to.equal(null);
      expect(check.same).to.be.greaterThan(0);
      await keepKeys(lab.context, moved.identity(), entity, check.change as Fact, 'moved');
    }
    await insertSampleOrder(lab.erp);
    expect((await lab.capture({ sweep: true })).stopped).to.equal(null);
    await lab.deliver({ erp: moved });
    expect(lab.sandbox.counts().orders).to.equal(before.orders + 1);
  });

  it('may change as long as nothing is known under them', async () => {
    const lab = await kit.start({ customers: 0, orders: 0 });
    await lab.capture();
    expect((await lab.another({ settings: byNumber }).capture()).stopped).to.equal(null);
  });
});
