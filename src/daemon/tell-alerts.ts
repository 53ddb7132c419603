import { appendAudit } from '../audit/audit-log.js';
import { doubledMs } from '../model/backoff.js';
import type { JobContext } from '../ops/job-context.js';
import { type Alert, isToTell, markTold, postponeAlert, unfinishedAlerts, untoldAlerts } from '../store/alerts.js';
import type { Lease } from '../store/lease.js';
import { tell as tellFact, tellWhole } from '../words/words.js';
import { alertChanges, detailsOf, writeAlertChanges } from './watch-alerts.js';

/** A notice for the alert command: once when a cause appears, and once when it is over. Times are ISO 8601 in UTC. */
export interface AlertNotice {
  cause: string;
  message: string;
  state: 'raised' | 'over';
  /** When that happened. */
  at: string;
  installation: string;
  environment: string;
  /** Since when it has been so, or had been. */
  since: string;
  /** The kind of trouble; `details` are its data. */
  code: string;
  details: { [name: string]: unknown };
}

/** Tells a person; throws when that failed. */
export type TellAlert = (notice: AlertNotice, signal: AbortSignal) => Promise<void>;

const maxRetryMs = 3_600_000;
const atOnce = 20;

/**
 * Brings the alerts up to date and tells those that were not told yet. Runs beside delivery and never in its way. Each notice is
 * claimed before it is told, so that a successor does not tell it at the same time; after a crash between telling and
 * recording that, it is told twice.
 * @param tell null without an alert command and webhook; alerts are still kept, shown by `status`, and audited
 */
export async function lookAfterAlerts(
  context: JobContext,
  lease: Lease,
  tell: TellAlert | null,
  signal: AbortSignal,
): Promise<void> {
  const { store, settings, nowMs } = context;
  const { changes, isUntold } = await store.read('look for trouble', async (tx) => {
    const alerts = await unfinishedAlerts(tx);
    const open = alerts.filter(({ overAt }) => overAt === null);
    return { changes: await alertChanges(tx, settings, nowMs(), open), isUntold: alerts.some(isToTell) };
  });
  if (changes) await lease.write('note the alerts', (tx) => writeAlertChanges(tx, changes, nowMs()));
  if (!changes && !isUntold) return;
  for (const alert of await store.read('look for alerts to tell', (tx) => untoldAlerts(tx, nowMs(), atOnce))) {
    if (signal.aborted) return;
    await tellOne(context, lease, alert, tell, signal);
  }
}

async function tellOne(
  context: JobContext,
  lease: Lease,
  alert: Alert,
  tell: TellAlert | null,
  signal: AbortSignal,
): Promise<void> {
  const { settings, actor, log, nowMs } = context;
  // An alert that was over before it was told is told in order: first that it began, then that it is over.
  const state = alert.raisedToldAt === null ? 'raised' : 'over';
  let failure: string | null = null;
  if (tell) {
    await lease.write('claim an alert', (tx) =>
      postponeAlert(tx, alert.id, nowMs() + settings.alert.timeoutSeconds * 1000 + 5_000, alert.tries),
    );
    try {
      await tell(noticeOf(context, alert, state), signal);
    } catch (error) {
      failure = (error as Error).message;
    }
  } else if (state === 'raised') log.error(tellWhole(alert.message), { alert: alert.cause });
  else log.info(`Over: ${tellFact(alert.message)}`, { alert: alert.cause });
  // A telling that our own stop cut short has not failed: the next start tells it at once.
  if (failure !== null && !signal.aborted)
    log.error('Telling of an alert failed; trying again later', { alert: alert.cause, state, error: failure });
  await lease.write('note who was told', async (tx) => {
    const at = nowMs();
    if (failure === null) {
      await markTold(tx, alert.id, state, at);
      const detail = { cause: alert.cause, message: alert.message, told: tell !== null };
      await appendAudit(tx, { event: 'alert', outcome: state, actor, detail }, at);
    } else if (signal.aborted) await postponeAlert(tx, alert.id, at, alert.tries);
    else
      await postponeAlert(tx, alert.id, at + retryDelayMs(alert.tries, settings.alert.retrySeconds), alert.tries + 1);
  });
}

/** Wait after a failed try: doubled with each, up to an hour. Pure. */
export function retryDelayMs(triesBefore: number, retrySeconds: number): number {
  const baseMs = retrySeconds * 1000;
  return doubledMs(triesBefore + 1, { baseMs, maxMs: Math.max(baseMs, maxRetryMs) });
}

function noticeOf({ settings }: JobContext, alert: Alert, state: AlertNotice['state']): AlertNotice {
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    cause: alert.cause,
    message: tellWhole(alert.message),
    state,
    at: iso(state === 'over' ? (alert.overAt ?? alert.sinceAt) : alert.sinceAt),
    installation: settings.installation,
    environment: settings.service.environment,
    since: iso(alert.sinceAt),
    code: alert.message.code,
    details: detailsOf(alert),
  };
}
