import type { Outside } from '../outside.js';
import type { FactOf } from './fact-of.js';

/** Facts about a record and its rows in the ERP: problems of a row, holds, removals. */
export interface RecordFacts {
  /** An order that the service has left `orders.pending`; its status column has a value that the settings do not name. */
  left_with_status: { column: string; value: Outside | null };
}
export type RecordFact = FactOf<RecordFacts>;
export type LeftFact = Extract<RecordFact, { code: 'left_with_status' }>;
