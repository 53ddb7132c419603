import { upsertRows } from './rows.js';
import type { Tx } from './store.js';

export type RecordedJob = 'capture' | 'deliver' | 'pull' | 'prune';

/** How the last runs of a job went. */
export interface JobRun {
  job: RecordedJob;
  /** When it last succeeded; for `deliver`, when a record was last acknowledged. */
  succeededAt: number | null;
  /** Failures in a row since then. */
  failures: number;
  failingSince: number | null;
  /** What went wrong last. */
  failure: string | null;
}

export async function recordSuccess(tx: Tx, job: RecordedJob, nowMs: number): Promise<void> {
  const row = { job, succeeded_at: nowMs, failures: 0, failing_since: null, failure: null };
  await upsertRows(tx, 'job_run', ['job'], [row]);
}

export async function recordFailure(tx: Tx, job: RecordedJob, failure: string, nowMs: number): Promise<void> {
  const before = (await listJobRuns(tx)).find((run) => run.job === job);
  const row = {
    job,
    succeeded_at: before?.succeededAt ?? null,
    failures: (before?.failures ?? 0) + 1,
    failing_since: before?.failingSince ?? nowMs,
    failure,
  };
  await upsertRows(tx, 'job_run', ['job'], [row]);
}

export async function listJobRuns(tx: Tx): Promise<JobRun[]> {
  return tx.rows('SELECT job, succeeded_at, failures, failing_since, failure FROM job_run ORDER BY job');
}

/** A job that another process may ask the daemon to run now. */
type WakeableJob = 'capture' | 'pull' | 'webhooks';

export async function requestWakeUp(tx: Tx, job: WakeableJob, actor: string, nowMs: number): Promise<void> {
  await upsertRows(tx, 'wake_up', ['job'], [{ job, requested_at: nowMs, actor }]);
}

/** Takes every request; the caller runs the jobs. */
export async function takeWakeUps(tx: Tx): Promise<{ job: WakeableJob; actor: string }[]> {
  const rows = await tx.rows<{ job: WakeableJob; actor: string }>('SELECT job, actor FROM wake_up');
  if (rows.length > 0) await tx.run('DELETE FROM wake_up');
  return rows;
}
