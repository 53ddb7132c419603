import { announceChange } from './announce-change.js';
import type { SandboxState } from './state.js';
import { dateAt } from './timestamp.js';

const dayMs = 24 * 60 * 60 * 1000;

/** What somebody else does before an invoice or a page of them is read: pays one, adds one, or changes their order. */
export function changeInvoices(state: SandboxState): void {
  const { invoiceChanges, nowMs, paymentTermDays, utcOffsetMinutes } = state.options;
  const random = state.invoiceRandom;
  // A whole number whose mean is the one that was set.
  const changes = Math.floor(invoiceChanges + random());
  for (let i = 0; i < changes; i++) {
    const unpaid = state.invoices.page({ status: 'unpaid' }, 0, 0).total;
    const [one] = state.invoices.page({ status: 'unpaid' }, Math.floor(random() * unpaid), 1).data;
    const dice = random();
    if (dice < 0.35 || !one) {
      const dueDate = dateAt(nowMs() + paymentTermDays * dayMs, utcOffsetMinutes);
      const added = state.invoices.add({
        amount: 1 + Math.floor(random() * 100_000),
        due_date: dueDate,
        status: 'unpaid',
      });
      state.invoiceLog.push({ invoiceNo: added.invoice_no, status: 'unpaid' });
    } else if (dice < 0.7) {
      state.invoices.setStatus(one.invoice_no, 'paid');
      state.invoiceLog.push({ invoiceNo: one.invoice_no, status: 'paid' });
      announceChange(state, 'payment.succeeded', { invoice_no: one.invoice_no });
    } else state.invoices.move(one.invoice_no, random());
  }
}
