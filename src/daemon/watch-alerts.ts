import { isDeepStrictEqual } from 'node:util';
import { firstAuditAt } from '../audit/audit-log.js';
import type { Settings } from '../config/settings.js';
import { heldDropCause, isDropHeld } from '../inbound/invoices/safety-limit.js';
import { setAsideCause } from '../inbound/invoices/set-aside.js';
import type { AlertFact } from '../model/facts/alerts.js';
import { inSource } from '../model/record.js';
import { isAnythingHeld, isOpenSql, type OpenRecord, oldestOpen } from '../operator/figures/bounded-counts.js';
import { withIsoTimes } from '../operator/format.js';
import { isOutdated, isPastForbiddenRead } from '../outbound/deliver/profile-notices.js';
import { quietMs } from '../outbound/deliver/quiet-hours.js';
import { areOrdersDoubted, forgottenKeysAlert } from '../outbound/recovery/forgotten-keys.js';
import { type Alert, type AlertCause, endAlert, raiseAlert } from '../store/alerts.js';
import { type JobRun, listJobRuns } from '../store/job-runs.js';
import { type LanePause, listPauses, pauseFact } from '../store/lane-pauses.js';
import { nodeTroubles } from '../store/node-troubles.js';
import { type NodeView, viewNodes } from '../store/nodes.js';
import type { Tx } from '../store/store.js';
import { plainData } from '../words/words.js';

/** The facts behind the causes below: one look at the store. */
export interface Circumstances {
  pauses: readonly LanePause[];
  /** Counted up to `manyParked`. */
  parked: number;
  /** The record that has been open longest. */
  oldest: OpenRecord | null;
  runs: readonly JobRun[];
  nodes: readonly NodeView[];
  /** Delivered orders that the service has no more since `goneDays` at most, and the key of one of them. */
  gone: { count: number; sourceKey: string | null };
  /** The oldest line of the audit, where nothing has succeeded yet: before it nothing can have. */
  firstAuditAt: number | null;
}

/** The thresholds of trouble. */
export type WatchSettings = Pick<Settings, 'alert' | 'schedule' | 'invoices'>;

interface Trouble {
  cause: AlertCause;
  message: AlertFact;
}

/** True if alerts of this cause are looked for here; all others are ended by the code that raises them. */
function isOwn(cause: string): boolean {
  const [kind, ...about] = cause.split('.');
  if (kind === 'capture' || kind === 'pull') return about.at(-1) === 'failing';
  return (
    kind === 'pause' ||
    kind === 'node' ||
    cause === 'parked' ||
    cause === 'orders.gone' ||
    cause === 'silence' ||
    cause === 'waiting'
  );
}

const manyParked = 10_000;
/** An alert ends after so long; `explain` and `status` still say it. */
const goneDays = 7;

const isAboutRows = (cause: string) => cause === setAsideCause;

/** Everything that needs a person now. Pure. */
export function troubles(now: Circumstances, settings: WatchSettings, nowMs: number): Trouble[] {
  const found: Trouble[] = [];
  const patienceMs = settings.alert.outageMinutes * 60_000;
  for (const pause of now.pauses) {
    if (!needsPerson(pause, patienceMs, nowMs)) continue;
    found.push({
      cause: `pause.${pause.lane}.${pause.cause}`,
      message: pauseFact(pause),
    });
  }
  if (now.parked > 0) {
    const isMore = now.parked > manyParked;
    found.push({
      cause: 'parked',
      message: { code: 'messages_parked', count: Math.min(now.parked, manyParked), isMore },
    });
  }
  const waits = longestWait(now.oldest, settings, nowMs);
  if (waits) found.push({ cause: 'waiting', message: waits });
  for (const run of now.runs) {
    const [job, source] = run.job.split('.');
    if ((job !== 'capture' && job !== 'pull') || run.failures < settings.alert.failuresInRow) continue;
    const { failures, failingSince, failure } = run;
    found.push({
      cause: `${inSource(job, source)}.failing`,
      message: { code: 'job_failing', job, source: source ?? null, failures, failingSince, failure },
    });
  }
  found.push(...nodeTroubles(now.nodes).map(({ cause, message }) => ({ cause, message })));
  const { count, sourceKey } = now.gone;
  if (sourceKey !== null) found.push({ cause: 'orders.gone', message: { code: 'orders_gone', count, sourceKey } });
  const silent = silence(now, settings, nowMs);
  if (silent) found.push({ cause: 'silence', message: silent });
  return found;
}

/** The alert that a record has been open for too long, in whatever state, quiet hours left out, or null. Pure. */
export function longestWait(
  oldest: OpenRecord | null,
  { alert, schedule }: Pick<WatchSettings, 'alert' | 'schedule'>,
  nowMs: number,
): AlertFact | null {
  if (oldest === null) return null;
  const { entity, sourceKey, capturedAt: since } = oldest;
  const mostMs = alert.maxSilenceHours * 3_600_000;
  if (nowMs - since <= mostMs) return null;
  const quiet = quietMs(schedule.quietHours, ['deliver'], schedule.timeZone, { fromMs: since, toMs: nowMs });
  if (nowMs - since - quiet <= mostMs) return null;
  return { code: 'record_waits', entity, sourceKey, hours: Math.floor((nowMs - since) / 3_600_000) };
}

