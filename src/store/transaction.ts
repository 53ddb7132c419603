import { storeRetry } from '../db/failures.js';
import type { DriverError, StoreDialect, StoreSession } from '../db/store-dialect.js';

/** A call runs again at most this often after a deadlock. */
export const maxTries = 10;

/**
 * The time after its first try for which a call is run again: while another process writes to the SQLite file, or holds
 * a lock.
 */
const patienceMs = 10_000;

/** Called at the end of a transaction: `isCommitted` is true only if the commit is certain. */
export type End = (isCommitted: boolean) => void;

/**
 * Runs `work` between BEGIN and COMMIT, and rolls back if it fails. A connection that breaks during COMMIT leaves open
 * whether it was committed: the error goes to the caller, and `ends` hear false.
 * @param work gets a list to which it adds what is called at the end, and a function that hears of each failed statement
 * @throws what `work` throws, or the error of a failed statement that `work` has hidden where that ends the transaction
 */
export async function transact<T>(
  session: StoreSession,
  dialect: StoreDialect,
  work: (ends: End[], onFailure: (error: unknown) => void) => Promise<T>,
): Promise<T> {
  for (const statement of dialect.begin) await session.query(statement, []);
  const ends: End[] = [];
  let isCommitted = false;
  try {
    let failure: unknown = null;
    const result = await work(ends, (error) => (failure ??= error));
    if (failure !== null && dialect.failureEndsTransaction) throw failure;
    await session.query('COMMIT', []);
    isCommitted = true;
    return result;
  } catch (error) {
    // After a lock wait timeout the transaction stays open on MySQL, and a later COMMIT would keep half of it. A rollback that
    // fails too means that the connection is gone, and the transaction with it: the first error is the one to report.
    await rollBack(session);
    throw error;
  } finally {
    for (const end of ends) end(isCommitted);
  }
}

export async function rollBack(session: StoreSession): Promise<void> {
  try {
    await session.query('ROLLBACK', []);
  } catch {
    // The connection is gone, and the transaction with it.
  }
}

/**
 * True if a call that failed is run again, whole. Pure.
 * @param elapsedMs since its first try
 */
export function mayRunAgain(dialect: StoreDialect, error: unknown, tries: number, elapsedMs: number): boolean {
  const { driverError = {} } = error as { driverError?: DriverError };
  const retry = storeRetry(dialect.failures.read(driverError).cause);
  return elapsedMs < patienceMs && (retry === 'patiently' || (retry === 'a few times' && tries < maxTries));
}
