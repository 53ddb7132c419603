import type { Outside } from '../outside.js';
import type { FactOf, PartFact } from './fact-of.js';

/** Facts about the work itself: pauses, alerts, failures of jobs and databases. */
export interface WorkFacts {
  /** The store's database did not do what it was asked. The message says what, where, and what to do next. */
  store_failed: { unavailable: boolean; message: Outside };
  /** `kind`: unreachable, query, mapping or request. */
  erp_failed: { kind: string; message: Outside };
  /** The ERP was not read, because that is refused until a person looks. */
  capture_refused: { reason: Outside };
  /** A process that delivers was watched, and left work open within the time. `quiet`: lanes that it pauses for a while. */
  left_to_holder: {
    holder: string;
    quiet: readonly { lane: string; reason: PartFact }[];
    open: number;
    pulled: boolean;
  };
  /** Anything else went wrong. */
  failed: { message: Outside };
}
export type WorkFact = FactOf<WorkFacts>;
