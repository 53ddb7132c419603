import { type Head, lineText } from '../../audit/audit-log.js';
import { type ChainRow, ChainVerifier, type Flaw, type LoggedLine } from '../../audit/verify-chains.js';
import type { Store, Tx } from '../../store/store.js';
import { StoreError } from '../../store/store-error.js';
import { writeWholeFile } from '../../store/whole-file.js';

export interface AuditProof {
  lines: number;
  chains: number;
  flaws: readonly Flaw[];
  /** Noted heads that could not be compared, because their lines were pruned. */
  uncompared: readonly Head[];
}

const pageSize = 2_000;

/**
 * Follows all chains of the log, page by page, beside what is written meanwhile.
 * @param noted heads that must be in the log; those before a checkpoint can't be compared
 */
export async function verifyAudit(store: Store, noted: readonly Head[] = []): Promise<AuditProof> {
  const before = await readChains(store);
  const verifier = new ChainVerifier(before, noted);
  for await (const page of readLines(store)) for (const line of page) verifier.take(line);
  const after = new Map((await readChains(store)).map((row) => [row.chain, row]));
  const flaws = verifier.end((chain) => after.get(chain)?.headSeq ?? 0);
  // Lines that were pruned meanwhile are not missing: the checkpoint is another one.
  if (flaws.length > 0 && isPruned(before, [...after.values()])) return verifyAudit(store, noted);
  const { lines, uncompared } = verifier;
  return { lines, chains: before.length, flaws, uncompared };
}

/** The heads of all chains, to be noted down elsewhere. */
export async function auditHeads(store: Store): Promise<Head[]> {
  const rows = await readChains(store);
  return rows.map(({ chain, headSeq, headHash }) => ({ chain, seq: headSeq, hash: headHash }));
}

/** The first line of an export: what its lines are proven by. */
interface ExportHeader {
  waybill: 'audit';
  version: 1;
  chains: readonly ChainRow[];
}

/**
 * Writes the log into a new file: a header, then for each line its hash, a space, and the text that was hashed.
 * @returns how many lines there are
 */
export async function exportAudit(store: Store, file: string): Promise<number> {
  const chains = await readChains(store);
  const heads = new Map(chains.map((row) => [row.chain, row.headSeq]));
  return writeWholeFile(file, async (handle) => {
    const header: ExportHeader = { waybill: 'audit', version: 1, chains };
    await handle.writeFile(`${JSON.stringify(header)}\n`);
    let count = 0;
    for await (const page of readLines(store)) {
      // Chains that have begun meanwhile are left out as well.
      if (page.some(({ chain }) => !heads.has(chain)))
        for (const { chain } of await readChains(store)) if (!heads.has(chain)) heads.set(chain, 0);
      // Lines that are written meanwhile are for the next export.
      const lines = page.filter(({ chain, seq }) => seq <= (heads.get(chain) ?? Number.POSITIVE_INFINITY));
      count += lines.length;
      await handle.writeFile(lines.map((line) => `${line.hash} ${lineText(line)}\n`).join(''));
    }
    if (isPruned(chains, await readChains(store)))
      throw new StoreError('Lines of the audit were pruned while it was read. Nothing was written: try again.');
    return count;
  });
}

function isPruned(before: readonly ChainRow[], after: readonly ChainRow[]): boolean {
  const now = new Map(after.map(({ chain, prunedSeq }) => [chain, prunedSeq]));
  // The row of a chain that was pruned whole may be gone as well.
  return before.some(({ chain, prunedSeq }) => now.get(chain) !== prunedSeq);
}

function readChains(store: Store): Promise<ChainRow[]> {
  return store.read('read the chains of the audit', async (tx) => {
    const rows = await tx.rows(
      `SELECT id AS chain, begun_at, link_chain, link_seq, link_hash, pruned_seq, pruned_hash, head_seq, head_hash
         FROM audit_chain ORDER BY id`,
    );
    return rows.map(({ linkChain, linkSeq, linkHash, ...row }) => ({
      ...row,
      link: linkChain === null ? null : { chain: linkChain, seq: linkSeq, hash: linkHash },
    }));
  });
}

/** The lines that are there now; those that are written meanwhile would never end. */
async function* readLines(store: Store): AsyncGenerator<LoggedLine[]> {
  const newest = await store.read('read the audit', (tx) => tx.value<number>('SELECT MAX(id) FROM audit_log'));
  const read = (tx: Tx, afterId: number) =>
    tx.rows<LoggedLine>(
      `SELECT id, chain, seq, hash, at, event, outcome, entity, source_key, message_id, attempt_id, actor, detail
         FROM audit_log WHERE id>? AND id<=? ORDER BY id LIMIT ${pageSize}`,
      [afterId, newest ?? 0],
    );
  for (let afterId = 0; ; ) {
    const page = await store.read('read the audit', (tx) => read(tx, afterId));
    const last = page.at(-1);
    if (!last) return;
    yield page;
    afterId = last.id;
  }
}
