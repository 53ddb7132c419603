/** What the service says when it is asked whether it has a record. */
export type LookUpFinding =
  /** Exactly one record is exactly ours. `differs`: fields that both have, with other values. */
  | { kind: 'found'; serviceId: string; total: number | null; differs: string[] }
  | { kind: 'none' }
  | { kind: 'several'; count: number }
  /** Something was answered that proves nothing. */
  | { kind: 'odd'; reason: string };
