import { expect } from 'chai';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { toldRows } from '../../support/told-rows.js';

onAnyLab('invoices that echo our credential', (kit) => {
  const token = 'sandbox-token';
  /** The store's columns of invoices and of the pull, and the texts that the ERP would get. */
  const kept = async () =>
    JSON.stringify(
      await Promise.all(
        [
          'invoice',
          'invoice_staging',
          'invoice_malformed',
          'invoice_state',
          'invoice_pull',
          'attempt',
          'audit_log',
        ].map((table) => kit.rows(`SELECT * FROM ${table}`)),
      ),
    );
  const start = async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    lab.sandbox.addInvoices([{ amount: 1, invoice_no: 'INV-1' }, { amount: 2 }]);
    return lab;
  };
  const serve = (lab: Lab, invoices: readonly object[]) => {
    const good = { amount: 700, due_date: '2026-12-01', status: 'unpaid' };
    const data = invoices.map((one) => ({ ...good, ...one }));
    const body = { data, total: data.length, page: 1 };
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body, match: { path: '/v2/invoices' }, times: 10 }]);
  };

  it('are set aside by their number or customer, so that no credential is kept, and the others are listed', async () => {
    const lab = await start();
    serve(lab, [
      { invoice_no: `INV-${token}`, customer_code: 'K1' },
      { invoice_no: `INV-${token}`, customer_code: 'K2' },
      { invoice_no: 'INV-2', customer_code: token },
      { invoice_no: 'INV-3', customer_code: 'K3' },
    ]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 1, malformed: 3 });
    expect(await kit.rows('SELECT invoice_no, customer_code FROM invoice')).to.deep.equal([
      { invoice_no: 'INV-3', customer_code: 'K3' },
    ]);
    const aside = toldRows(
      await kit.rows('SELECT invoice_no, reason_code, reason_data FROM invoice_malformed ORDER BY invoice_no'),
    );
    expect(aside).to.deep.equal([
      { invoice_no: 'INV-2', reason: 'customer_code: holds our credential' },
      { invoice_no: 'INV-[secret]', reason: 'invoice_no: holds our credential' },
      { invoice_no: 'INV-[secret]', reason: 'invoice_no: holds our credential' },
    ]);
    expect(await kept()).to.not.contain(token);
  });

  it('are kept without it where it stands in a text that names nothing', async () => {
    const lab = await start();
    serve(lab, [{ invoice_no: 'INV-4', status: `due ${token}` }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 1 });
    expect(await kit.rows('SELECT status FROM invoice')).to.deep.equal([{ status: 'due [secret]' }]);
    expect(await kept()).to.not.contain(token);
  });
});
