import { clockToleranceMs } from '../store/clock.js';
import type { Horizon } from '../store/elapsed-time.js';
import { placeholders, updateRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import type { Head } from './audit-log.js';

type Line = Head & { id: number; at: number };

/** Progress of one prune in a chain. */
interface ChainWalk extends Head {
  /** The youngest time of the lines so far: none that follows is older. */
  sinceMs: number;
  /** Its next line stays. */
  isAtEnd: boolean;
}

/** Progress of one prune in the log. */
export interface AuditWalk {
  afterId: number;
  chains: ReadonlyMap<number, ChainWalk>;
}

export const auditStart: AuditWalk = { afterId: 0, chains: new Map() };

interface AuditHorizon {
  before: Horizon;
  /** A line with a later time was written by a clock that ran ahead. */
  latestMs: number;
}

/**
 * Removes the oldest lines of the log, each chain from its beginning on: a checkpoint takes the place of what is gone. Reads
 * `limit` lines behind those that it has looked at. A chain whose next line is young keeps the others from nothing.
 * @param most how many lines may go
 */
export async function pruneAudit(
  tx: Tx,
  { before, latestMs }: AuditHorizon,
  walk: AuditWalk,
  { limit, most }: { limit: number; most: number },
): Promise<{ removed: number; walk: AuditWalk; more: boolean }> {
  const page = await tx.rows<Line>(
    `SELECT id, chain, seq, hash, at FROM audit_log WHERE id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [walk.afterId],
  );
  const chains = new Map(walk.chains);
  for (const begun of await checkpoints(tx, page, chains)) chains.set(begun.chain, begun);
  const isAhead = ({ at }: Line) => at > latestMs + clockToleranceMs;
  const removed: Line[] = [];
  for (const line of page) {
    const chain = chains.get(line.chain);
    if (!chain || chain.isAtEnd) continue;
    if (removed.length === most) break;
    const shownMs = isAhead(line) ? await nextSaneTime(tx, line, latestMs) : line.at;
    // Lines stand in the order in which they were written, whatever the clock showed.
    const sinceMs = Math.max(shownMs ?? Number.POSITIVE_INFINITY, chain.sinceMs);
    const isNext = line.seq === chain.seq + 1;
    const isAtEnd = !isNext || sinceMs >= before;
    if (!isAtEnd) removed.push(line);
    const { seq, hash } = isAtEnd ? chain : line;
    chains.set(line.chain, { chain: line.chain, seq, hash, sinceMs, isAtEnd });
  }
  const ids = removed.map(({ id }) => id);
  if (ids.length > 0) {
    const touched = new Set(removed.map(({ chain }) => chain));
    const moved = [...chains.values()].filter(({ chain }) => touched.has(chain));
    const rows = moved.map(({ chain: id, seq, hash }) => ({ id, prunedSeq: seq, prunedHash: hash }));
    await updateRows(tx, 'audit_chain', ['id'], rows);
    await dropSpentChains(tx);
    await tx.run(`DELETE FROM audit_log WHERE id IN ${placeholders(ids.length)}`, ids);
  }
  // Ids grow with time: behind a page of young lines there is nothing old.
  const isAllYoung = page.every((line) => line.at >= before && !isAhead(line));
  return {
    removed: ids.length,
    walk: { afterId: page.at(-1)?.id ?? walk.afterId, chains },
    more: page.length === Math.trunc(limit) && removed.length < most && !isAllYoung,
  };
}

/** The beginnings of those chains of a page of which nothing is known yet. */
async function checkpoints(tx: Tx, page: readonly Line[], known: ReadonlyMap<number, ChainWalk>): Promise<ChainWalk[]> {
  const ids = [...new Set(page.map(({ chain }) => chain))].filter((id) => !known.has(id));
  if (ids.length === 0) return [];
  const rows = await tx.rows<Head>(
    `SELECT id AS chain, pruned_seq AS seq, pruned_hash AS hash FROM audit_chain WHERE id IN ${placeholders(ids.length)}`,
    ids,
  );
  return rows.map((row) => ({ ...row, sinceMs: 0, isAtEnd: false }));
}

/** A line that a clock wrote which ran ahead is older than the next one of its chain that has a possible time. */
async function nextSaneTime(tx: Tx, { chain, id }: Line, latestMs: number): Promise<number | undefined> {
  return tx.value<number>('SELECT at FROM audit_log WHERE chain=? AND id>? AND at<=? ORDER BY id LIMIT 1', [
    chain,
    id,
    latestMs + clockToleranceMs,
  ]);
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
