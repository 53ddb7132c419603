import type { Tx } from '../store/store.js';

/** When an event was last written; null: never, or the line is no longer kept. */
export async function lastEventAt(tx: Tx, event: string): Promise<number | null> {
  const [row] = await tx.select<{ at: number }>('SELECT at FROM audit_log WHERE event=? ORDER BY id DESC LIMIT 1', [
    event,
  ]);
  return row ? Number(row.at) : null;
}

export interface RunningDaemon {
  actor: string;
  startedAt: number;
}

/** Daemons that said they started and never said they stopped: at work, standing by, or killed. Newest first. */
export async function startedDaemons(tx: Tx, limit: number): Promise<RunningDaemon[]> {
  const rows = await tx.select<{ actor: string; at: number }>(
    `SELECT s.actor, s.at FROM audit_log s WHERE s.event='start'
        AND NOT EXISTS (SELECT 1 FROM audit_log e WHERE e.event='stop' AND e.actor=s.actor AND e.id>s.id)
      ORDER BY s.id DESC LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({ actor: row.actor, startedAt: Number(row.at) }));
}
