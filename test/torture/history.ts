import type { Ledger } from '../../src/lab/sandbox/ledger.js';
import type { ErpRows, Row } from './erp-desk.js';
import type { Removals } from './plan.js';
import type { WitnessEvent } from './store-witness.js';
import type { Arrival } from './tcp-proxy.js';

export interface MessageRow {
  id: number;
  entity: string;
  source_key: string;
  revision: number;
  operation: string;
  generation: number;
  state: string;
  park_class: string | null;
  reason: string | null;
  idempotency_key: string | null;
  body_hash: string | null;
  service_id: string | null;
  flag: string | null;
}

export interface AttemptRow {
  id: number;
  message_id: number | null;
  purpose: string;
  number: number;
  epoch: number;
  idempotency_key: string | null;
  body_hash: string | null;
  intended_at: number;
  started_at: number | null;
  verdict: string | null;
  /** For what was not done: what the service said. */
  reason: string | null;
  request_id: string | null;
}

export interface BindingRow {
  entity: string;
  source_key: string;
  service_id: string;
}

/** A line of the audit that says what an operator did to one message. */
export interface OperatedRow {
  message_id: number;
  at: number;
  outcome: string;
}

/** An event that a daemon has taken, and when it was sent. */
export interface Announcement {
  orderId: string;
  sentAtMs: number;
}

/** The observations of one store. */
export interface Life {
  messages: readonly MessageRow[];
  attempts: readonly AttemptRow[];
  bindings: readonly BindingRow[];
  events: readonly WitnessEvent[];
  operated: readonly OperatedRow[];
  /** When an operator ended pauses. */
  resumedAt: readonly number[];
}

/** A store that is no more, as it was when its last daemon was dead. */
export interface PastLife extends Life {
  endedAtMs: number;
  /** All that was in it. */
  text: string;
}

/** Everything that was seen from outside in one run, when it had become quiet. The invariants judge nothing else. */
export interface History extends Life {
  limit: { requests: number; windowMs: number };
  replaysRefusals: boolean;
  /** The time for which the service promised to remember a key, if it forgets some in this run; else null. */
  keyLifetimeMs: number | null;
  /** Orders that were too long for the service at some time: a refusal after an attempt in doubt proves nothing. */
  everRefused: ReadonlySet<string>;
  /** The setting for orders that the ERP cancels or deletes. */
  removals: Removals;
  /** More updates in a pass wait for a person. */
  maxUpdates: number;
  /** The store that was lost, or had gone further than the copy that took its place. */
  past: PastLife | null;
  /** When a recovery was on record; null where none was called for, or none has come to its end. */
  recoveredAtMs: number | null;
  /**
   * When the bindings of the lost store were exported for its recovery; null where they were not. An order that was
   * delivered after that, and removed in the ERP before the recovery, is known to nobody.
   */
  exportedAtMs: number | null;
  /** Records of which a person said what there is at the service. */
  resolved: ReadonlyMap<string, 'delivered' | 'not_delivered'>;
  /** Numbers of the orders whose keys were respelled. */
  respelled: ReadonlySet<string>;
  /** Sights at the service that must never be, while records were mixed up. */
  breaches: readonly string[];
  /** Requests at the client's side of the network, with the process that sent them. */
  arrivals: readonly (Arrival & { pid: number })[];
  /** Requests of commands that a person gave. */
  operatorArrivals: readonly Arrival[];
  ledger: Pick<Ledger, 'requests' | 'orders' | 'customers' | 'deleted'>;
  erp: ErpRows;
  /** Changes in the ERP while nobody at a desk did anything. */
  erpTouched: readonly string[];
  /** When the clock of the machine was set forward; null: nobody touched it in this run. */
  clockForwardAt: readonly number[] | null;
  /** Events that a daemon has taken. */
  announced: readonly Announcement[];
  /** The facts that the ERP is told of its orders; null if it is told nothing. */
  writtenBack: readonly Row[] | null;
  /** The names of forgotten customers. */
  forgotten: readonly string[];
  /** The pruned messages; they are among the messages as well. */
  pruned: readonly MessageRow[];
  /** All that was printed or kept, by where it stood. */
  texts: readonly { where: string; text: string }[];
  secrets: readonly string[];
  /** The exits of the daemons that were told to stop. */
  ends: readonly (number | string)[];
  /** True if the last process was ended without a chance to say goodbye, so that a pull may have been under way. */
  endedByForce: boolean;
}
