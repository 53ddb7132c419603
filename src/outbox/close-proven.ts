import type { Entity } from '../model/entity.js';
import { placeholders, type Row, updateRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import type { Operation } from './message.js';

/** What an export says of a record: at this revision it was acknowledged, or removed. */
export interface Proof {
  source_key: string;
  revision: number;
}

interface OpenMessage {
  id: number;
  source_key: string;
  revision: number;
  operation: Operation;
  first_sent_at: number | null;
}

/**
 * Closes what was to be said of records of which an export tells the end: whatever is no newer than the export, what a copy was
 * sending included. What was never sent is closed also when it is newer: of a record that is gone everything, of one that is there
 * its create. The updates of one that is there go on. Nobody sends meanwhile.
 * @param what `more`: further columns of what is closed
 * @returns how many
 */
export async function closeProven<P extends Proof>(
  tx: Tx,
  entity: Entity,
  proofs: readonly P[],
  what: { isBound: boolean; reason: string; more?: (proof: P) => Row },
  nowMs: number,
): Promise<number> {
  if (proofs.length === 0) return 0;
  const byKey = new Map(proofs.map((proof) => [proof.source_key, proof]));
  const open = await tx.select<OpenMessage>(
    `SELECT id, source_key, revision, operation, first_sent_at FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(byKey.size)} AND state IN ('pending','parked','sending','in_doubt')
        ${what.isBound ? "AND operation<>'update'" : ''}${tx.dialect === 'mysql' ? ' FOR UPDATE' : ''}`,
    [entity, ...byKey.keys()],
  );
  const proven = open.flatMap((message) => {
    const proof = byKey.get(message.source_key) as P;
    const isUnsent = message.first_sent_at === null && (message.operation === 'create' || !what.isBound);
    return isUnsent || message.revision <= proof.revision ? [{ id: message.id, proof }] : [];
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
