import { type Outside, outside } from '../outside.js';
import type { ActionFacts } from './actions.js';
import type { AlertFacts } from './alerts.js';
import type { DoctorFacts } from './doctor.js';
import type { FactOf } from './fact-of.js';
import type { ListFacts } from './lists.js';
import type { ProbeFacts } from './probe.js';
import type { ReconcileFacts } from './reconcile.js';
import type { RecordFacts } from './records.js';
import type { RecoveryFacts } from './recovery.js';
import type { SendingFacts } from './sending.js';
import type { ServiceFacts } from './service.js';
import type { WorkFacts } from './work.js';

export interface CommonFacts {
  /** A sentence that an earlier version stored. */
  legacy: { text: Outside };
}

/** Every code with its data. */
export interface AllFacts
  extends CommonFacts,
    ServiceFacts,
    SendingFacts,
    RecordFacts,
    ActionFacts,
    WorkFacts,
    AlertFacts,
    ListFacts,
    ReconcileFacts,
    RecoveryFacts,
    ProbeFacts,
    DoctorFacts {}

/**
 * A typed fact: the reason of a refusal, a row's problem, a hold, an alert. It is stored as its code and its data as JSON;
 * `words/` makes a sentence of it for people. Facts are compared by code and data, never by a sentence.
 */
export type Fact = FactOf<AllFacts>;

/** A sentence that has no code yet. Only for what is on its way to become a fact. */
export function legacy(text: string): Fact {
  return { code: 'legacy', text: outside(text, 1_000) };
}
