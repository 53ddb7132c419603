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

  it('is waited for by no order that names another code: that order goes to a person, and the removal out', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    await lab.capture({ sweep: true });
    await lab.deliver();
    await lab.changeErp("UPDATE customers SET customer_no='K-NEW' WHERE id=1");
    await lab.capture({ sweep: true });
    const update = "entity='customer' AND operation='update'";
    // A person has confirmed the new code, and the service fails at it.
    await kit.rows(
      `UPDATE outbox_message SET state='in_doubt', park_class=NULL, was_sent=1, first_sent_at=${Date.now()}, waits_for=NULL, next_attempt_at=9000000000000 WHERE ${update}`,
    );
    await lab.changeErp("UPDATE customers SET country='XX'");
    await lab.capture({ sweep: true });
    await kit.rows(
      `UPDATE outbox_message SET state='parked', park_class='unproven', waits_for='person', next_attempt_at=NULL WHERE ${update}`,
    );
    await lab.deliver({ retryHorizonMs: 300 });
    const rows = await kit.rows(
      "SELECT entity, state, park_class FROM outbox_message WHERE operation<>'create' ORDER BY id",
    );
    expect(rows).to.deep.equal([
      { entity: 'customer', state: 'parked', park_class: 'unproven' },
      { entity: 'order', state: 'parked', park_class: 'held' },
      { entity: 'customer', state: 'delivered', park_class: null },
    ]);
  });

  it('leaves an order in doubt that can never go any more counted as stranded', async () => {
    await start();
    await kit.rows("DELETE FROM binding WHERE entity='customer'");
    await kit.rows("UPDATE outbox_message SET state='discarded', next_attempt_at=NULL WHERE operation='delete'");
    const { stranded } = await kit.store.read('count', countOutbox);
    expect(stranded).to.equal(1);
  });
});
