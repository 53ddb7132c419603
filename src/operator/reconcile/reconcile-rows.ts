import { type Fact, legacy } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import { deleteOldest } from '../../store/delete-oldest.js';
import type { Horizon } from '../../store/elapsed-time.js';
import { factColumns, factOf, factRow } from '../../store/fact-columns.js';
import { insertRows, placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { FieldDifference } from './compare-record.js';
import type { Cause, FindingKind, Judgement } from './name-finding.js';
import { addSums, type DaySum } from './sums.js';

export const subjects = ['orders', 'customers', 'invoices'] as const;
export type Subject = (typeof subjects)[number];

/** The scope of a comparison. */
export interface ReconcileAsks {
  /** As it was typed, in erp.timeZone; null: without an end. */
  from: string | null;
  to: string | null;
  /** The same in milliseconds since 1970. */
  fromMs: number | null;
  toMs: number | null;
}

/** `known`: records that the store has bound; `unknown`: rows of the ERP that it has not; `ended`: all was read. */
type Phase = 'known' | 'unknown' | 'list' | 'ended';

/** The counts of a comparison so far. */
export interface Tally {
  /** Records that were looked at. */
  read: number;
  same: number;
  found: Record<FindingKind, number>;
  /** Names that the service shows. */
  shown: string[];
  /** Names that it never showed of a record that has them, with how many these were. */
  unshown: Record<string, number>;
  /** The number of records to look at, as counted at the start. */
  total: number;
  /** Rows of the ERP that may not be sent, and that the service does not have. */
  filtered: number | null;
  /** The number of requests to the service. */
  requests: number;
  /** The number of records that the service is known to have and did not show. */
  unread: number;
  /** The proof that a list was read as it was at one moment; null: it was read one by one. */
  proof: Fact | null;
}

export interface Reconciliation {
  id: number;
  subject: Subject;
  asks: ReconcileAsks;
  /** `running`: whoever has the service lease goes on with it; `stopped`: until somebody asks again. */
  state: 'running' | 'stopped' | 'done';
  phase: Phase;
  /** The position to go on from. */
  position: string | null;
  tally: Tally;
  /** Why it stopped, or null. */
  reason: Fact | null;
  actor: string;
  startedAt: number;
  progressAt: number;
  endedAt: number | null;
}

/** One record that the two sides do not agree on, or that can't be judged. Totals are text in the service's unit. */
export interface Finding {
  kind: FindingKind;
  cause: Cause;
  entity: Entity | 'invoice';
  sourceKey: string;
  number: string | null;
  serviceId: string | null;
  reason: Fact;
  fields: FieldDifference[];
  day: string | null;
  currency: string | null;
  erpTotal: string | null;
  serviceTotal: string | null;
}

export type NewFinding = Omit<Finding, keyof Judgement> & Judgement;

const emptyTally: Tally = {
  read: 0,
  same: 0,
  found: { missing: 0, different: 0, extra: 0, unjudged: 0 },
  shown: [],
  unshown: {},
  total: 0,
  filtered: null,
  requests: 0,
  unread: 0,
  proof: null,
};

/** After so long a comparison that was cut short says too little of today. */
const resumeWithinMs = 7 * 24 * 3_600_000;
/** Older comparisons of the same kind are forgotten when one begins. */
const keptRuns = 5;

const columns =
  'id, subject, asks, state, phase, position, tally, reason_code, reason_data, actor, started_at, progress_at, ended_at';

interface RunRow {
  asks: string;
  tally: string;
  reasonCode: string | null;
  reasonData: string | null;
}

function runOf(row: RunRow | undefined): Reconciliation | null {
  if (!row) return null;
  const { asks, tally, reasonCode, reasonData, ...run } = row;
  const reason = factOf(reasonCode, reasonData);
  const { proof, ...counted } = {
    ...emptyTally,
    ...(JSON.parse(tally) as Omit<Tally, 'proof'> & { proof: Fact | string | null }),
  };
  // An earlier version stored the proof as a sentence.
  const asFact = typeof proof === 'string' ? legacy(proof) : proof;
  return { ...run, reason, asks: JSON.parse(asks), tally: { ...counted, proof: asFact } } as Reconciliation;
}

/** Goes on with the comparison that was cut short and asks the same, unless `again`; else begins one. */
export async function openRun(
  tx: Tx,
  { subject, asks, total }: { subject: Subject; asks: ReconcileAsks; total: number },
  { actor, nowMs, again }: { actor: string; nowMs: number; again: boolean },
): Promise<Reconciliation> {
  const last = await lastRun(tx, subject);
  const isSame = last !== null && JSON.stringify(last.asks) === JSON.stringify(asks);
  if (last && isSame && !again && last.state !== 'done' && last.progressAt > nowMs - resumeWithinMs) {
    await tx.run("UPDATE reconciliation SET state='running', reason_code=NULL, reason_data=NULL WHERE id=?", [last.id]);
    return { ...last, state: 'running', reason: null };
  }
  const { code, data } = factColumns({ code: 'another_begun' });
  await tx.run(
    "UPDATE reconciliation SET state='stopped', reason_code=?, reason_data=? WHERE state='running' AND subject=?",
    [code, data, subject],
  );
  await forgetOldRuns(tx, subject);
  const phase: Phase = subject === 'invoices' ? 'list' : 'known';
  const tally: Tally = { ...emptyTally, total };
  const row = {
    subject,
    asks: JSON.stringify(asks),
    state: 'running',
    phase,
    position: null,
    ...factRow('reason', null),
    actor,
  };
  await insertRows(tx, 'reconciliation', [
    { ...row, tally: JSON.stringify(tally), started_at: nowMs, progress_at: nowMs, ended_at: null },
  ]);
  return (await lastRun(tx, subject)) as Reconciliation;
}

async function forgetOldRuns(tx: Tx, subject: Subject): Promise<void> {
  const rows = await tx.rows<{ id: number }>(
    `SELECT id FROM reconciliation WHERE subject=? ORDER BY id DESC LIMIT 100`,
    [subject],
  );
  const old = rows.slice(keptRuns - 1).map(({ id }) => id);
  if (old.length === 0) return;
  const list = placeholders(old.length);
  await tx.run(`DELETE FROM reconcile_finding WHERE run_id IN ${list}`, old);
  await tx.run(`DELETE FROM reconcile_day_sum WHERE run_id IN ${list}`, old);
  await tx.run(`DELETE FROM reconciliation WHERE id IN ${list}`, old);
}

/** Removes up to `limit` findings of older comparisons. @returns how many */
export async function pruneFindings(tx: Tx, before: Horizon, limit: number): Promise<number> {
  const where = 'run_id IN (SELECT r.id FROM reconciliation r WHERE r.progress_at<?) ORDER BY id';
  return deleteOldest(tx, { table: 'reconcile_finding', key: 'id', where, before }, limit);
}

/** Removes up to `limit` older comparisons that have no findings, with their sums. @returns how many */
export async function pruneRuns(tx: Tx, before: Horizon, limit: number): Promise<number> {
  const where =
    'progress_at<? AND NOT EXISTS (SELECT 1 FROM reconcile_finding f WHERE f.run_id=reconciliation.id) ORDER BY id';
  const removed = await deleteOldest(tx, { table: 'reconciliation', key: 'id', where, before }, limit);
  await tx.run('DELETE FROM reconcile_day_sum WHERE run_id NOT IN (SELECT r.id FROM reconciliation r)');
  return removed;
}

export async function lastRun(tx: Tx, subject: Subject): Promise<Reconciliation | null> {
  const sql = `SELECT ${columns} FROM reconciliation WHERE subject=? ORDER BY id DESC LIMIT 1`;
  return runOf((await tx.rows(sql, [subject]))[0]);
}

export async function readRun(tx: Tx, id: number): Promise<Reconciliation | null> {
  return runOf((await tx.rows(`SELECT ${columns} FROM reconciliation WHERE id=?`, [id]))[0]);
}

/** Comparisons that whoever talks to the service is asked to go on with. */
export async function runningRuns(tx: Tx): Promise<number[]> {
  const rows = await tx.rows<{ id: number }>("SELECT id FROM reconciliation WHERE state='running' ORDER BY id");
  return rows.map(({ id }) => id);
}

/** The results of a page of a comparison. */
export interface ComparedPage {
  findings: readonly NewFinding[];
  sums: readonly DaySum[];
  tally: Tally;
  phase: Phase;
  position: string | null;
}

/** Causes that are longer than their column, which every server but SQLite enforces, as they are stored. */
const storedAs: Readonly<Partial<Record<Cause, string>>> = { changed_unsendable: 'diff_unsendable' };

/** The value of the column for a cause. Pure. */
export const storedCause = (cause: Cause): string => storedAs[cause] ?? cause;

function causeOf(stored: string): Cause {
  const long = Object.entries(storedAs).find(([, short]) => short === stored)?.[0];
  return (long ?? stored) as Cause;
}

/** Keeps a page with where the comparison goes on, in one transaction: one that is killed counts nothing twice. */
export async function keepPage(tx: Tx, runId: number, page: ComparedPage, nowMs: number): Promise<void> {
  await insertRows(
    tx,
    'reconcile_finding',
    page.findings.map(({ fields, reason, ...one }) => ({
      runId,
      ...one,
      cause: storedCause(one.cause),
      ...factRow('reason', reason),
      fields: JSON.stringify(fields),
    })),
  );
  if (page.sums.length > 0) await keepSums(tx, runId, page.sums);
  const isEnded = page.phase === 'ended';
  await tx.run(
    'UPDATE reconciliation SET phase=?, position=?, tally=?, progress_at=?, state=CASE WHEN ?=1 THEN ? ELSE state END, ended_at=? WHERE id=?',
    [
      page.phase,
      page.position,
      JSON.stringify(page.tally),
      nowMs,
      isEnded ? 1 : 0,
      'done',
      isEnded ? nowMs : null,
      runId,
    ],
  );
}

async function keepSums(tx: Tx, runId: number, sums: readonly DaySum[]): Promise<void> {
  const days = [...new Set(sums.map(({ day }) => day))];
  const known = await listSums(tx, runId, days);
  const rows = addSums(known, sums).map(({ erpTotal, serviceTotal, ...sum }) => {
    return { runId, ...sum, erpTotal: `${erpTotal}`, serviceTotal: `${serviceTotal}` };
  });
  const { where, values } = ofDays(days);
  await tx.run(`DELETE FROM reconcile_day_sum WHERE run_id=?${where}`, [runId, ...values]);
  await insertRows(tx, 'reconcile_day_sum', rows);
}

/** Sums by day and currency, in their order; of these days, or of all. */
export async function listSums(tx: Tx, runId: number, days?: readonly (string | null)[]): Promise<DaySum[]> {
  const { where, values } = ofDays(days);
  const rows = await tx.rows(
    `SELECT day, currency, erp_records, erp_total, service_records, service_total FROM reconcile_day_sum
      WHERE run_id=?${where} ORDER BY COALESCE(day, ''), currency`,
    [runId, ...values],
  );
  return rows.map((row) => ({ ...row, erpTotal: BigInt(row.erpTotal), serviceTotal: BigInt(row.serviceTotal) }));
}

/** A condition on the sums: those of these days, null among them for records without one; undefined: all. */
function ofDays(days?: readonly (string | null)[]): { where: string; values: string[] } {
  if (days === undefined) return { where: '', values: [] };
  const values = days.filter((day) => day !== null);
  const some = [
    ...(values.length < days.length ? ['day IS NULL'] : []),
    ...(values.length > 0 ? [`day IN ${placeholders(values.length)}`] : []),
  ];
  return { where: ` AND (${some.join(' OR ')})`, values };
}

/** Findings after an id, in the order in which they were met; of these causes, or all. */
export async function listFindings(
  tx: Tx,
  runId: number,
  { afterId = 0, limit, causes }: { afterId?: number; limit: number; causes?: readonly Cause[] },
): Promise<(Finding & { id: number })[]> {
  const which = causes ? ` AND cause IN ${placeholders(causes.length)}` : '';
  const rows = await tx.rows(
    `SELECT id, kind, cause, entity, source_key, number, service_id, reason_code, reason_data, fields, day, currency, erp_total, service_total
       FROM reconcile_finding WHERE run_id=? AND id>?${which} ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [runId, afterId, ...(causes ?? []).map(storedCause)],
  );
  return rows.map(({ fields, reasonCode, reasonData, ...row }) => ({
    ...row,
    cause: causeOf(row.cause),
    reason: factOf(reasonCode, reasonData),
    fields: JSON.parse(fields),
  })) as (Finding & { id: number })[];
}

/** The number of findings of each cause. */
export async function countCauses(
  tx: Tx,
  runId: number,
): Promise<{ kind: FindingKind; cause: Cause; count: number }[]> {
  const rows = await tx.rows<{ kind: FindingKind; cause: string; count: number }>(
    'SELECT kind, cause, COUNT(*) AS count FROM reconcile_finding WHERE run_id=? GROUP BY kind, cause ORDER BY kind, cause',
    [runId],
  );
  return rows.map((row) => ({ ...row, cause: causeOf(row.cause) }));
}

/** Stops a comparison where it is. */
export async function stopRun(tx: Tx, id: number, reason: Fact, nowMs: number): Promise<void> {
  const { code, data } = factColumns(reason);
  await tx.run(
    "UPDATE reconciliation SET state='stopped', reason_code=?, reason_data=?, progress_at=? WHERE id=? AND state='running'",
    [code, data, nowMs, id],
  );
}

/** Erases the values that were compared of a record; that it was found stays known. */
export async function eraseFindings(tx: Tx, entity: Entity, sourceKey: string): Promise<void> {
  const { code, data } = factColumns({ code: 'finding_erased' });
  await tx.run(
    "UPDATE reconcile_finding SET fields='[]', reason_code=?, reason_data=? WHERE source_key=? AND entity=?",
    [code, data, sourceKey, entity],
  );
}
