import type { Entity } from '../model/entity.js';
import { placeholders, type Row, updateRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/** What an export says of a record: at this revision it was acknowledged, or removed. */
export interface Proof {
  source_key: string;
  revision: number;
}

/**
 * Closes what waits to be said of records of which an export tells the end: what was never sent, and what is no newer than the
 * export. Nobody sends meanwhile.
 * @param more further columns of what is closed
 * @returns how many
 */
export async function closeProven<P extends Proof>(
  tx: Tx,
  entity: Entity,
  proofs: readonly P[],
  what: { operations: 'create' | 'all'; reason: string; more?: (proof: P) => Row },
  nowMs: number,
): Promise<number> {
  if (proofs.length === 0) return 0;
  const byKey = new Map(proofs.map((proof) => [proof.source_key, proof]));
  const open = await tx.select<{ id: number; source_key: string; revision: number; first_sent_at: number | null }>(
    `SELECT id, source_key, revision, first_sent_at FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(byKey.size)} AND state IN ('pending','parked','in_doubt')
        ${what.operations === 'create' ? "AND operation='create'" : ''}${tx.dialect === 'mysql' ? ' FOR UPDATE' : ''}`,
    [entity, ...byKey.keys()],
  );
  const proven = open.flatMap((message) => {
    const proof = byKey.get(message.source_key) as P;
    return message.first_sent_at === null || message.revision <= proof.revision ? [{ id: message.id, proof }] : [];
  });
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    proven.map(({ id, proof }) => ({
      id: Number(id),
      state: 'superseded',
      park_class: null,
      reason: what.reason,
      closed_at: nowMs,
      ...what.more?.(proof),
    })),
  );
  return proven.length;
}
