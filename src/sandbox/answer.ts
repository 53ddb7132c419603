import type { StoredRecord } from './record-store.js';

/** What the service says, before it is put on the wire. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON. Undefined together with `text`: an empty body. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  text?: string;
  /** The record that the request concerned, so that the ledger can say which requests touched it. */
  touched?: StoredRecord;
}
