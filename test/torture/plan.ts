import type { KillPoint, operatorKillPoints } from '../../src/ops/kill-point.js';

/** In this order they are drawn from: a new one comes last. */
export const storeKinds = ['sqlite', 'mariadb', 'postgres'] as const;
export type StoreKind = (typeof storeKinds)[number];

/**
 * `local`: one daemon delivers, perhaps beside a standby. `nodes`: three nodes deliver at a time. `cluster`: the same, and Redis is
 * beside them.
 */
export const dispatcherKinds = ['local', 'cluster', 'nodes'] as const;
export type DispatcherKind = (typeof dispatcherKinds)[number];
/** The daemons, by name; the last one only in a cluster. */
export const workers = ['A', 'B', 'C'] as const;
export type Worker = (typeof workers)[number];

/** The deeds of people at the ERP. `pick` chooses among the rows that are there when it happens. */
export type Deed =
  | { kind: 'new-order'; lines: { product: number; qty: number }[]; pick: number }
  /** A transaction that began a while ago and commits only now: its changed-at lies in the past. */
  | { kind: 'late-commit'; lines: { product: number; qty: number }[]; pick: number; lateMs: number }
  /** With `key` that order and no other. */
  | { kind: 'edit-order'; pick: number; qty: number; key?: string }
  /** Several at once, more than some seeds let go without a person. */
  | { kind: 'edit-orders'; pick: number; count: number; qty: number }
  /** A quantity changes and no changed-at moves with it: only a sweep finds it. */
  | { kind: 'silent-edit'; pick: number; qty: number }
  /** With `key` that customer and no other. */
  | { kind: 'edit-customer'; pick: number; name: string; key?: string }
  /** From A to B and back, and once more. */
  | { kind: 'there-and-back'; pick: number; qty: number }
  /** Several at once are more than some seeds let go without a person. */
  | { kind: 'cancel-orders'; pick: number; count: number }
  /** The rows are gone, as if they had never been there. */
  | { kind: 'delete-order'; pick: number }
  /** Longer than the service takes: it refuses the order until somebody shortens the text. */
  | { kind: 'refused-order'; pick: number }
  | { kind: 'correct-refused-order' }
  | { kind: 'correct-bad-row' }
  /** Its rows are away for less than two sweeps, as while somebody copies a table. */
  | { kind: 'vanish-order'; pick: number }
  /** Lines that can't be sent, enough for their problems to fill pages. */
  | { kind: 'long-order'; pick: number }
  /** An order of a new customer whose code no column of ours takes. */
  | { kind: 'long-code' };
export type DeedKind = Deed['kind'];
export const deedKinds = [
  'new-order',
  'late-commit',
  'edit-order',
  'edit-orders',
  'silent-edit',
  'edit-customer',
  'there-and-back',
  'cancel-orders',
  'delete-order',
  'refused-order',
  'correct-refused-order',
  'correct-bad-row',
  'vanish-order',
  'long-order',
  'long-code',
] as const satisfies readonly DeedKind[];

export const retryAfterForms = ['seconds', 'http-date', 'absent', 'junk', 'past', 'absurd'] as const;
export type RetryAfterForm = (typeof retryAfterForms)[number];

export type Fault =
  | { kind: 'service-429'; form: RetryAfterForm; times: number }
  | { kind: 'service-5xx'; status: number; times: number }
  | { kind: 'service-hang' | 'service-reset-before' | 'service-reset-after-commit'; times: number }
  | { kind: 'service-trickle' | 'service-cut-off' | 'service-html' | 'service-wrong-total'; times: number }
  /** Keys outlive what the settings promise by little, and one order stays in doubt for longer than that. */
  | { kind: 'service-forgets-keys' }
  /** An error that repeats our credential to us. */
  | { kind: 'service-echoes-token'; times: number }
  /** Somebody else uses one of our keys for other bytes. */
  | { kind: 'service-sent-before-us' }
  | { kind: 'network-cut' }
  | { kind: 'network-delay' | 'network-half-open'; forMs: number }
  | { kind: 'process-kill'; who: Worker }
  /** Whoever delivers, told to stop. */
  | { kind: 'process-stop' }
  /** Whoever delivers, past its lease. */
  | { kind: 'process-freeze'; forMs: number }
  | { kind: 'database-restart' | 'database-kill-connections' | 'database-network-cut' }
  | { kind: 'database-lock'; forMs: number }
  | { kind: 'database-deadlock' }
  /** It is gone, and comes back empty. */
  | { kind: 'redis-killed'; forMs: number }
  | { kind: 'redis-emptied' }
  /** Every answer of it comes so much later. */
  | { kind: 'redis-slow'; byMs: number; forMs: number }
  /** From one node alone. */
  | { kind: 'redis-cut-off'; who: Worker; forMs: number }
  /** It names so many messages that are gone before all others. */
  | { kind: 'redis-of-the-past'; jobs: number }
  /** One node alone is restarted with a credential that the service refuses, and again with its own. */
  | { kind: 'node-stale-token'; who: Worker; forMs: number }
  /** The same with another name of the ERP, so that it may not capture. */
  | { kind: 'node-other-erp'; who: Worker; forMs: number }
  /** The same with another address of the service. */
  | { kind: 'node-other-address'; who: Worker; forMs: number }
  /** The same with other settings of orders. */
  | { kind: 'node-other-settings'; who: Worker; forMs: number }
  /** The same with another clock on its wall. */
  | { kind: 'node-clock'; who: Worker; aheadMs: number; forMs: number }
  /** Its machine is suspended past its lease, and its monotonic clock stands still meanwhile. */
  | { kind: 'node-suspended'; who: Worker; forMs: number }
  /** It has no way to the service. */
  | { kind: 'node-cut-off'; who: Worker; forMs: number }
  /** The clock of the store is set back: the times of leases lie ahead by so much. */
  | { kind: 'store-clock-back'; byMs: number }
  /** An answer whose request id is longer than any column. */
  | { kind: 'service-long-id'; times: number }
  /** Somebody sets the clock of the machine; by so much it is ahead of the true time from then on. */
  | { kind: 'clock-forward' | 'clock-back'; aheadMs: number }
  /** A person has a customer forgotten, while its row changes. */
  | { kind: 'operator-forget'; pick: number }
  /** Years go by for what is in the store, and the daemon prunes it. */
  | { kind: 'store-pruned' }
  /** The service changes orders, and says so twice in the same words. */
  | { kind: 'service-announces'; pick: number }
  /** An order is read before it changes, and the answer comes after the change was acknowledged. */
  | { kind: 'service-stale-read'; pick: number };
