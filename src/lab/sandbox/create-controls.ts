import type { Invoice } from '../../model/record.js';
import { viewCounts, viewLedger } from './admin-routes.js';
import { parseFaults } from './fault-plan.js';
import { announceChange, showInvoice } from './invoice-endpoints.js';
import type { Limit } from './options.js';
import { RateLimit } from './rate-limit.js';
import { dateAt, type StoredOrder } from './record-store.js';
import type { SandboxControls } from './sandbox.js';
import { addForeignCustomers, type SandboxState } from './state.js';
import type { WebhookOptions } from './webhook-sender.js';

const dayMs = 24 * 60 * 60 * 1000;

export function createControls(state: SandboxState): SandboxControls {
  return {
    ledger: () => viewLedger(state),
    counts: () => viewCounts(state),

    setFaults: (faults) => state.faults.set(parseFaults(faults)),
    addFaults: (faults) => state.faults.add(parseFaults(faults)),
    clearFaults: () => state.faults.set([]),
    faults: () => state.faults.list(),

    setLimit: (limit) => {
      state.limit = new RateLimit(asList(limit));
    },
    change: (options) => {
      state.options = { ...state.options, ...options };
    },
    forgetKeys: () => state.keys.forgetAll(),
    tokenCounts: () => ({ ...state.tokens.counts }),
    expireTokens: () => state.tokens.expireAll(),

    addCustomers: (customers) => addForeignCustomers(state, customers),

    setOrder: (orderId, values) => {
      const before = orderOf(state, orderId).status;
      const { status, total } = Object.assign(orderOf(state, orderId), values);
      if (status !== before) announceChange(state, 'order.status_changed', { order_id: orderId });
      return { status, total };
    },
    removeOrder: (orderId) => state.records.deleteOrder(orderOf(state, orderId)),

    addInvoices: (invoices) => {
      const { nowMs, paymentTermDays, utcOffsetMinutes } = state.options;
      const dueDate = dateAt(nowMs() + paymentTermDays * dayMs, utcOffsetMinutes);
      return invoices.map((invoice) =>
        showInvoice(state.invoices.add({ due_date: dueDate, status: 'unpaid', ...invoice })),
      );
    },
    payInvoice: (invoiceNo) => setStatus(state, invoiceNo, 'paid'),
    setInvoiceStatus: (invoiceNo, status) => setStatus(state, invoiceNo, status),
    removeInvoice: (invoiceNo) => state.invoices.remove(invoiceNo),
    invoiceChanges: () => state.invoiceLog,

    webhooks: () => state.webhooks.sent,
    announce: (type, data) => state.webhooks.announce(webhookOptions(state), type, data, state.options.nowMs()),
    repeatWebhook: (id) => state.webhooks.repeat(webhookOptions(state), id),
    webhooksSent: () => state.webhooks.settled(),
  };
}

function setStatus(state: SandboxState, invoiceNo: string, status: string): Invoice {
  const invoice = showInvoice(state.invoices.setStatus(invoiceNo, status));
  if (status === 'paid') announceChange(state, 'payment.succeeded', { invoice_no: invoiceNo });
  return invoice;
}

function webhookOptions({ options }: SandboxState): WebhookOptions {
  if (!options.webhooks) throw new TypeError('The option webhooks is not set');
  return options.webhooks;
}

function orderOf({ records }: SandboxState, orderId: string): StoredOrder {
  const order = records.orders.get(orderId);
  if (!order) throw new TypeError(`There is no order ${orderId}`);
  return order;
}

function asList(limit: Limit | readonly Limit[] | null): readonly Limit[] {
  if (limit === null) return [];
  return 'requests' in limit ? [limit] : limit;
}
