import type { JsonValue } from './record.js';

/** What the service says when it is asked whether it has a record. */
export type LookUpFinding =
  | FoundRecord
  | { kind: 'none' }
  | { kind: 'several'; count: number }
  /** Something was answered that proves nothing. */
  | { kind: 'odd'; reason: string };

/** Exactly one record is exactly ours. */
export interface FoundRecord {
  kind: 'found';
  serviceId: string;
  total: number | null;
  /** Fields that both have, with other values. */
  differs: string[];
  /** The record as the service shows it, with whatever it has besides our fields. */
  shown: { [name: string]: JsonValue };
}
