import { expect } from 'chai';
import { listHeldInvoices } from '../../../src/inbound/invoices/list-invoices.js';
import { confirmDrop } from '../../../src/inbound/invoices/safety-limit.js';
import type { ListFacts } from '../../../src/model/facts/lists.js';
import { remedyFor } from '../../../src/words/words.js';
import { type Lab, type LabOptions, onAnyLab } from '../../support/jobs/job-lab.js';

/** Codes without a remedy: they say what is so, are a part of another one, or end by themselves. */
type WithoutRemedy =
  | 'unusable_invoice_field'
  | 'invoice_of_other_customer'
  | 'invoice_of_other_currency'
  | 'invoice_number_shared'
  | 'invoice_also_listed'
  | 'state_not_named'
  | 'listed_but_not_found'
  | 'page_no_json'
  | 'page_without_list'
  | 'page_without_total'
  | 'page_in_other_unit'
  | 'total_changed'
  | 'invoices_came'
  | 'invoices_not_met'
  | 'list_kept_changing'
  | 'invoices_without_number'
  | 'strangers_on_page'
  | 'page_not_read'
  | 'customer_list_unproven'
  | 'invoices_of_unproven_lists'
  | 'pull_cut_short'
  | 'many_would_leave'
  | 'invoices_not_read'
  | 'orders_not_read'
  | 'event_names_no_order'
  | 'event_given_up'
  | 'list_pulled'
  | 'nothing_changed'
  | 'invoice_unlisted'
  | 'invoice_had_left'
  | 'invoice_listed'
  | 'order_read'
  | 'order_not_read'
  | 'order_not_there'
  | 'order_not_ours'
  | 'read_endpoint_not_set'
  | 'sent_while_read'
  | 'write_back_failed'
  | 'erp_refuses_row';
/** `webhooks.test.ts` and `write-back.test.ts` carry these out, and `invoices_wait_for_person` has a test of its own below. */
type Elsewhere = 'webhooks_stopped' | 'still_pending' | 'invoices_wait_for_person';
type Code = Exclude<keyof ListFacts, WithoutRemedy | Elsewhere>;

onAnyLab('the remedy of a pull that is not proven', (kit) => {
  const page = (numbers: readonly number[], next: number | null) => {
    const data = numbers.map((n) => {
      return { invoice_no: `INV-${n}`, amount: n, due_date: '2026-12-01', status: 'unpaid' };
    });
    return { kind: 'status', status: 200, body: { data, total: 2, next } } as const;
  };
  const cases: Record<
    Code,
    { count: number; options?: LabOptions; breaks?: (lab: Lab) => void; mends: (lab: Lab) => Promise<Lab> }
  > = {
    next_page_not_read: {
      count: 2,
      // A service whose parameter has another name answers each request with its first page.
      breaks: ({ sandbox }) => {
        sandbox.setFaults([
          { ...page([], null), match: { path: /[?&]nr=[2-9](&|$)/ } },
          { ...page([1, 2], 2), match: { path: '/v2/invoices' } },
        ]);
      },
      mends: async (lab) => lab.another({ settings: { invoices: { paging: { page: 'nr' } } } }),
    },
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
  for (const [code, { count, options, breaks, mends }] of Object.entries(cases))
    it(`lets it be proven: ${code}`, async () => {
      const lab = await kit.start({ customers: 1, orders: 1, ...options });
      breaks?.(lab);
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
