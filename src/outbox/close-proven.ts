import type { Entity } from '../model/entity.js';
import { placeholders, updateRows } from '../store/rows.js';
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
 * its create. The updates of one that is there go on: a brake may hold them. Nobody sends meanwhile.
 * @returns how many
 */
export async function closeProven(
  tx: Tx,
  entity: Entity,
  proofs: readonly Proof[],
  what: { isBound: boolean; reason: string },
  nowMs: number,
): Promise<number> {
  if (proofs.length === 0) return 0;
  const revisions = new Map(proofs.map((proof) => [proof.source_key, proof.revision]));
  const open = await tx.select<OpenMessage>(
    `SELECT id, source_key, revision, operation, first_sent_at FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(revisions.size)} AND state IN ('pending','parked','sending','in_doubt')
        ${what.isBound ? "AND operation<>'update'" : ''}${tx.dialect === 'mysql' ? ' FOR UPDATE' : ''}`,
    [entity, ...revisions.keys()],
  );
  const proven = open.filter((message) => {
    const isUnsent = message.first_sent_at === null && (message.operation === 'create' || !what.isBound);
    return isUnsent || message.revision <= (revisions.get(message.source_key) as number);
  });
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    proven.map(({ id }) => ({
      id: Number(id),
      state: 'superseded',
      park_class: null,
      reason: what.reason,
      closed_at: nowMs,
    })),
  );
  return proven.length;
}
