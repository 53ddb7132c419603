import { expect } from 'chai';
import { listHeldInvoices } from '../../../src/inbound/invoices/list-invoices.js';
import { confirmDrop } from '../../../src/inbound/invoices/safety-limit.js';
import { remedyFor } from '../../../src/words/words.js';
import { type Lab, type LabOptions, onAnyLab } from '../../support/jobs/job-lab.js';

onAnyLab('the remedy of a pull that is not proven', (kit) => {
  const cases: Record<
    'total_beyond_room' | 'pages_miss_invoices' | 'total_too_small',
    { count: number; options?: LabOptions; mends: (lab: Lab) => Promise<Lab> }
  > = {
    total_beyond_room: {
      count: 6,
      options: { settings: { invoices: { maxListed: 5 } } },
      mends: async (lab) => lab.another({ settings: { invoices: { maxListed: 50 } } }),
    },
    pages_miss_invoices: {
      count: 5,
      options: { sandbox: { maxPageSize: 2, firstPage: 0 } },
      mends: async (lab) => lab.another({ settings: { invoices: { paging: { firstPage: 0 } } } }),
    },
    total_too_small: {
      count: 4,
      // A name of the answer that counts something else.
      options: { settings: { invoices: { pageSize: 2, paging: { fields: { total: 'page' } } } } },
      mends: async (lab) => lab.another({ settings: { invoices: { paging: { fields: { total: 'total' } } } } }),
    },
  };
  for (const [code, { count, options, mends }] of Object.entries(cases))
    it(`lets it be proven: ${code}`, async () => {
      const lab = await kit.start({ customers: 1, orders: 1, ...options });
      lab.sandbox.addInvoices(Array.from({ length: count }, (_, i) => ({ amount: i + 1 })));
      const { outcome, reason } = await lab.pull();
      expect({ outcome, code: reason?.code }).to.deep.equal({ outcome: 'unproven', code });
      expect(reason && remedyFor(reason)).to.be.a('string');
      expect(await (await mends(lab)).pull()).to.deep.include({ outcome: 'proven', reason: null, unpaid: count });
    });

  it('lets it be proven: invoices_wait_for_person', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    lab.sandbox.addInvoices(Array.from({ length: 30 }, (_, i) => ({ amount: i + 1 })));
    await lab.pull();
    const match = { method: 'GET', path: '/v2/invoices' };
    const show = (...numbers: number[]) => {
      const data = numbers.map((n) => {
        return { invoice_no: `INV-${String(n).padStart(6, '0')}`, amount: n, due_date: '2026-12-01', status: 'unpaid' };
      });
      lab.sandbox.setFaults([{ kind: 'status', status: 200, body: { data, total: data.length }, match }]);
    };
    show();
    await lab.pull();
    // The list is whole again but for a few: these wait for a person still.
    show(...Array.from({ length: 25 }, (_, i) => i + 1));
    const { outcome, reason } = await lab.pull();
    expect({ outcome, code: reason?.code }).to.deep.equal({ outcome: 'unproven', code: 'invoices_wait_for_person' });
    expect(reason && remedyFor(reason)).to.include('waybill confirm invoices');
    const { rows } = await kit.store.read('look', (tx) => listHeldInvoices(tx, 100));
    const numbers = rows.map(({ invoice_no }) => invoice_no);
    await confirmDrop(lab.context, numbers, 'paid by direct debit');
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', reason: null });
  });
});
