import type { CustomerRecord } from '../../model/record.js';
import { FaultPlan, parseFaults } from './fault-plan.js';
import { IdempotencyMemory } from './idempotency.js';
import { InvoiceBook } from './invoice-book.js';
import type { InvoiceChange, LedgerRequest } from './ledger.js';
import type { SandboxOptions } from './options.js';
import { RateLimit } from './rate-limit.js';
import { IdSequence, RecordStore, timestamp } from './record-store.js';
import { TokenDesk } from './token-desk.js';
import { WebhookSender } from './webhook-sender.js';

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

/** Mulberry32: a small generator whose sequence is fixed by its seed, so that a run with faults can be replayed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

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
