import type { CustomerRecord, Entity, OrderRecord } from '../../model/record.js';
import type { FaultKind } from './fault-plan.js';

/** One request as it arrived at the service. Credentials never get in here. */
export interface LedgerRequest {
  request_id: string;
  /** Wall clock when it came in, before any artificial delay. */
  received_at_ms: number;
  /** Wall clock when it was counted and handled. */
  at_ms: number;
  /** The rate limit's clock at the same moment: judge windows by this one. */
  monotonic_ms: number;
  /** Wall clock when the answer was begun; null while there is none. */
  answered_at_ms: number | null;
  method: string;
  /** With its query. */
  path: string;
  idempotency_key: string | null;
  body_sha256: string | null;
  /** The status that was sent; null when none was (hang, reset). */
  status: number | null;
  throttled: boolean;
  replayed: boolean;
  fault: FaultKind | null;
}

export interface LedgerCustomer {
  readonly customer_code: string;
  record: CustomerRecord;
  readonly key: string;
  readonly created_at: string;
  /** Ids of the requests that made, changed, read or replayed it. */
  readonly requests: string[];
}

export interface LedgerOrder {
  readonly order_id: string;
  readonly key: string;
  /** The sender's own reference, by which duplicates are found. */
  reference: string | null;
  record: OrderRecord;
  status: string;
  total: number;
  readonly created_at: string;
  readonly requests: string[];
}

/** A record that was deleted, kept for the ledger only. */
export interface DeletedRecord {
  entity: Entity;
  id: string;
  reference: string | null;
  key: string;
}

export interface LedgerCounts {
  customers: number;
  orders: number;
  invoices: number;
  /** All that came in, throttled ones included. */
  requests: number;
  throttled: number;
  replayed: number;
  /** References that more than one order carries. */
  duplicateReferences: number;
}

/** The view of an outside auditor on the service: the requests, and the records that are there now. */
export interface Ledger {
  requests: readonly LedgerRequest[];
  customers: LedgerCustomer[];
  orders: LedgerOrder[];
  deleted: readonly DeletedRecord[];
  counts: LedgerCounts;
  duplicates: { reference: string; order_ids: readonly string[] }[];
}
