import type { CustomerRecord } from '../model/record.js';
import type { SandboxState } from './state.js';
import { timestamp } from './timestamp.js';

/** Customers that somebody else made, each under a key that no sender of ours has. */
export function addForeignCustomers(state: SandboxState, customers: readonly CustomerRecord[]): void {
  const { nowMs, utcOffsetMinutes } = state.options;
  const createdAt = timestamp(nowMs(), utcOffsetMinutes);
  for (const record of customers) {
    const customerCode = record.customer_code;
    if (state.records.customers.has(customerCode)) throw new TypeError(`There is a customer ${customerCode} already`);
    const key = `somebody-else-${state.records.customers.size + 1}`;
    state.records.customers.set(customerCode, { customerCode, key, createdAt, requestIds: [], record: { ...record } });
  }
}
