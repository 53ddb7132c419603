import { expect } from 'chai';
import { onAnyLab } from '../../support/jobs/job-lab.js';

const personal = 'Grace Hopper-4711';

onAnyLab('a value of a customer’s row that can not be sent', (kit) => {
  it('stands with the message, and not in the audit log, which nobody can erase', async () => {
    const fields = { birthday: { column: 'city', type: 'date' } };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { customers: { fields } } });
    await lab.changeErp('UPDATE customers SET city=?', [personal]);
    await lab.capture();
    const [parked] = await kit.rows("SELECT * FROM outbox_message WHERE entity='customer' AND state='parked'");
    expect(JSON.stringify(parked)).to.contain(personal);
    const lines = await kit.rows("SELECT detail FROM audit_log WHERE entity='customer' AND event='parked'");
    expect(lines.map(({ detail }) => JSON.parse(String(detail)).reason)).to.deep.equal([
      { code: 'not_a_date', column: 'city', value: { outside: '…' } },
    ]);
    expect(JSON.stringify(await kit.rows('SELECT detail FROM audit_log'))).to.not.contain(personal);
  });

  it('stands with no order of the customer, which is not erased with the customer', async () => {
    // The first problem of the customer is told with its orders.
    const fields = { customer_code: { column: 'city', when: { Berlin: 'K-1' } } };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { customers: { fields } } });
    await lab.changeErp('UPDATE customers SET city=?', [personal]);
    await lab.capture();
    const [parked] = await kit.rows("SELECT * FROM outbox_message WHERE entity='order' AND state='parked'");
    expect(parked).to.include({ reason_code: 'customer_not_sendable' });
    expect(JSON.stringify(parked)).to.not.contain(personal);
    expect(JSON.stringify(await kit.rows('SELECT detail FROM audit_log'))).to.not.contain(personal);
  });
});
