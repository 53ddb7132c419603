import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { beginPasses, type PassState } from './pass.js';
import { clearStaging } from './staging.js';
import type { SwapCounts } from './swap-invoices.js';

/** How far a pull has come. It is kept after every page, so that a process that is killed goes on where it was. */
export interface PullProgress {
  /** What the pull was asked to read; a pull under other settings does not go on with this one. */
  asks: string;
  phase: 'reading' | 'asking';
  /** Whose lists are being read; empty: everybody's. */
  customer: string;
  passes: PassState;
  /** Pages read, repetitions included. */
  pages: number;
  /** Requests made, failed ones included. */
  requests: number;
  /** Most readings that a group of lists took. */
  mostPasses: number;
  /** Invoices that the service says there are, in the groups of lists that were read. */
  serviceTotal: number;
  /** Why a group of lists was not proven, the first one's reason; null: all were proven so far. */
  doubt: string | null;
  /** Why the group of lists that is being read can not be proven, whatever its readings say. */
  groupDoubt?: string;
  /** Invoices that were asked for by their numbers. */
  asked: number;
}

export interface OpenPull {
  id: number;
  startedAt: number;
  progress: PullProgress;
}

export interface PullPlan {
  asks: string;
  states: readonly string[];
  pageSize: number;
  /** Whose lists come first; null: there is nobody to ask for. Looked for when nothing is staged. */
  firstCustomer: (tx: Tx) => Promise<string | null>;
}

/** A pull that was cut short is gone on with for so long after its last page; later the list is read anew. */
export const resumeWithinMs = 15 * 60_000;

/** Goes on with the pull that was cut short, if there is one that asks the same, else begins one. */
export async function openPull(tx: Tx, plan: PullPlan, nowMs: number): Promise<OpenPull> {
  const [last] = await tx.select(
    'SELECT id, started_at, progress, progress_at FROM invoice_pull ORDER BY id DESC LIMIT 1',
  );
  const progress = last?.progress ? (JSON.parse(last.progress) as PullProgress) : null;
  if (progress?.asks === plan.asks && Number(last.progress_at) > nowMs - resumeWithinMs) {
    await tx.run("UPDATE invoice_pull SET outcome='running', ended_at=NULL, reason=NULL WHERE id=?", [last.id]);
    return { id: Number(last.id), startedAt: Number(last.started_at), progress };
  }
  await tx.run(
    "UPDATE invoice_pull SET outcome='failed', ended_at=?, reason='The process stopped before the pull ended.' WHERE outcome='running'",
    [nowMs],
  );
  await tx.run('UPDATE invoice_pull SET progress=NULL WHERE progress IS NOT NULL');
  await clearStaging(tx);
  const id = await tx.insertReturningId(
    "INSERT INTO invoice_pull (states, outcome, started_at) VALUES (?, 'running', ?)",
    [plan.states.join(', ').slice(0, 1500), nowMs],
  );
  const firstCustomer = await plan.firstCustomer(tx);
  const begun: PullProgress = {
    asks: plan.asks,
    phase: firstCustomer === null ? 'asking' : 'reading',
    customer: firstCustomer ?? '',
    passes: beginPasses(plan.states.length, plan.pageSize),
    pages: 0,
    requests: 0,
    mostPasses: 0,
    serviceTotal: 0,
    doubt: null,
    asked: 0,
  };
  return { id, startedAt: nowMs, progress: begun };
}

export async function saveProgress(tx: Tx, pullId: number, progress: PullProgress, nowMs: number): Promise<void> {
  await tx.run('UPDATE invoice_pull SET progress=?, progress_at=?, pages=?, passes=?, asked=? WHERE id=?', [
    JSON.stringify(progress),
    nowMs,
    progress.pages,
    Math.max(progress.mostPasses, progress.passes.pass),
    progress.asked,
    pullId,
  ]);
}

/** The list stays as it is; the next pull goes on with what was read. */
export async function failPull(tx: Tx, pullId: number, reason: string, nowMs: number): Promise<void> {
  await tx.run("UPDATE invoice_pull SET outcome='failed', reason=?, ended_at=? WHERE id=?", [
    reason.slice(0, 1000),
    nowMs,
    pullId,
  ]);
}

export interface StagedCounts {
  listed: number;
  malformed: number;
}

export async function countStaged(tx: Tx): Promise<StagedCounts> {
  const [row] = await tx.select(
    `SELECT SUM(CASE WHEN malformed IS NULL THEN 1 ELSE 0 END) AS listed,
            SUM(CASE WHEN malformed IS NULL THEN 0 ELSE 1 END) AS malformed
       FROM invoice_staging WHERE is_newest=1 AND has_left=0`,
  );
  return { listed: Number(row?.listed ?? 0), malformed: Number(row?.malformed ?? 0) };
}

/** Ends a pull whose list was swapped in. */
export async function endPull(
  tx: Tx,
  pullId: number,
  progress: PullProgress,
  counts: StagedCounts & SwapCounts,
  nowMs: number,
): Promise<void> {
  await tx.run(
    `UPDATE invoice_pull SET outcome=?, reason=?, ended_at=?, pages=?, passes=?, asked=?, service_total=?, listed=?, malformed=?,
            added=?, changed=?, unlisted=?, missed=?, progress=NULL WHERE id=?`,
    [
      progress.doubt === null ? 'proven' : 'unproven',
      progress.doubt?.slice(0, 1000) ?? null,
      nowMs,
      progress.pages,
      progress.mostPasses,
      progress.asked,
      progress.serviceTotal,
      counts.listed,
      counts.malformed,
      counts.added,
      counts.changed,
      counts.unlisted,
      counts.missed,
      pullId,
    ],
  );
  await clearStaging(tx);
}

/** Removes records of old pulls, up to `limit` of them; the newest stays. The invoices themselves stay too. */
export async function prunePulls(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx.select<{ id: number }>(
    `SELECT id FROM invoice_pull WHERE started_at<? AND ended_at IS NOT NULL
        AND id<(SELECT MAX(n.id) FROM invoice_pull n) ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [before],
  );
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => Number(row.id));
  return tx.run(`DELETE FROM invoice_pull WHERE id IN ${placeholders(ids.length)}`, ids);
}