export type FaultKind = Fault['kind'];

/** Records of which one may be taken for another, or for two. */
export const mixUps = [
  /** Two orders carry one number, and the service is asked for the second by it. */
  'twin-orders',
  /** Two customers have one code until somebody corrects it. */
  'twin-customers',
  /** A customer is deleted, and another one takes over its code for a while. */
  'swapped-code',
  /** A person enters an order at the service by hand, says so, and has everything sent again. */
  'resolve-then-force',
  /** The key of an order changes to one that the database of the ERP calls the same. */
  'respelled-key',
  /** Keys that have no room in the store, and differ only at their end. */
  'long-key',
  /** Keys that differ by less than a double can hold. */
  'wide-key',
  /** The service answers a create with the id of another order. */
  'id-taken',
] as const;
export type MixUpKind = (typeof mixUps)[number];

export interface MixUp {
  kind: MixUpKind;
  atMs: number;
  /** Which of its forms it takes. */
  form: number;
}

/** A process to end or freeze when it comes to a named point for the nth time. */
export interface Trap {
  point: KillPoint;
  nth: number;
  signal: 'SIGKILL' | 'SIGSTOP';
}

/** A command of the operator that dies at a named point, and is typed again. */
export interface OperatorTrap {
  /** The beginning of the command. */
  command: string;
  point: (typeof operatorKillPoints)[number];
}

/** The way in which an operator brings back a store's knowledge. */
export type RecoveryForm = 'from-service' | 'bindings' | 'bindings-from-service' | 'look-up' | 'by-hand';

/** The store is gone, or an older copy is in its place. It comes last, because whoever repairs it needs both hands. */
export interface StoreFault {
  kind: 'store-lost' | 'store-restored';
  /** When the copy is made that is put back later. */
  copyAtMs: number;
  recovery: RecoveryForm;
}

export type RemovalEffect = 'nothing' | 'delete' | { patch: { remark: string } };

/** The setting for orders that the ERP cancels or deletes. */
export interface Removals {
  onCancelled: RemovalEffect;
  onDeleted: RemovalEffect;
  maxRemovals: number;
}

/** True if three nodes deliver at a time. */
export function isOfNodes({ dispatcher }: Pick<Plan, 'dispatcher'>): boolean {
  return dispatcher !== 'local';
}

export interface Plan {
  seed: number;
  store: StoreKind;
  dispatcher: DispatcherKind;
  erp: { seed: number; customers: number; orders: number; bad: Record<string, number> };
  limit: { requests: number; perSeconds: number };
  concurrency: number;
  replaysRefusals: boolean;
  /** Short key lifetimes go with a service that forgets; null leaves the usual day. */
  keyLifetimeSeconds: number | null;
  overlapSeconds: number;
  sweepSeconds: number;
  /** True if sweeps come often enough to count on them. */
  sweeps: boolean;
  standby: boolean;
  /** True if the service can be asked for a record. */
  lookUps: boolean;
  mixUps: MixUp[];
  /** The column that is the key of orders: the number that it always is, a text, or one with room for 19 digits. */
  orderKey: 'id' | 'text' | 'bigint';
  removals: Removals;
  maxUpdates: number;
  /** The error of the machine's clock from the start; null: nobody touches the clock. */
  clockAheadMs: number | null;
  /** True if orders are read back, webhooks are listened for, and the outcome of records is written into the ERP. */
  tellsBack: boolean;
  storeFault: StoreFault | null;
  traps: { A: Trap[]; B: Trap[]; operator: OperatorTrap[] };
  deeds: { atMs: number; deed: Deed }[];
  faults: { atMs: number; fault: Fault }[];
}
