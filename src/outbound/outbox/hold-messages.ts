import type { Entity } from '../../model/record.js';
import type { Tx } from '../../store/store.js';
import { holdMessages } from './transitions.js';

/** What one pass over the ERP would change at the service, of one entity. */
export interface PassCounts {
  updates: number;
  removals: number;
}

/** Due when the pass that wrote it has ended well: only then it is known how much the pass would change. */
export const afterThisPass = 8_640_000_000_000_000;
/** The same, of what was cancelled or deleted: removals are counted apart. */
export const removalAfterThisPass = afterThisPass - 1;

/** Which messages a pass may let go or hold when it ends. */
export interface PassScope {
  entity: Entity;
  /** 0 for a pass over everything, which answers also for what one before it has left; else the newest message that was there when it began. */
  afterId: number;
}

/** The newest message there is; 0 where there is none. */
export async function newestMessageId(tx: Tx): Promise<number> {
  const [row] = await tx.select('SELECT MAX(id) AS id FROM outbox_message');
  return Number(row?.id ?? 0);
}

/** What the pass would change at the service. */
export async function countOfPass(tx: Tx, { entity, afterId }: PassScope): Promise<PassCounts> {
  const rows = await tx.select(
    `SELECT next_attempt_at AS due, COUNT(*) AS n FROM outbox_message
      WHERE state='pending' AND entity=? AND next_attempt_at>=? AND id>? GROUP BY next_attempt_at`,
    [entity, removalAfterThisPass, afterId],
  );
  const dueAt = (due: number) => Number(rows.find((row) => Number(row.due) === due)?.n ?? 0);
  return { updates: dueAt(afterThisPass), removals: dueAt(removalAfterThisPass) };
}

/** Lets go what the pass wrote. */
export async function releaseOfPass(tx: Tx, { entity, afterId }: PassScope, nowMs: number): Promise<number> {
  return tx.run(
    "UPDATE outbox_message SET next_attempt_at=? WHERE state='pending' AND entity=? AND next_attempt_at>=? AND id>?",
    [nowMs, entity, removalAfterThisPass, afterId],
  );
}

/** Holds some of what the pass wrote: parked until a person confirms. Returns them; none when all are held. */
export async function holdOfPass(
  tx: Tx,
  { entity, afterId }: PassScope,
  reason: string,
  nowMs: number,
  limit: number,
): Promise<{ id: number; sourceKey: string }[]> {
  const rows = await tx.rows<{ id: number; sourceKey: string }>(
    `SELECT id, source_key FROM outbox_message WHERE state='pending' AND entity=? AND next_attempt_at>=? AND id>?
      ORDER BY id LIMIT ${Math.trunc(limit)}${tx.forUpdate}`,
    [entity, removalAfterThisPass, afterId],
  );
  await holdMessages(
    tx,
    rows.map(({ id }) => id),
    reason,
    nowMs,
  );
  return rows;
}
