import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { beginPasses, type PassState } from './list-proof.js';
import { clearStaging, type StagedCounts } from './staging.js';
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
  const [last] = await tx.rows(
    'SELECT id, started_at, progress, progress_at FROM invoice_pull ORDER BY id DESC LIMIT 1',
  );
  const progress = last?.progress ? (JSON.parse(last.progress) as PullProgress) : null;
  if (progress?.asks === plan.asks && last.progressAt > nowMs - resumeWithinMs) {
    await tx.run("UPDATE invoice_pull SET outcome='running', ended_at=NULL, reason=NULL WHERE id=?", [last.id]);
    return { id: last.id, startedAt: last.startedAt, progress };
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
  const rows = await tx.rows<{ id: number }>(
    `SELECT id FROM invoice_pull WHERE started_at<? AND ended_at IS NOT NULL
        AND id<(SELECT MAX(n.id) FROM invoice_pull n) ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [before],
  );
  if (rows.length === 0) return 0;
  const ids = rows.map(({ id }) => id);
  return tx.run(`DELETE FROM invoice_pull WHERE id IN ${placeholders(ids.length)}`, ids);
}

export interface LastPull {
  id: number;
  outcome: string;
  /** Whether its list was proven to be the service's list of one moment. */
  isProven: boolean;
  reason: string | null;
  startedAt: number;
  endedAt: number | null;
  pages: number;
  /** How often the list was read. */
  passes: number;
  /** Invoices that it listed. */
  listed: number;
  malformed: number;
  /** Listed still, although it did not meet them: nothing proves that they have left. */
  missed: number;
}

/** The newest pull, whatever became of it; null before the first. */
export async function lastPull(tx: Tx): Promise<LastPull | null> {
  const [row] = await tx.rows(
    `SELECT id, outcome, reason, started_at, ended_at, pages, passes, listed, malformed, missed
       FROM invoice_pull ORDER BY id DESC LIMIT 1`,
  );
  if (!row) return null;
  const { id, outcome, ...more } = row;
  return { id, outcome, isProven: outcome === 'proven', ...more };
}

/** Whether any pull has brought a list. */
export async function hasPulled(tx: Tx): Promise<boolean> {
  return (await tx.select("SELECT id FROM invoice_pull WHERE outcome IN ('proven','unproven') LIMIT 1")).length > 0;
}

/**
 * Since when pulls have ended without a proof: the end of the last proven one, or the start of the first of all; null: the
 * last pull was proven.
 */
export async function unprovenSince(tx: Tx): Promise<number | null> {
  const [last] = await tx.rows<{ id: number; endedAt: number }>(
    "SELECT id, ended_at FROM invoice_pull WHERE outcome='proven' ORDER BY id DESC LIMIT 1",
  );
  const [first] = await tx.rows<{ startedAt: number | null }>(
    "SELECT MIN(started_at) AS started_at FROM invoice_pull WHERE outcome='unproven' AND id>?",
    [last?.id ?? 0],
  );
  const since = first?.startedAt ?? null;
  return since === null ? null : (last?.endedAt ?? since);
}
