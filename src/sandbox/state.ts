import { addForeignCustomers } from './add-foreign-customers.js';
import { parseFaults } from './fault.js';
import { FaultPlan } from './fault-plan.js';
import { IdSequence } from './id-sequence.js';
import { IdempotencyMemory } from './idempotency-memory.js';
import { InvoiceBook } from './invoice-book.js';
import type { InvoiceChange, LedgerRequest } from './ledger.js';
import type { SandboxOptions } from './options.js';
import { RateLimit } from './rate-limit.js';
import { RecordStore } from './record-store.js';
import { seededRandom } from './seeded-random.js';
import { TokenDesk } from './token-desk.js';
import { WebhookSender } from './webhook-sender.js';

/** Everything the sandbox knows. It outlives the sockets, so that the service can go down and come back. */
export interface SandboxState {
  /** May be changed while it runs. */
  options: SandboxOptions;
  limit: RateLimit;
  readonly keys: IdempotencyMemory;
  readonly records: RecordStore;
  readonly invoices: InvoiceBook;
  readonly faults: FaultPlan;
  readonly requests: LedgerRequest[];
  readonly tokens: TokenDesk;
  throttledCount: number;
  replayedCount: number;
  readonly requestIds: IdSequence;
  readonly orderIds: IdSequence;
  /** Decides which invoices are born paid. */
  readonly paidRandom: () => number;
  /** Decides what somebody else does with invoices. */
  readonly invoiceRandom: () => number;
  /** What somebody else did with them, in order. */
  readonly invoiceLog: InvoiceChange[];
  readonly webhooks: WebhookSender;
}

export function createState(options: SandboxOptions): SandboxState {
  const faults = new FaultPlan(options.seed === null ? options.random : seededRandom(options.seed));
  faults.set(parseFaults(options.faults));
  const state: SandboxState = {
    options,
    limit: new RateLimit(options.limits),
    keys: new IdempotencyMemory(options.keyLifetimeMs, options.replayRefusals, options.compareBodies),
    records: new RecordStore(options.orderReferenceField),
    invoices: new InvoiceBook(),
    faults,
    requests: [],
    tokens: new TokenDesk(),
    throttledCount: 0,
    replayedCount: 0,
    requestIds: new IdSequence('req', options.random),
    orderIds: new IdSequence('ord', options.random),
    // A stream of its own: the nth invoice's fate must not hang on how many faults were drawn before it.
    paidRandom: seededRandom(options.seed ?? 1),
    invoiceRandom: seededRandom((options.seed ?? 1) + 1),
    invoiceLog: [],
    webhooks: new WebhookSender(),
  };
  addForeignCustomers(state, options.customers);
  return state;
}
