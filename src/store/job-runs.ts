import type { Fact } from '../model/facts/fact.js';
import type { SourceFact } from '../model/facts/records.js';
import { defaultSource, type Entity, type InSource } from '../model/record.js';
import { factColumns, factOf, factRow } from './fact-columns.js';
import { placeholders, type Row, upsertRows } from './rows.js';
import type { Tx } from './store.js';

export type RecordedJob = InSource<'capture'> | 'deliver' | 'pull' | 'prune';

/** The last runs of a job. */
export interface JobRun {
  job: RecordedJob;
  /** When it last succeeded; for `deliver`, when a record was last acknowledged. */
  succeededAt: number | null;
  /** Failures in a row since then. */
  failures: number;
  failingSince: number | null;
  /** The last failure. */
  failure: Fact | null;
}

export async function recordSuccess(tx: Tx, job: RecordedJob, nowMs: number): Promise<void> {
  const row = { job, succeeded_at: nowMs, failures: 0, failing_since: null, ...factRow('failure', null) };
  await upsertRows(tx, 'job_run', ['job'], [row]);
}

export async function recordFailure(tx: Tx, job: RecordedJob, failure: Fact, nowMs: number): Promise<void> {
  const before = (await listJobRuns(tx)).find((run) => run.job === job);
  const row = {
    job,
    succeeded_at: before?.succeededAt ?? null,
    failures: (before?.failures ?? 0) + 1,
    failing_since: before?.failingSince ?? nowMs,
    ...factRow('failure', failure),
  };
  await upsertRows(tx, 'job_run', ['job'], [row]);
}

export async function listJobRuns(tx: Tx): Promise<JobRun[]> {
  const rows = await tx.rows(
    'SELECT job, succeeded_at, failures, failing_since, failure_code, failure_data FROM job_run ORDER BY job',
  );
  return rows.map(({ failureCode, failureData, ...run }) => ({ ...run, failure: factOf(failureCode, failureData) }));
}

/** A job that another process may ask the daemon to run now. */
type WakeableJob = 'capture' | 'pull' | 'webhooks' | 'reconcile' | 'questions';

export async function requestWakeUp(tx: Tx, job: WakeableJob, actor: string, nowMs: number): Promise<void> {
  await upsertRows(tx, 'wake_up', ['job'], [{ job, requested_at: nowMs, actor }]);
}

/** Events that a daemon looks for all the time beside its messages: requests of other processes, and a refused credential. */
export type Ask = 'wake-up' | 'credential';

/** Rows of `ask` and `at`, so that one statement can ask for more. */
export const asks = `SELECT 'wake-up' AS ask, 0 AS at FROM wake_up
  UNION ALL SELECT 'credential', 0 FROM lane_pause WHERE cause='credential'`;

export async function readAsks(tx: Tx): Promise<Ask[]> {
  return (await tx.select<{ ask: Ask }>(asks)).map(({ ask }) => ask);
}

/** True if a comparison of both sides waits for the process that talks to the service: an earlier one may have been killed. */
export async function isComparisonOpen(tx: Tx): Promise<boolean> {
  return (await tx.value<number>("SELECT id FROM reconciliation WHERE state='running' LIMIT 1")) !== undefined;
}

/** Takes every request; the caller runs the jobs. */
export async function takeWakeUps(tx: Tx): Promise<{ job: WakeableJob; actor: string }[]> {
  const rows = await tx.rows<{ job: WakeableJob; actor: string }>('SELECT job, actor FROM wake_up');
  if (rows.length > 0) await tx.run('DELETE FROM wake_up');
  return rows;
}

/** The entity, and the source where it has a name. */
export type CursorName = InSource<Entity>;

export interface CaptureCursor {
  /** The change cursor as the ERP wrote it; null before the first pass. */
  changedAt: string | null;
  /** When everything eligible was read for the last time; null: never. */
  sweptAt: number | null;
}