/** The alert that nothing at all has succeeded for too long, quiet hours left out, or null. Pure. */
export function silence(
  { runs, firstAuditAt }: Pick<Circumstances, 'runs' | 'firstAuditAt'>,
  { alert, schedule, invoices }: WatchSettings,
  nowMs: number,
): AlertFact | null {
  const last = lastSuccess(runs);
  const since = last ?? firstAuditAt;
  const mostMs = alert.maxSilenceHours * 3_600_000;
  if (since === null || nowMs - since <= mostMs) return null;
  const lanes = invoices.enabled ? (['deliver', 'pull'] as const) : (['deliver'] as const);
  const quiet = quietMs(schedule.quietHours, lanes, schedule.timeZone, { fromMs: since, toMs: nowMs });
  if (nowMs - since - quiet <= mostMs) return null;
  const hours = Math.floor((nowMs - since) / 3_600_000);
  return { code: 'nothing_succeeds', hours, lastSuccess: last };
}

/** A prune is no sign that records or invoices are carried. Pure. */
function lastSuccess(runs: readonly JobRun[]): number | null {
  const succeeded = runs.flatMap((run) => (run.succeededAt === null || run.job === 'prune' ? [] : [run.succeededAt]));
  return succeeded.length > 0 ? Math.max(...succeeded) : null;
}

function needsPerson(pause: LanePause, patienceMs: number, nowMs: number): boolean {
  switch (pause.cause) {
    // The person who paused it knows.
    case 'operator':
      return false;
    case 'outage':
      return nowMs - pause.since_at >= patienceMs;
    // "Come back in two seconds" is routine; "at four o'clock" is not.
    case 'throttled':
    case 'limit':
      return pause.until_at !== null && pause.until_at > nowMs && pause.until_at - pause.since_at >= patienceMs;
    default:
      return pause.until_at === null || pause.until_at > nowMs;
  }
}

async function readCircumstances(tx: Tx, nowMs: number): Promise<Circumstances> {
  const [counts] = await tx.rows<{ parked: number; waiting: number; gone: number; sourceKey: string | null }>(
    `SELECT COUNT(*) AS gone, MAX(source_key) AS source_key,
            (SELECT COUNT(*) FROM (SELECT id FROM outbox_message WHERE state='parked' LIMIT ${manyParked + 1}) AS p) AS parked,
            (SELECT COUNT(*) FROM (SELECT id FROM outbox_message WHERE ${isOpenSql} LIMIT 1) AS o) AS waiting
       FROM binding WHERE entity='order' AND read_state='gone' AND gone_at>?`,
    [nowMs - goneDays * 86_400_000],
  );
  const runs = await listJobRuns(tx);
  return {
    pauses: await listPauses(tx),
    parked: counts?.parked ?? 0,
    oldest: counts?.waiting ? await oldestOpen(tx) : null,
    runs,
    nodes: await viewNodes(tx),
    gone: { count: counts?.gone ?? 0, sourceKey: counts?.sourceKey ?? null },
    firstAuditAt: lastSuccess(runs) === null ? await firstAuditAt(tx) : null,
  };
}

/** The data of an alert for programs: times in ISO 8601, texts and parts in words. */
export function detailsOf({ message }: Pick<Alert, 'message'>): { [name: string]: unknown } {
  return withIsoTimes(plainData(message), 'UTC') as { [name: string]: unknown };
}

/** The difference between the open alerts and the troubles found. Pure. */
export function compareAlerts(
  found: readonly Trouble[],
  open: readonly Alert[],
): { raise: readonly Trouble[]; end: string[] } {
  const causes = new Set<string>(found.map(({ cause }) => cause));
  const known = new Map(open.map((alert) => [alert.cause, alert]));
  return {
    raise: found.filter(({ cause, message }) => !isDeepStrictEqual(known.get(cause)?.message, message)),
    end: open.map(({ cause }) => cause).filter((cause) => isOwn(cause) && !causes.has(cause)),
  };
}

/**
 * Brings the alerts in line with how things are. @param open those that are not over
 * @returns what to write, or null when nothing has changed
 */
export async function alertChanges(
  tx: Tx,
  settings: WatchSettings & Pick<Settings, 'service'>,
  nowMs: number,
  open: readonly Alert[],
) {
  const changes = compareAlerts(troubles(await readCircumstances(tx, nowMs), settings, nowMs), open);
  // Held messages may have been taken back in the ERP or discarded; then there is nothing left to confirm.
  for (const { cause } of open) {
    const [kind, entity, source] = cause.split('.');
    if (kind === 'held' && (entity === 'customer' || entity === 'order') && !(await isAnythingHeld(tx, entity, source)))
      changes.end.push(cause);
  }
  if (open.some(({ cause }) => cause === heldDropCause) && !(await isDropHeld(tx))) changes.end.push(heldDropCause);
  // No pull ends it any more.
  if (!settings.invoices.enabled) changes.end.push(...open.map(({ cause }) => cause).filter(isAboutRows));
  if (open.some(({ cause }) => cause === forgottenKeysAlert) && !(await areOrdersDoubted(tx)))
    changes.end.push(forgottenKeysAlert);
  changes.end.push(
    ...open
      .filter((alert) => isOutdated(alert, settings.service) || isPastForbiddenRead(alert, nowMs))
      .map(({ cause }) => cause),
  );
  return changes.raise.length + changes.end.length > 0 ? changes : null;
}

export async function writeAlertChanges(
  tx: Tx,
  changes: { raise: readonly Trouble[]; end: readonly string[] },
  nowMs: number,
): Promise<void> {
  for (const { cause, message } of changes.raise) await raiseAlert(tx, cause, message, nowMs);
  for (const cause of changes.end) await endAlert(tx, cause, nowMs);
}
