import type { FactOf } from './fact-of.js';

/** Facts about an exchange with the service: its answer, or why there is none. */
// biome-ignore lint/suspicious/noEmptyInterface: its codes are on their way
export interface ServiceFacts {}
export type ServiceFact = FactOf<ServiceFacts>;
