import type { FactOf } from './fact-of.js';

/** Facts about what a person asked for: refusals, and what an action did. */
// biome-ignore lint/suspicious/noEmptyInterface: its codes are on their way
export interface ActionFacts {}
export type ActionFact = FactOf<ActionFacts>;
