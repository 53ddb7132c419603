import { firstAuditAt, lastEventAt, startedDaemons } from '../audit/audit-log.js';
import type { ServiceSettings } from '../config/sections/service.js';
import type { Settings } from '../config/settings.js';
import { countListedInvoices, listHeldInvoices } from '../inbound/invoices/list-invoices.js';
import { lastPull, unprovenSince } from '../inbound/invoices/pull-record.js';
import { countReadBack } from '../inbound/orders/order-reads.js';
import { readWebhookStatus } from '../inbound/webhooks/webhook-status.js';
import { countRefusals, listWriteBack } from '../inbound/write-back/write-back-state.js';
import { sourceNames } from '../model/record.js';
import { writeBackKinds } from '../model/write-back.js';
import { doubtInWords as clockDoubtInWords } from '../operator/clock-doubt.js';
import { countOutboxUpTo, oldestOpen } from '../operator/figures/bounded-counts.js';
import { readSeries } from '../operator/figures/read-figures.js';
import { countOutbox, groupMessages } from '../operator/list-messages.js';
import { goLiveProblem } from '../outbound/deliver/go-live.js';
import { isOutdated } from '../outbound/deliver/profile-notices.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { countAdoptions } from '../outbound/outbox/adoptions.js';
import { firstSentBefore, keyLifetimeMs } from '../outbound/outbox/idempotency-key.js';
import { openAlerts } from '../store/alerts.js';
import { readClockDoubt } from '../store/elapsed-time.js';
import { type JobRun, listJobRuns, readCursor, readHolds } from '../store/job-runs.js';
import { listPauses } from '../store/lane-pauses.js';
import { readLease } from '../store/lease.js';
import { byThisClock, viewNodes } from '../store/nodes.js';
import type { Tx } from '../store/store.js';
import { tellGroup } from '../words/words.js';
import { detailsOf, longestWait, silence } from './watch-alerts.js';

/** The kind of credential in use; never the credential itself. */
export function credentialInWords(service: Pick<ServiceSettings, 'credential' | 'tls' | 'proxy'>): string {
  const { tls, proxy } = service;
  const kind = kindInWords(service.credential);
  const certificate = service.credential.kind !== 'certificate' && tls.certificateFile ? ', client certificate' : '';
  return `${kind}${certificate}${proxy ? `, through ${proxy.url}` : ''}`;
}

/** The consequence of an unknown lifetime of the keys; null: it is known. */
export function doubtInWords({ idempotency }: Pick<ServiceSettings, 'idempotency'>): string | null {
  if (idempotency.lifetimeHours !== undefined) return null;
  return 'service.idempotency.lifetimeHours is not set: a create whose outcome is unknown is not sent again, but looked up or parked';
}

function kindInWords(credential: ServiceSettings['credential']): string {
  switch (credential.kind) {
    case 'bearer':
      return 'bearer token';
    case 'apiKey':
      return `API key in ${credential.header}${credential.scheme ? ` after ${credential.scheme}` : ''}`;
    case 'oauth':
      return `OAuth 2.0 client ${credential.clientId} of ${credential.tokenUrl}`;
    case 'certificate':
      return 'client certificate';
  }
}

export type Status = Awaited<ReturnType<typeof readStatus>>;

const topReasons = 5;

/**
 * The state of Waybill, from one look at the store. Reads only.
 * @param most how many messages of a kind are counted: a page that is looked at all day must not read millions of rows
 */
