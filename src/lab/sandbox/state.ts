import type { CustomerRecord } from '../../model/record.js';
import { seededRandom } from '../seeded-random.js';
import { TokenDesk } from './credentials.js';
import { FaultPlan, parseFaults } from './fault-plan.js';
import { IdempotencyMemory } from './idempotency.js';
import { InvoiceBook } from './invoice-book.js';
import type { LedgerRequest } from './ledger.js';
import type { SandboxOptions } from './options.js';
import { RateLimit } from './rate-limit.js';
import { idSequence, RecordStore, timestamp } from './record-store.js';
import { WebhookSender } from './webhook-sender.js';

/** Everything the sandbox knows. It outlives the sockets, so that the service can go down and come back. */
export type SandboxState = ReturnType<typeof createState>;

export function createState(options: SandboxOptions) {
  const { limits, orderReferenceField, seed, random } = options;
  const faults = new FaultPlan(seed === null ? random : seededRandom(seed));
  faults.set(parseFaults(options.faults));
  const state = {
    /** May be changed while it runs. */
    options,
    limit: new RateLimit(limits),
    keys: new IdempotencyMemory(options),
    records: new RecordStore(orderReferenceField),
    invoices: new InvoiceBook(),
    faults,
    requests: [] as LedgerRequest[],
    tokens: new TokenDesk(),
    throttledCount: 0,
    replayedCount: 0,
    nextRequestId: idSequence('req', random),
    nextOrderId: idSequence('ord', random),
    /** Decides which invoices are paid from the start. A stream of its own: faults must not change the nth draw. */
    paidRandom: seededRandom(seed ?? 1),
    /** Decides which invoices somebody else changes. */
    invoiceRandom: seededRandom((seed ?? 1) + 1),
    /** The edits of invoices by somebody else, in order. */
    invoiceLog: [] as { invoiceNo: string; status: string }[],
    webhooks: new WebhookSender(),
  };
  addForeignCustomers(state, options.customers);
  return state;
}

/** Customers that somebody else made, each under a key that no sender of ours has. */
export function addForeignCustomers(
  { options, records }: { options: SandboxOptions; records: RecordStore },
  customers: readonly CustomerRecord[],
): void {
  const created_at = timestamp(options.nowMs(), options.utcOffsetMinutes);
  for (const record of customers) {
    const { customer_code } = record;
    if (records.customers.has(customer_code)) throw new TypeError(`There is a customer ${customer_code} already`);
    const key = `somebody-else-${records.customers.size + 1}`;
    records.customers.set(customer_code, { customer_code, key, created_at, requests: [], record: { ...record } });
  }
}
