import type { Outside } from '../outside.js';
import type { Entity } from '../record.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';

/** The parts of a person's agreement when the store went live. */
export type LiveTerm = 'installation' | 'environment' | 'machine' | 'erp' | 'service' | 'orders';

/** The columns of which database the keys of records are. */
export interface KeyColumns {
  erp: string;
  key: readonly string[];
}

/** Facts about the work itself: pauses, alerts, failures of jobs and databases. */
export interface WorkFacts {
  /** The store's database did not do what it was asked. The message says what, where, and what to do next. */
  store_failed: { unavailable: boolean; message: Outside };
  /** `kind`: unreachable, query, mapping or request. */
  erp_failed: { kind: string; message: Outside };
  /** The ERP was not read, because that is refused until a person looks. Earlier versions noted the reason as a text. */
  capture_refused: { reason: PartFact | Outside };
  capturing_elsewhere: { holder: string; freeInMs: number };
  capture_paused: { reason: PartFact };
  sources_not_read: { reasons: readonly PartFact[] };
  /** A process that delivers was watched, and left work open within the time. `quiet`: lanes that it pauses for a while. */
  left_to_holder: {
    holder: string;
    quiet: readonly { lane: string; reason: PartFact }[];
    open: number;
    pulled: boolean;
  };

  /** Nothing may be delivered, until a person looks. */
  not_live_yet: NoData;
  live_terms_changed: { changes: readonly { term: LiveTerm; was: string; is: string }[] };
  /** A machine may not take over. */
  live_nowhere: NoData;
  live_term_differs: { term: LiveTerm; was: string; is: string };
  /** A store is bound to the environment that it talked to first. */
  store_of_other_environment: { was: string; is: string };
  held_since_loss: { loss: PartFact };
  /** The keys are of other columns than those that the store knows them by; `name`: of the source that had them before. */
  keys_differ: { name: string | null; was: KeyColumns; now: KeyColumns };
  /** `entities`: all whose keys differ; `former`: the name of the source that was renamed, if any. */
  keys_not_trusted: {
    entity: Entity;
    change: PartFact;
    entities: readonly Entity[];
    source: string;
    former: string | null;
    needsGoLive: boolean;
  };
  rekey_unfinished: { entity: Entity };

  /** The sign by which the loss of a store, or an older copy of it, was noticed. */
  store_unwitnessed: NoData;
  store_before_recovery: { until: number };
  store_is_another: { until: number };
  store_is_older: { line: number; known: number; at: number };
  store_went_back: NoData;
  loss_stated: NoData;

  /** Why the ERP's values of a record can't be shown at this moment. */
  erp_silent: NoData;
  erp_read_for_others: NoData;
  row_not_in_erp: NoData;
  row_no_record_now: { reason: PartFact };
  erp_not_readable_now: { reason: PartFact };

  /** Anything else went wrong. */
  failed: { message: Outside };
}
export type WorkFact = FactOf<WorkFacts>;
export type ErpNowFact = Extract<
  WorkFact,
  { code: 'erp_silent' | 'erp_read_for_others' | 'row_not_in_erp' | 'row_no_record_now' | 'erp_not_readable_now' }
>;
