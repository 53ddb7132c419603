import type { WriteBackChange, WriteBackKind } from '../../model/write-back.js';

/** The only door through which Waybill writes into an ERP: the configured tables and statements, and nothing else. */
export interface ErpWriter {
  /** Writes all of these in one transaction. @throws WriteBackError when it was rolled back */
  write(kind: WriteBackKind, changes: readonly WriteBackChange[]): Promise<void>;
  /** Keys in the side table of this kind, in its order, after this one ('': from the first). @throws WriteBackError */
  keysAfter(kind: WriteBackKind, after: string, limit: number): Promise<string[]>;
  /** The database that is written: host and database, or the file. */
  identity(): string;
  close(): Promise<void>;
}

/**
 * unreachable: the database can't be written now; try again later.
 * target: nothing of this kind can be written until a person acts, such as on a missing grant, table or column.
 * row: the database refuses one row; the others may go on.
 */
export type WriteBackErrorKind = 'unreachable' | 'target' | 'row';

/** Why something was not written back: what the database said, and what to do. Its transaction was rolled back. */
export class WriteBackError extends Error {
  override readonly name = 'WriteBackError';

  constructor(
    readonly kind: WriteBackErrorKind,
    message: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}
