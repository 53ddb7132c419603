import type { Gate } from '../exchange.js';

/** Why a request has nothing to show. */
export type CredentialFault =
  /** Where tokens come from is out of reach for the moment. */
  | { kind: 'unavailable'; reason: string; tls: boolean }
  /** It does not know us: a person has to look. */
  | { kind: 'refused'; reason: string }
  /** We did not let the question go. */
  | { kind: 'not_sent'; reason: string };

/** What one request shows. */
export interface Proof {
  headers: Readonly<Record<string, string>>;
  /** Tells proofs apart: the one that was refused, and the one after it. */
  version: number;
}

/** How a request shows who we are. */
export interface Credential {
  /** Sees to it that there is a proof. @returns why there is none, or null */
  ready(gate: Gate): Promise<CredentialFault | null>;
  /** What goes into a request that leaves now; null: it is not ready (any more). */
  proof(): Proof | null;
  /** The service answered a request with this proof otherwise than by 401. */
  accepted(version: number): void;
  /** It answered 401. @returns whether there is another proof by now, or why not */
  renew(version: number, gate: Gate): Promise<boolean | CredentialFault>;
  /** It answered 401 to the repetition with this proof, too. */
  refused(version: number): void;
  /** Takes what has changed on disk. */
  look(): void;
  /** When what it is made of was changed last, in milliseconds since 1970; null: not known, because it is in no file. */
  changedAtMs(): number | null;
  /** Grows with each change of what it is made of. */
  readonly version: number;
}

/** What a file with nothing but a secret says: the text less one line break at its end, as the settings read it. */
export function secretText(text: string): string {
  const value = text.replace(/\r?\n$/, '');
  if (value.trim() === '') throw new Error('it is empty');
  return value;
}
