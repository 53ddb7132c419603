import type { DataSource } from 'typeorm';

/** The pool lets go of a connection after this time without use; the server has to wait longer than that. */
export const poolIdleMs = 5_000;

/**
 * How long the server keeps a session that says nothing, in seconds. A process that is frozen, or cut off from the
 * store, in the middle of a transaction holds its row locks, and nobody could take over from it until the server let go:
 * by default after eight hours. MariaDB (10.3 and newer) tells a session inside a transaction from one that rests.
 */
const limits = 'SET SESSION wait_timeout=10 /*M!100300 , SESSION idle_transaction_timeout=5 */';

interface Session {
  query(sql: string, done: (error: unknown) => void): void;
}

/** From now on every connection of the pool is limited before its next use. MySQL and MariaDB only. */
export function limitSessions(dataSource: DataSource): void {
  const { pool } = dataSource.driver as unknown as {
    pool: { on(event: 'acquire', listener: (session: Session) => void): void };
  };
  const limited = new WeakSet<Session>();
  pool.on('acquire', (session) => {
    if (limited.has(session)) return;
    limited.add(session);
    // Commands of one connection stand in line, so this one comes first. A connection that is broken says so to its user.
    session.query(limits, () => undefined);
  });
}