export async function readCursor(tx: Tx, name: CursorName): Promise<CaptureCursor> {
  return (await readNotedCursor(tx, name)).cursor;
}

/** `column`: hash of the name of the column that the cursor is a value of; null before the first pass of a version that notes it. */
export async function readNotedCursor(
  tx: Tx,
  name: CursorName,
): Promise<{ cursor: CaptureCursor; column: string | null }> {
  const [row] = await tx.rows<CaptureCursor & { mappingFingerprint: string | null }>(
    'SELECT changed_at, swept_at, mapping_fingerprint FROM capture_cursor WHERE name=?',
    [name],
  );
  const cursor = { changedAt: row?.changedAt ?? null, sweptAt: row?.sweptAt ?? null };
  return { cursor, column: row?.mappingFingerprint ?? null };
}

/** Reading by one column says nothing of another: cursor and marks begin anew with it, and everything is read. */
export async function changeCursorColumn(tx: Tx, name: CursorName, column: string): Promise<void> {
  const anew = { changed_at: null, high_changed_at: null, swept_at: null, sweep_begun_at: null };
  await upsertRows(tx, 'capture_cursor', ['name'], [{ name, mapping_fingerprint: column, ...anew }]);
}

/** In a store that did not note it yet. */
export async function noteCursorColumn(tx: Tx, name: CursorName, column: string): Promise<void> {
  await upsertRows(tx, 'capture_cursor', ['name'], [{ name, mapping_fingerprint: column }]);
}

/** `sweptAt` is left out by a pass that read only what changed. */
export async function writeCursor(
  tx: Tx,
  name: CursorName,
  { changedAt, sweptAt }: Pick<CaptureCursor, 'changedAt'> & Partial<CaptureCursor>,
): Promise<void> {
  const row: Row = { name, changed_at: changedAt };
  if (sweptAt !== undefined) row.swept_at = sweptAt;
  await upsertRows(tx, 'capture_cursor', ['name'], [row]);
}

/** Scans that began then have read all changes, or everything, of an entity. */
export async function noteScans(tx: Tx, ended: ReadonlyMap<CursorName, number>): Promise<void> {
  const rows = [...ended].map(([name, startedAt]) => ({ name, scanned_at: startedAt }));
  await upsertRows(tx, 'capture_cursor', ['name'], rows);
}

/** Tells whether any message waits to be sent, or for a person. */
export async function isAnythingWaiting(tx: Tx): Promise<boolean> {
  const sql = `SELECT CASE WHEN EXISTS (SELECT 1 FROM outbox_message WHERE state='pending')
      OR EXISTS (SELECT 1 FROM outbox_message WHERE state='parked') THEN 1 ELSE 0 END`;
  return (await tx.value<number>(sql)) === 1;
}

/** When the last completed scan of each entity and source began. */
export async function readScans(tx: Tx): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.rows<{ name: string; scannedAt: number }>(
    'SELECT name, scanned_at FROM capture_cursor WHERE scanned_at IS NOT NULL',
  );
  return new Map(rows.map(({ name, scannedAt }) => [name, scannedAt]));
}

/** Notes that a sweep begins: only a request from now on asks for another one (`isSweepAsked`). */
export async function beginSweep(tx: Tx, name: CursorName, nowMs: number): Promise<void> {
  await upsertRows(tx, 'capture_cursor', ['name'], [{ name, sweep_begun_at: nowMs }]);
}

/** Tells whether a sweep was asked for after the last one began. */
export async function isSweepAsked(tx: Tx, name: CursorName): Promise<boolean> {
  // The lock waits for a request that is being written at this moment.
  return (await tx.value(`SELECT sweep_begun_at FROM capture_cursor WHERE name=?${tx.forUpdate}`, [name])) === null;
}