export async function readStatus(tx: Tx, settings: Settings, erpIdentity: string, nowMs: number, most = Infinity) {
  const isBounded = Number.isFinite(most);
  const pauses = [...(await listPauses(tx)), ...new QuietClock(settings.schedule).pauses(nowMs)];
  const runs = await listJobRuns(tx);
  const silent = silence({ runs, firstAuditAt: await firstAuditAt(tx) }, settings, nowMs);
  return {
    environment: settings.service.environment,
    installation: settings.installation,
    service: settings.service.baseUrl,
    /** The kind of credential in use, in words. */
    credential: credentialInWords(settings.service),
    /** Why nothing is delivered yet, or null. */
    notLive: await goLiveProblem(tx, settings, erpIdentity),
    lease: await readLease(tx, 'service'),
    /** Nodes that deliver together, and those that were there lately. */
    nodes: (await viewNodes(tx)).map((node) => byThisClock(node, nowMs)),
    /** Daemons that started and did not say that they stopped: the holder, standbys, and daemons that were killed. */
    daemons: await startedDaemons(tx, 5),
    /** In force now. An outage stays on record, and only probes go out, until the service answers. */
    pauses: pauses.filter((p) => p.cause === 'outage' || p.until_at === null || p.until_at > nowMs),
    outbox: isBounded ? await countOutboxUpTo(tx, most) : await countOutbox(tx),
    /** Creates that may have arrived, and are looked up again later. */
    lookUps: await countLookUpsAhead(tx, settings.service, nowMs, Math.min(most, mostLookUps)),
    /** Records that the service had already; `open`: with differences that await review. */
    adopted: await countAdoptions(tx),
    /** Sources whose updates and removals are all held, until a person says `waybill confirm` or the cause is gone. */
    holds: await readHolds(tx),
    /** Invoices that a hold keeps on the list, until a person says `waybill confirm invoices` or pulls meet them. */
    heldInvoices: (await listHeldInvoices(tx, 1)).count,
    /** Why messages are parked, the most frequent reasons first. */
    parkedReasons: isBounded
      ? []
      : (await groupMessages(tx, { states: ['parked'] }, 'reason', topReasons)).map(tellGroup),
    cursors: { customer: await readCursor(tx, 'customer'), order: await readCursor(tx, 'order') },
    /** The reading of each named source, with its last passes. */
    sources: await readSources(tx, settings, runs),
    lastPull: await lastPull(tx),
    unpaidInvoices: await countListedInvoices(tx),
    /** null: orders can not be read at the service (service.endpoints.readOrder), or are not counted. */
    readBack: settings.service.endpoints.readOrder && !isBounded ? await countReadBack(tx) : null,
    lastDeliveryAt: runs.find(({ job }) => job === 'deliver')?.succeededAt ?? (await lastEventAt(tx, 'delivered')),
    /** The work of the last hour; null: nothing counted. */
    lastHour: (await readSeries(tx, 'hour', nowMs, settings.erp.timeZone)).all,
    /** The alerts that need a person, the oldest first. */
    alerts: (await openAlerts(tx))
      .filter((alert) => !isOutdated(alert, settings.service))
      .map((alert) => ({ ...alert, details: detailsOf(alert) })),
    runs,
    /** null: webhooks are not listened for. */
    webhooks: settings.webhooks.enabled ? await readWebhookStatus(tx) : null,
    /** The kinds that are written back into the ERP, and their success; empty if it is off. */
    writeBack: await writeBackStatus(tx, settings),
    /** Why nothing is pruned by the clock as it is, or null. */
    retentionWaits: await readRetentionWait(tx, nowMs),
    /** The alert that nothing at all has succeeded for too long, or null. */
    silence: silent,
    /** The alert that a record has been open for too long, in whatever state, or null. */
    waiting: longestWait(await oldestOpen(tx, most), settings, nowMs),
    /** The alert that no pull was proven for too long, or null. */
    unproven: settings.invoices.enabled ? unprovenInWords(await unprovenSince(tx), settings.alert, nowMs) : null,
  };
}

async function readRetentionWait(tx: Tx, nowMs: number): Promise<string | null> {
  const doubt = await readClockDoubt(tx, nowMs);
  return doubt && clockDoubtInWords(doubt);
}

/** Each is read, so that no more are counted. */
const mostLookUps = 10_000;

/** @returns `untilAt`: when the last of them is due; null: there is none */
async function countLookUpsAhead(
  tx: Tx,
  service: Pick<ServiceSettings, 'idempotency'>,
  nowMs: number,
  most: number,
): Promise<{ count: number; untilAt: number | null }> {
  const [found] = await tx.rows<{ count: number; untilAt: number | null }>(
    `SELECT COUNT(*) AS count, MAX(next_attempt_at) AS until_at FROM
       (SELECT next_attempt_at FROM outbox_message
         WHERE state='in_doubt' AND operation='create' AND ${firstSentBefore} AND next_attempt_at>? LIMIT ${Math.trunc(most)}) AS s`,
    [nowMs - keyLifetimeMs(service), nowMs],
  );
  return found ?? { count: 0, untilAt: null };
}

async function readSources(tx: Tx, settings: Settings, runs: readonly JobRun[]) {
  const sources: { name: string; order: Cursor; customer: Cursor; run: JobRun | null }[] = [];
  for (const name of sourceNames(settings).slice(1)) {
    const [order, customer] = [await readCursor(tx, `order.${name}`), await readCursor(tx, `customer.${name}`)];
    sources.push({ name, order, customer, run: runs.find(({ job }) => job === `capture.${name}`) ?? null });
  }
  return sources;
}

type Cursor = Awaited<ReturnType<typeof readCursor>>;

function unprovenInWords(since: number | null, { maxSilenceHours }: Settings['alert'], nowMs: number): string | null {
  if (since === null || nowMs - since < maxSilenceHours * 3_600_000) return null;
  const hours = Math.floor((nowMs - since) / 3_600_000);
  return `no pull has proven the list of invoices for ${hours} h, so paid invoices may still be listed. "Last pull" in \`waybill status\` says why.`;
}

async function writeBackStatus(tx: Tx, { writeBack }: Settings) {
  if (!writeBack.enabled) return [];
  const progress = await listWriteBack(tx);
  const refusals = await countRefusals(tx);
  return writeBackKinds
    .filter((kind) => writeBack[kind].enabled)
    .map((kind) => {
      const known = progress.find((one) => one.kind === kind);
      return {
        kind,
        /** When a pass last came to its end without a failure. */
        succeededAt: known?.succeededAt ?? null,
        /** Everything is compared or written for the first time. */
        sweeps: known === undefined || known.sweep !== null,
        /** Records that the ERP refuses. */
        refused: refusals.find((one) => one.kind === kind)?.count ?? 0,
        /** Why the last passes failed, since when, and when it is tried again. */
        failing: known?.failure
          ? { reason: known.failure, sinceAt: known.failingSince, nextTryAt: known.nextTryAt }
          : null,
      };
    });
}
