import type { Settings } from '../../config/settings.js';
import type { Fact } from '../../model/facts/fact.js';
import { deleteOldest } from '../../store/delete-oldest.js';
import type { Horizon } from '../../store/elapsed-time.js';
import { factColumns, factOf, factRow } from '../../store/fact-columns.js';
import { boundedText, type Row, updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { beginPasses, type PassState } from './list-proof.js';
import { clearStaging, isGroupEnded } from './staging.js';

/** The progress of a pull. It is stored with every page, so that the next process goes on where a killed one was. */
export interface PullProgress {
  /** The settings that say what it reads; a pull under other settings begins anew. */
  asks: string;
  phase: 'reading' | 'asking';
  /** Whose lists are being read; null: everybody's. */
  customer: string | null;
  passes: PassState;
  /** Pages read, repetitions included. */
  pages: number;
  /** Requests made, failed ones included. */
  requests: number;
  /** Most readings that a group of lists took. */
  mostPasses: number;
  /** Invoices that the service says there are, in the groups of lists that were read. */
  serviceTotal: number;
  /** Invoices that the last reading of each of these groups met. */
  listed: number;
  /** Why the first group of lists that was not proven is not; null: all were proven so far. */
  doubt: Fact | null;
  /** Why no reading can prove the group of lists that is being read. */
  groupDoubt?: Fact;
  /** Invoices that were asked for by their numbers. */
  asked: number;
}

export interface OpenPull {
  id: number;
  startedAt: number;
  /** As it is on record. */
  progress: PullProgress;
}

/** For so long after its last page, a pull that was cut short goes on; later the list is read anew. */
const resumeWithinMs = 15 * 60_000;

/** Goes on with the pull that was cut short, if there is one that asks the same, else begins one. */
export async function openPull(tx: Tx, { invoices, service }: Settings, nowMs: number): Promise<OpenPull> {
  const { states, scope, pageSize, paging } = invoices;
  const { baseUrl, endpoints } = service;
  const asks = JSON.stringify({ baseUrl, path: endpoints.listInvoices.path, states, scope, pageSize, paging });
  const [last] = await tx.rows(
    'SELECT id, started_at, progress, progress_at FROM invoice_pull ORDER BY id DESC LIMIT 1',
  );
  const progress = last?.progress ? (JSON.parse(last.progress) as PullProgress) : null;
  // An earlier version stored doubts as sentences: such a pull begins anew.
  const hasSentence = typeof progress?.doubt === 'string' || typeof progress?.groupDoubt === 'string';
  // It also wrote '' for the lists of all customers.
  if (progress?.customer === '') progress.customer = null;
  if (progress?.asks === asks && !hasSentence && last.progressAt > nowMs - resumeWithinMs) {
    await tx.run(
      "UPDATE invoice_pull SET outcome='running', ended_at=NULL, reason_code=NULL, reason_data=NULL WHERE id=?",
      [last.id],
    );
    return { id: last.id, startedAt: last.startedAt, progress };
  }
  const { code, data } = factColumns({ code: 'pull_cut_short' });
  await tx.run(
    "UPDATE invoice_pull SET outcome='failed', ended_at=?, reason_code=?, reason_data=? WHERE outcome='running'",
    [nowMs, code, data],
  );
  await tx.run('UPDATE invoice_pull SET progress=NULL WHERE progress IS NOT NULL');
  await clearStaging(tx);
  const id = await tx.insertReturningId(
    "INSERT INTO invoice_pull (states, outcome, started_at) VALUES (?, 'running', ?)",
    [boundedText('invoice_pull.states', states.join(', ')), nowMs],
  );
  const firstCustomer = scope === 'all' ? null : await nextCustomer(tx, null);
  const begun: PullProgress = {
    asks,
    // Without any customer there is no list to read.
    phase: scope !== 'all' && firstCustomer === null ? 'asking' : 'reading',
    customer: firstCustomer,
    passes: beginPasses(states.length, pageSize),
    pages: 0,
    requests: 0,
    mostPasses: 0,
    serviceTotal: 0,
    listed: 0,
    doubt: null,
    asked: 0,
  };
  return { id, startedAt: nowMs, progress: begun };
}

/**
 * Whose lists a pull per customer reads after this one's: first those of all customers that were delivered, in the order of
 * their codes at the service, then those of customers without a binding that still have listed invoices; null: all were read.
 */
export async function nextCustomer(tx: Tx, after: string | null): Promise<string | null> {
  const [bound] = await tx.rows<{ code: string }>(
    "SELECT service_id AS code FROM binding WHERE entity='customer' AND service_id>? ORDER BY service_id LIMIT 1",
    [after ?? ''],
  );
  if (bound && !(await isGroupEnded(tx, bound.code))) return bound.code;
  const [listed] = await tx.rows<{ code: string | null }>(
    `SELECT MIN(customer_code) AS code FROM invoice WHERE unlisted_at IS NULL AND customer_code<>''
        AND NOT EXISTS (SELECT 1 FROM invoice_group g WHERE g.list_kind='customer' AND g.list_customer=invoice.customer_code)`,
  );
  return listed?.code ?? null;
}

export async function saveProgress(tx: Tx, pull: OpenPull, progress: PullProgress, nowMs: number): Promise<void> {
  await goOn(tx, pull, {
    progress: JSON.stringify(progress),
    progress_at: nowMs,
    pages: progress.pages,
    passes: Math.max(progress.mostPasses, progress.passes.pass),
    asked: progress.asked,
  });
}

/** The list stays as it is; the next pull goes on with what was read. */
export async function failPull(tx: Tx, pull: OpenPull, reason: Fact, nowMs: number): Promise<void> {
  await goOn(tx, pull, { outcome: 'failed', ...factRow('reason', reason), ended_at: nowMs });
}

/** Outcome of a pull. */
export interface PullEnd {
  /** Why the list is not proven; null: it is. */
  doubt: Fact | null;
  /** Why the list is on hold; null: it was swapped in. */
  held: Fact | null;
  /** Columns that count what the pull found and changed. */
  counts: Readonly<Row>;
}

function outcomeOf({ doubt, held }: PullEnd): 'proven' | 'unproven' | 'held' {
  if (held !== null) return 'held';
  return doubt === null ? 'proven' : 'unproven';
}

/** Ends a pull whose list was swapped in, or is on hold. @returns the end that is on record now */
export async function endPull(
  tx: Tx,
  pull: OpenPull,
  ended: PullEnd,
  nowMs: number,
): Promise<{ outcome: 'proven' | 'unproven' | 'held'; reason: Fact | null }> {
  const { pages, mostPasses: passes, asked, serviceTotal } = pull.progress;
  const outcome = outcomeOf(ended);
  const reason = ended.held ?? ended.doubt;
  const end = { outcome, ...factRow('reason', reason), ended_at: nowMs, progress: null };
  await goOn(tx, pull, { ...end, pages, passes, asked, service_total: serviceTotal, ...ended.counts });
  await clearStaging(tx);
  return { outcome, reason };
}

/**
 * Changes the record of a pull that no other pull has gone on with. A page that one pull read in its first pass would count as met
 * again in the second pass of the other, and prove a list that was never there.
 */
async function goOn(tx: Tx, { id, progress }: OpenPull, row: Readonly<Row>): Promise<void> {
  const isOurs = "t.outcome='running' AND (t.progress IS NULL OR t.progress=?)";
  const found = await updateRows(tx, 'invoice_pull', ['id'], [{ id, ...row }], {
    guard: isOurs,
    guardParameters: [JSON.stringify(progress)],
  });
  if (found === 0)
    throw new Error(
      `Another process has gone on with pull ${id}: what was read here counts for nothing. The list stays as it is, and the next pull reads it anew.`,
    );
}

/** Removes up to `limit` records of old pulls, never the newest. The invoices themselves stay. */
export async function prunePulls(tx: Tx, before: Horizon, limit: number): Promise<number> {
  const where = 'started_at<? AND ended_at IS NOT NULL AND id<(SELECT MAX(n.id) FROM invoice_pull n) ORDER BY id';
  return deleteOldest(tx, { table: 'invoice_pull', key: 'id', where, before }, limit);
}

export interface LastPull {
  id: number;
  outcome: string;
  /** True if its list was proven to be the service's list of one moment. */
  isProven: boolean;
  reason: Fact | null;
  startedAt: number;
  endedAt: number | null;
  pages: number;
  /** The number of readings of the list. */
  passes: number;
  /** Invoices that it listed. */
  listed: number;
  malformed: number;
  /** Listed still, although it did not meet them: nothing proves that they have left. */
  missed: number;
  /** When the list was last brought in; null: never, or that pull is forgotten. */
  listedAt: number | null;
}

/** The newest pull, also one that failed; null before the first. */
export async function lastPull(tx: Tx): Promise<LastPull | null> {
  const [row] = await tx.rows(
    `SELECT id, outcome, reason_code, reason_data, started_at, ended_at, pages, passes, listed, malformed, missed,
            (SELECT MAX(ended_at) FROM invoice_pull WHERE outcome IN ('proven','unproven')) AS listed_at
       FROM invoice_pull ORDER BY id DESC LIMIT 1`,
  );
  if (!row) return null;
  const { id, outcome, reasonCode, reasonData, ...more } = row;
  return { id, outcome, isProven: outcome === 'proven', reason: factOf(reasonCode, reasonData), ...more };
}

/** True if any pull has brought a list. */
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
    "SELECT MIN(started_at) AS started_at FROM invoice_pull WHERE outcome IN ('unproven','held') AND id>?",
    [last?.id ?? 0],
  );
  const since = first?.startedAt ?? null;
  return since === null ? null : (last?.endedAt ?? since);
}
