import type { CustomerRecord, Invoice } from '../../model/record.js';
import { type FaultInput, parseFaults } from './fault-plan.js';
import { dueDate, showInvoice } from './invoice-endpoints.js';
import type { Ledger, LedgerCounts } from './ledger.js';
import type { ChangeableOptions, Limit } from './options.js';
import { RateLimit } from './rate-limit.js';
import { addForeignCustomers, type SandboxState } from './state.js';

/** The controls of a sandbox besides its HTTP interface. Everything takes effect at once. */
export type SandboxControls = ReturnType<typeof createControls>;

export function createControls(state: SandboxState) {
  const { records, invoices, faults, tokens, webhooks } = state;

  const orderOf = (orderId: string) => {
    const order = records.orders.get(orderId);
    if (!order) throw new TypeError(`There is no order ${orderId}`);
    return order;
  };
  const announceChange = (type: string, data: Record<string, string>): void => {
    if (state.options.webhooks) webhooks.announce(state.options, type, data);
  };
  const setInvoiceStatus = (invoiceNo: string, status: string): Invoice => {
    const invoice = showInvoice(invoices.setStatus(invoiceNo, status));
    if (status === 'paid') announceChange('payment.succeeded', { invoice_no: invoiceNo });
    return invoice;
  };
  /** Costs little, however much the ledger holds. */
  const counts = (): LedgerCounts => ({
    customers: records.customers.size,
    orders: records.orders.size,
    invoices: invoices.total,
    requests: state.requests.length,
    throttled: state.throttledCount,
    replayed: state.replayedCount,
    duplicateReferences: records.ordersByReference.repeatedCount,
  });

  return {
    counts,
    /** The requests so far, and the records that are there now. Copies all records; see `counts` for the cheap part. */
    ledger: (): Ledger => ({
      requests: state.requests,
      customers: Array.from(records.customers.values(), (customer) => ({ ...customer })),
      orders: Array.from(records.orders.values(), (order) => ({ ...order })),
      deleted: records.deleted,
      counts: counts(),
      duplicates: records.ordersByReference
        .repeated()
        .map(([reference, orders]) => ({ reference, order_ids: orders.map(({ order_id }) => order_id) })),
    }),

    /** Replaces all faults. Throws a TypeError that names what is wrong with them. */
    setFaults: (input: readonly FaultInput[]): void => faults.set(parseFaults(input)),
    /** Appends; a request meets the first fault of the list that fires. */
    addFaults: (input: readonly FaultInput[]): void => faults.add(parseFaults(input)),
    clearFaults: (): void => faults.set([]),
    /** The faults with how many requests matched and how many were hit. */
    faults: () => faults.list(),

    /** Replaces all limits, with empty windows; null lifts them. */
    setLimit: (limit: Limit | readonly Limit[] | null): void => {
      state.limit = new RateLimit([limit ?? []].flat());
    },
    /** Changes options in mid-run: a new token, forbidden, delays, the form of Retry-After, … */
    change: (options: Partial<ChangeableOptions>): void => {
      state.options = { ...state.options, ...options };
    },
    forgetKeys: (): void => state.keys.forgetAll(),

    /** Requests for access tokens so far. They are not in the ledger. */
    tokenCounts: () => ({ ...tokens.counts }),
    /** Accepts none of the access tokens issued so far any more. */
    expireTokens: (): void => tokens.expireAll(),

    /** Customers that somebody else makes, under keys of their own. Throws a TypeError for a code that exists. */
    addCustomers: (customers: readonly CustomerRecord[]): void => addForeignCustomers(state, customers),

    /** Changes an order as the service's own staff would. @returns what the order is now */
    setOrder: (orderId: string, values: { status?: string; total?: number }): { status: string; total: number } => {
      const order = orderOf(orderId);
      const before = order.status;
      const { status, total } = Object.assign(order, values);
      if (status !== before) announceChange('order.status_changed', { order_id: orderId });
      return { status, total };
    },
    /** Takes an order away, as the service's own staff would. */
    removeOrder: (orderId: string): void => records.deleteOrder(orderOf(orderId)),

    /** Absent fields are filled in: the next number, unpaid, due in 30 days. */
    addInvoices: (added: readonly (Pick<Invoice, 'amount'> & Partial<Invoice>)[]): Invoice[] => {
      const due_date = dueDate(state.options, state.options.nowMs());
      return added.map((invoice) => showInvoice(invoices.add({ due_date, status: 'unpaid', ...invoice })));
    },
    payInvoice: (invoiceNo: string): Invoice => setInvoiceStatus(invoiceNo, 'paid'),
    setInvoiceStatus,
    removeInvoice: (invoiceNo: string): void => invoices.remove(invoiceNo),
    /** The fate of invoices under `invoiceChanges`, in order. */
    invoiceChanges: () => state.invoiceLog,

    /** Webhooks that went out so far, the oldest first. */
    webhooks: () => webhooks.sent,
    /** Sends a webhook of any kind. Throws a TypeError while `webhooks` is not set. @returns its id */
    announce: (type: string, data: unknown): string => webhooks.announce(state.options, type, data),
    /** Sends one again, byte for byte. @returns the status of the answer; null for none */
    repeatWebhook: (id: string): Promise<number | null> => webhooks.repeat(state.options, id),
    /** Resolves when all webhooks were sent. */
    webhooksSent: (): Promise<void> => webhooks.settled(),
  };
}
