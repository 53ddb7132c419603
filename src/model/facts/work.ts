import type { FactOf } from './fact-of.js';

/** Facts about the work itself: pauses, alerts, failures of jobs and databases. */
// biome-ignore lint/suspicious/noEmptyInterface: its codes are on their way
export interface WorkFacts {}
export type WorkFact = FactOf<WorkFacts>;
