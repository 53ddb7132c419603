import type { Ledger, LedgerCounts, LedgerCustomer, LedgerOrder } from './ledger.js';
import type { SandboxState } from './state.js';

export function viewLedger(state: SandboxState): Ledger {
  return {
    requests: state.requests,
    customers: [...viewCustomers(state)],
    orders: [...viewOrders(state)],
    deleted: state.records.deleted,
    counts: viewCounts(state),
    duplicates: [...state.records.ordersByReference.repeated()].map(([reference, order_ids]) => ({
      reference,
      order_ids,
    })),
  };
}

/** Costs nothing, however much the ledger holds. */
export function viewCounts(state: SandboxState): LedgerCounts {
  return {
    customers: state.records.customers.size,
    orders: state.records.orders.size,
    invoices: state.invoices.total,
    requests: state.requests.length,
    throttled: state.throttledCount,
    replayed: state.replayedCount,
    duplicateReferences: state.records.ordersByReference.repeatedCount,
  };
}

export function* viewCustomers(state: SandboxState): Iterable<LedgerCustomer> {
  for (const { customerCode, record, key, createdAt, requestIds } of state.records.customers.values()) {
    yield { customer_code: customerCode, record, key, created_at: createdAt, requests: requestIds };
  }
}

export function* viewOrders(state: SandboxState): Iterable<LedgerOrder> {
  for (const order of state.records.orders.values()) {
    yield {
      order_id: order.orderId,
      key: order.key,
      reference: state.records.referenceOf(order),
      record: order.record,
      status: order.status,
      total: order.total,
      created_at: order.createdAt,
      requests: order.requestIds,
    };
  }
}
