import { expect } from 'chai';
import fc from 'fast-check';
import { alertChanges, writeAlertChanges } from '../../../src/daemon/watch-alerts.js';
import { recover } from '../../../src/operator/recover.js';
import { areKeysForgotten } from '../../../src/outbound/recovery/forgotten-keys.js';
import { openAlerts } from '../../../src/store/alerts.js';
import { alertsInWords } from '../../support/alerts.js';
import { type Lab, type LabOptions, onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { holdAsLost, loseEverything } from '../../support/jobs/lost-store.js';
import { say } from '../../support/jobs/say.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';

describe('whether the service has forgotten its keys', () => {
  it('is said where nearly all customers that are sent again exist already', () => {
    expect(areKeysForgotten({ existed: 12, acknowledged: 0 })).to.equal(true);
    expect(areKeysForgotten({ existed: 12, acknowledged: 1 })).to.equal(true);
    expect(areKeysForgotten({ existed: 12, acknowledged: 2 })).to.equal(false);
    expect(areKeysForgotten({ existed: 2, acknowledged: 0 }), 'others may have made them').to.equal(false);
    expect(areKeysForgotten({ existed: 0, acknowledged: 0 })).to.equal(false);
  });

  it('is never taken back by one more that exists, nor said because one more is acknowledged', () => {
    const count = fc.nat(10_000);
    fc.assert(
      fc.property(count, count, (existed, acknowledged) => {
        const now = areKeysForgotten({ existed, acknowledged });
        if (now) expect(areKeysForgotten({ existed: existed + 1, acknowledged })).to.equal(true);
        else expect(areKeysForgotten({ existed, acknowledged: acknowledged + 1 })).to.equal(false);
      }),
    );
  });
});

onSqliteLabAnd('mysql', 'a recovery at a service that has forgotten the keys', (kit) => {
  /** A store is lost after everything was sent, and everything is to be sent again under its keys. */
  const loseStore = async (options: LabOptions = {}): Promise<Lab> => {
    const lab = await kit.start({ customers: 5, orders: 20, ...options });
    await lab.capture({ sweep: true });
    await lab.deliver();
    await loseEverything(kit);
    await holdAsLost(kit);
    const fate = { to: 'in_doubt', sentSince: Date.now() - 3_600_000 } as const;
    await recover(lab.context, lab.reader, { fate, bindings: null, reason: 'a test' });
    return lab;
  };
  const states = () =>
    kit.rows(
      "SELECT state, park_class, COUNT(*) AS n FROM outbox_message WHERE entity='order' AND operation='create' GROUP BY state, park_class",
    );
  const alerts = async (lab: Lab) => {
    await kit.store.transaction('watch', async (tx) => {
      const changes = await alertChanges(tx, lab.settings, Date.now(), await openAlerts(tx));
      if (changes) await writeAlertChanges(tx, changes, Date.now());
    });
    return alertsInWords(kit, "open_cause='keys.forgotten'");
  };

  it('sends no order a second time, and says why', async () => {
    const lab = await loseStore();
    lab.sandbox.forgetKeys();
    const result = await lab.deliver();
    expect(lab.sandbox.counts()).to.include({ orders: 20, duplicateReferences: 0 });
    expect(await states()).to.deep.equal([{ state: 'parked', park_class: 'unproven', n: 20 }]);
    expect(result.parked).to.be.at.least(20);
    const [order] = await kit.rows(
      "SELECT reason_code, reason_data FROM outbox_message WHERE entity='order' AND state='parked' LIMIT 1",
    );
    expect(order?.reason).to.contain('exist at the service already');
    const [alert] = await alerts(lab);
    expect(alert?.message).to.match(/^5 customers .* 0 were acknowledged.* 20 orders .*outbox resolve/);
    // No retry trusts these keys any more, and what a person says ends the alert.
    await say(kit, 'retry', { entity: 'order' });
    expect(await states()).to.deep.equal([{ state: 'parked', park_class: 'unproven', n: 20 }]);
    for (const { reference, order_id: id } of lab.sandbox.ledger().orders)
      await say(kit, 'delivered', { keys: [reference as string], entity: 'order' }, id);
    expect(await alerts(lab)).to.deep.equal([]);
  });

  it('asks for each order where it can be asked', async () => {
    const lab = await loseStore({ settings: { service: { endpoints: sandboxLookUps } } });
    lab.sandbox.forgetKeys();
    await lab.deliver();
    expect(lab.sandbox.counts()).to.include({ orders: 20, duplicateReferences: 0 });
    expect(await states()).to.deep.equal([{ state: 'delivered', park_class: null, n: 20 }]);
    expect(await alerts(lab)).to.deep.equal([]);
  });

  it('trusts the keys of the other orders where one customer exists that others made', async () => {
    const lab = await loseStore();
    const [code] = lab.sandbox.ledger().customers.map(({ record }) => record.customer_code as string);
    const exists = { error: { code: 'customer_already_exists', message: 'exists' } };
    const match = { method: 'POST', path: '/v1/customers', bodyIncludes: code as string };
    lab.sandbox.setFaults([{ kind: 'status', status: 409, body: exists, match }]);
    await lab.deliver();
    const theirs = lab.sandbox.ledger().orders.filter(({ record }) => record.customer_code === code).length;
    expect(await states()).to.have.deep.members([
      { state: 'delivered', park_class: null, n: 20 - theirs },
      { state: 'parked', park_class: 'unproven', n: theirs },
    ]);
    expect(lab.sandbox.counts()).to.include({ orders: 20, duplicateReferences: 0 });
  });
});
