import { placeholders } from './rows.js';
import type { Tx } from './store.js';
import { StoreWentBack } from './store-error.js';

/** The last line of a chain of the audit, which this process surely committed. */
interface LastLine {
  chain: number;
  seq: number;
  hash: string;
  /** The time by `performance.now()`. */
  committedAt: number;
}

/** The last lines by store and chain. A process has one chain for each connection on which it writes. */
const known = new WeakMap<object, Map<number, LastLine>>();

/** A line that is older protects nothing: what a replica lacks is seconds old. And retention may have removed it. */
const rememberedMs = 3_600_000;

/** Remembers the last line that a transaction has committed. */
export function noteLastLine(storeKey: object, { chain, seq, hash }: Omit<LastLine, 'committedAt'>): void {
  const lines = known.get(storeKey) ?? new Map<number, LastLine>();
  lines.set(chain, { chain, seq, hash, committedAt: performance.now() });
  known.set(storeKey, lines);
}

/** After the loss is on record, the store goes on from where it is. */
export function forgetLastLines(storeKey: object): void {
  known.delete(storeKey);
}

/**
 * Compares the store with what this process committed there. Others may have gone on with a chain; none goes back.
 * @throws StoreWentBack
 */
export async function refuseOlderStore(tx: Tx): Promise<void> {
  const remembered = known.get(tx.storeKey);
  if (!remembered) return;
  for (const { chain, committedAt } of [...remembered.values()])
    if (performance.now() - committedAt > rememberedMs) remembered.delete(chain);
  // As of now: other connections of this process commit lines while the heads are read, which may not show them yet.
  const lines = [...remembered.values()];
  if (lines.length === 0) return;
  const heads = await tx.rows<{ id: number; headSeq: number; headHash: string }>(
    `SELECT id, head_seq, head_hash FROM audit_chain WHERE id IN ${placeholders(lines.length)}`,
    lines.map(({ chain }) => chain),
  );
  const byChain = new Map(heads.map((head) => [head.id, head]));
  for (const line of lines) {
    const head = byChain.get(line.chain);
    const isGone = head === undefined || head.headSeq < line.seq;
    if (isGone || (head.headSeq === line.seq && head.headHash !== line.hash)) throw new StoreWentBack();
    if (head.headSeq > line.seq && !(await stands(tx, line, head.headSeq))) throw new StoreWentBack();
  }
}

/** Tells if a line that others have gone on behind is still the same one. The newest lines have the highest ids. */
async function stands(tx: Tx, { chain, seq, hash }: LastLine, headSeq: number): Promise<boolean> {
  // On a server every process has chains of its own, and only a commit whose answer was lost moves one beyond what is known.
  if (tx.dialect.connections > 1) return true;
  const found = await tx.value<string>(
    'SELECT hash FROM audit_log WHERE id>=(SELECT MAX(id) FROM audit_log)-? AND chain=? AND seq=?',
    [headSeq - seq, chain, seq],
  );
  return found === hash;
}
