import type { WriteBackChange, WriteBackKind } from '../../model/write-back.js';

/** The only door through which Waybill writes into an ERP: the configured tables and statements, and nothing else. */
export interface ErpWriter {
  /** Writes all of these, in one transaction. @throws WriteBackError when nothing of it was kept */
  write(kind: WriteBackKind, changes: readonly WriteBackChange[]): Promise<void>;
  /** Keys that the side table of this kind holds, in its order, after this one ('': from the first). @throws WriteBackError */
  keysAfter(kind: WriteBackKind, after: string, limit: number): Promise<string[]>;
  /** What identifies the database that is written: host and database, or the file. */
  identity(): string;
  close(): Promise<void>;
}
