import type { Entity } from '../model/entity.js';
import type { Tx } from '../store/store.js';

/** Audit lines after an id, in their order: of which records something was noted. */
export interface AuditStretch {
  lines: { id: number; at: number; entity: Entity | null; sourceKey: string | null }[];
  /** Whether there may be more. */
  isFull: boolean;
}

export async function auditAfter(tx: Tx, id: number, limit: number): Promise<AuditStretch> {
  const rows = await tx.select(
    `SELECT id, at, entity, source_key FROM audit_log WHERE id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [id],
  );
  return {
    lines: rows.map((row) => ({
      id: Number(row.id),
      at: Number(row.at),
      entity: row.entity,
      sourceKey: row.source_key,
    })),
    isFull: rows.length >= limit,
  };
}

/** The last line that is older than this; 0: there is none. */
export async function lastAuditBefore(tx: Tx, beforeMs: number): Promise<number> {
  const [row] = await tx.select<{ id: number | null }>('SELECT MAX(id) AS id FROM audit_log WHERE at<?', [beforeMs]);
  return Number(row?.id ?? 0);
}
