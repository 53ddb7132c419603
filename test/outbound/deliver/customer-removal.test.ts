import { expect } from 'chai';
import { countOutbox } from '../../../src/operator/list-messages.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { statesOf } from '../../support/jobs/service-of.js';

onSqliteLabAnd('mysql', 'the removal of a customer', (kit) => {
  const settings = {
    customers: { cancelled: { column: 'country', values: ['XX'] }, onCancelled: 'delete' },
    delivery: { backoffBaseSeconds: 0.02, backoffMaxSeconds: 0.05, outageAfterFailures: 1_000 },
  };
  const start = async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    const orders = { kind: 'status', status: 500, match: { method: 'POST', path: '/v1/orders' } } as const;
    lab.sandbox.setFaults([orders]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 300 });
    await lab.changeErp("UPDATE customers SET country='XX'");
    await lab.capture({ sweep: true });
    return lab;
  };

  it('waits until its orders are at the service, and then goes', async () => {
    const lab = await start();
    await lab.deliver({ retryHorizonMs: 300 });
    const states = 'SELECT entity, operation, state FROM outbox_message ORDER BY id';
    expect(await kit.rows(states)).to.deep.equal([
      { entity: 'customer', operation: 'create', state: 'delivered' },
      { entity: 'order', operation: 'create', state: 'in_doubt' },
      { entity: 'customer', operation: 'delete', state: 'pending' },
    ]);
    lab.sandbox.clearFaults();
    await lab.deliver({ retryHorizonMs: 10_000 });
    expect(await statesOf(kit)).to.deep.equal({ delivered: 3 });
    const paths = lab.sandbox.ledger().requests.map(({ method, path }) => `${method} ${path}`);
    expect(paths.at(-1)).to.match(/^DELETE \/v1\/customers\//);
    expect(lab.sandbox.ledger().orders).to.have.length(1);
  });

  it('leaves an order in doubt that can never go any more counted as stranded', async () => {
    await start();
    await kit.rows("DELETE FROM binding WHERE entity='customer'");
    await kit.rows("UPDATE outbox_message SET state='discarded', next_attempt_at=NULL WHERE operation='delete'");
    const { stranded } = await kit.store.read('count', countOutbox);
    expect(stranded).to.equal(1);
  });
});