/** Makes the next pass over each source read everything eligible, to compare what no change in the ERP announces. */
export async function sweepAtNextPass(tx: Tx, entity: Entity): Promise<void> {
  await tx.run('UPDATE capture_cursor SET swept_at=NULL, sweep_begun_at=NULL WHERE name=? OR name LIKE ?', [
    entity,
    `${entity}.%`,
  ]);
}

/** Names of the sources that were captured from so far; the default one comes first. */
export async function capturedSources(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ name: string }>("SELECT name FROM capture_cursor WHERE name LIKE '%.%' ORDER BY name");
  return [...new Set([defaultSource, ...rows.map(({ name }) => name.split('.')[1] ?? defaultSource)])];
}

/** The end of a source's last reading, and its problems. */
export interface SourceMarks {
  highChangedAt: string | null;
  highKey: string | null;
  /** Rows that the last sweep read; null: never swept. */
  sweptRows: number | null;
  /** Null: nothing is wrong. */
  hold: SourceFact | null;
}

export async function readMarks(tx: Tx, name: CursorName): Promise<SourceMarks> {
  return (await readMarksOf(tx, [name]))[0] as SourceMarks;
}

/** @returns in the order of the names */
export async function readMarksOf(tx: Tx, names: readonly CursorName[]): Promise<SourceMarks[]> {
  const rows = await tx.rows(
    `SELECT name, high_changed_at, high_key, swept_rows, brake_code, brake_data FROM capture_cursor
      WHERE name IN ${placeholders(names.length)}`,
    names,
  );
  return names.map((wanted) => {
    const row = rows.find(({ name }) => name === wanted);
    if (!row) return { highChangedAt: null, highKey: null, sweptRows: null, hold: null };
    const { name, brakeCode, brakeData, ...marks } = row;
    return { ...marks, hold: factOf<SourceFact>(brakeCode, brakeData) };
  });
}

export async function writeMarks(tx: Tx, name: CursorName, marks: SourceMarks): Promise<void> {
  const row = {
    name,
    high_changed_at: marks.highChangedAt,
    high_key: marks.highKey,
    swept_rows: marks.sweptRows,
    ...factRow('brake', marks.hold),
  };
  await upsertRows(tx, 'capture_cursor', ['name'], [row]);
}

export async function readHolds(tx: Tx): Promise<{ entity: Entity; source?: string; reason: SourceFact }[]> {
  const rows = await tx.rows<{ name: CursorName; brakeCode: string; brakeData: string }>(
    'SELECT name, brake_code, brake_data FROM capture_cursor WHERE brake_code IS NOT NULL ORDER BY name',
  );
  return rows.map(({ name, brakeCode, brakeData }) => {
    const reason = factOf<SourceFact>(brakeCode, brakeData) as SourceFact;
    const [entity = '', source] = name.split('.');
    return { entity: entity as Entity, ...(source && { source }), reason };
  });
}

/**
 * A person looked: the source is right as it is. The next pass takes its marks anew, and reads all that was passed over while the
 * hold stood. @param shown the reason that the person saw: what came since is another question
 */
export async function clearHold(tx: Tx, name: CursorName, shown: SourceFact): Promise<boolean> {
  // The lock waits for a pass that puts another hold on at this moment.
  const [row] = await tx.rows<{ brakeCode: string | null; brakeData: string | null }>(
    `SELECT brake_code, brake_data FROM capture_cursor WHERE name=?${tx.forUpdate}`,
    [name],
  );
  const { code, data } = factColumns(factOf(row?.brakeCode ?? null, row?.brakeData ?? null));
  const same = factColumns(shown);
  if (code !== same.code || data !== same.data) return false;
  const cleared = await tx.run(
    `UPDATE capture_cursor SET brake_code=NULL, brake_data=NULL, high_changed_at=NULL, high_key=NULL, swept_rows=NULL,
            swept_at=NULL, sweep_begun_at=NULL WHERE name=?`,
    [name],
  );
  return cleared > 0;
}
