import { placeholders, updateRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import type { Head } from './audit-log.js';

/**
 * Removes the oldest lines of the log, up to `limit` of them, each chain from its beginning on: a checkpoint takes the place of
 * what is gone. A line behind a younger one stays with it, so a clock that ran ahead keeps lines for longer.
 * @returns how many there were
 */
export async function pruneAudit(tx: Tx, before: number, limit: number): Promise<number> {
  const old = await tx.rows<Head & { id: number }>(
    `SELECT id, chain, seq, hash FROM audit_log WHERE at<? ORDER BY at, id LIMIT ${Math.trunc(limit)}`,
    [before],
  );
  if (old.length === 0) return 0;
  const chains = [...new Set(old.map(({ chain }) => chain))];
  const checkpoints = new Map(
    (
      await tx.rows<Head>(
        `SELECT id AS chain, pruned_seq AS seq, pruned_hash AS hash FROM audit_chain WHERE id IN ${placeholders(chains.length)}`,
        chains,
      )
    ).map((row) => [row.chain, row]),
  );
  const ids: number[] = [];
  for (const line of old.sort((a, b) => a.seq - b.seq)) {
    if (line.seq !== (checkpoints.get(line.chain)?.seq ?? 0) + 1) continue;
    checkpoints.set(line.chain, line);
    ids.push(line.id);
  }
  if (ids.length === 0) return 0;
  const moved = [...checkpoints.values()].map(({ chain, seq, hash }) => ({
    id: chain,
    prunedSeq: seq,
    prunedHash: hash,
  }));
  await updateRows(tx, 'audit_chain', ['id'], moved);
  await dropSpentChains(tx);
  return tx.run(`DELETE FROM audit_log WHERE id IN ${placeholders(ids.length)}`, ids);
}

/** Forgets chains of which no line is left, and behind which none begins that still shows its beginning. The newest one stays. */
async function dropSpentChains(tx: Tx): Promise<void> {
  const spent = await tx.rows<{ id: number }>(
    `SELECT c.id FROM audit_chain c WHERE c.pruned_seq=c.head_seq AND c.pruned_seq>0
        AND EXISTS (SELECT 1 FROM audit_chain n WHERE n.id>c.id)
        AND NOT EXISTS (SELECT 1 FROM audit_chain l WHERE l.link_chain=c.id AND l.pruned_seq=0)`,
  );
  const ids = spent.map(({ id }) => id);
  if (ids.length > 0)
    await tx.run(`DELETE FROM audit_chain WHERE pruned_seq=head_seq AND id IN ${placeholders(ids.length)}`, ids);
}
