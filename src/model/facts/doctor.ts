import type { Outside } from '../outside.js';
import type { FactOf } from './fact-of.js';

/** A column whose values say when a row changed, and the setting that names it. */
interface ChangeColumn {
  setting: string;
  column: string;
}

/** Findings of `doctor` and `preview` about the settings and the data that they read. */
export interface DoctorFacts {
  /**
   * The column has no time zone, and the database has another one than the settings. `minutes`: by which its clock is ahead
   * of theirs. `isSeen`: the newest change is just so far from now.
   */
  time_zones_differ: ChangeColumn & { database: string; settings: string; minutes: number; isSeen: boolean };
  /** The newest change is in the future. */
  newest_change_ahead: ChangeColumn & { newest: Outside; settings: string; minutes: number };
  /** Nothing marks cancelled orders, while a column that says which orders are sent has such values. At most 5. */
  no_cancellation_rule: { column: string; values: readonly { value: Outside; rows: number }[] };
  /** Nothing says what becomes of an order that leaves `orders.pending` after it was sent. */
  no_end_of_orders: { missing: readonly ('cancelled' | 'completed')[] };
  /** Customers of the ERP with one code, which is one customer for the service. `some`: at most 5. */
  codes_shared: { codes: number; some: readonly Outside[] };
}
export type DoctorFact = FactOf<DoctorFacts>;
