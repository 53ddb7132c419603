import { type AuditEntry, appendAudit } from '../audit/audit-log.js';
import type { ErpPage, ReadCustomer, ReadOrder } from '../erp/erp-reader.js';
import type { Entity } from '../model/entity.js';
import type { OrderRecord } from '../model/record.js';
import { changedIdentity, holdReason } from '../outbox/brake.js';
import { canonicalJson, sha256 } from '../outbox/canonical-json.js';
import {
  acknowledgedRecords,
  insertMessages,
  type KnownRecord,
  knownRecords,
  type NewMessage,
  supersedeMessages,
} from '../outbox/capture-messages.js';
import { changedFields } from '../outbox/confirm-messages.js';
import { afterThisPass } from '../outbox/hold-messages.js';
import { createKey } from '../outbox/idempotency-key.js';
import { forcedRevision, nextRevision } from '../outbox/next-revision.js';
import { writeCursor } from '../store/cursors.js';
import { assertEpoch, type Lease } from '../store/lease.js';
import { placeholders, type Row, updateRows, upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { brakeSource } from './brake-source.js';
import type { JobContext } from './job-context.js';
import { killPoint } from './kill-point.js';
import { orderReadiness } from './order-readiness.js';
import { turnedKeysBrake } from './source-brake.js';

export interface CapturePageWork {
  entity: Entity;
  page: ErpPage<ReadCustomer> | ErpPage<ReadOrder>;
  /** Orders that were asked for because they wait for their lines; those that the page lacks are forgotten. */
  unsettledKeys: readonly string[];
  fingerprints: Record<Entity, string>;
  /** Where the ERP was restored: keys up to this one were given before. */
  givenUpTo: Partial<Record<Entity, string>>;
  lease: Lease | null;
  force: boolean;
  dryRun: boolean;
  /** Skip customers of a customer page that were never captured: nothing refers to them yet. */
  knownCustomersOnly: boolean;
  /** How many rows of the page may still be written. */
  room: number;
  cursor: { changedAt: string; sweptAt: number | null } | null;
  /** Customers that a dry run has counted on an earlier page. */
  shownCustomers: Set<string>;
  /** Known keys that belong to another record now, as earlier pages of the pass met them. */
  turnedKeys: number;
}

export interface CapturePageResult {
  captured: { customers: number; orders: number };
  unchanged: number;
  parked: number;
  /** What waits for `waybill confirm`, and why. */
  held: { entity: Entity; reason: string }[];
  /** Keys of the orders that wait for their lines. */
  waiting: string[];
  skipped: SkippedRecord[];
  touched: TouchedRecord[];
  /** Known keys that belong to another record now. */
  turnedKeys: number;
  /** What to say in the log now that it is written, or null. */
  alert: string | null;
}

/** What `resync --force` left alone, and why. */
export interface SkippedRecord {
  entity: Entity;
  sourceKey: string;
  reason: string;
}

/** A record that was written to the outbox (or would be, in a dry run). */
export interface TouchedRecord {
  entity: Entity;
  sourceKey: string;
  number: string | null;
  customerKey: string | null;
  operation: string;
  changedAt: string | null;
  /** Sum of qty × price in minor units as text; null for customers and for rows that can't be mapped. */
  total: string | null;
  /** Why it waits for a person, or null. */
  parked: string | null;
  /** The unsent message that it replaces, or null. */
  supersedes: number | null;
  /** Names of the fields that an update would change; only in a dry run. */
  fields: string[];
}

type ReadRow = ReadCustomer | ReadOrder;

interface Plan {
  row: ReadRow;
  message: NewMessage;
  supersedes: number | null;
}

/** One page of the ERP becomes messages, audit lines and the cursor, in one transaction. */
export async function capturePage(context: JobContext, work: CapturePageWork): Promise<CapturePageResult> {
  if (work.dryRun) return context.store.read('compare with the ERP', (tx) => planAndWrite(context, work, tx));
  const written = await context.store.transaction('write what was captured', async (tx) => {
    if (work.lease) await assertEpoch(tx, work.lease);
    const result = await planAndWrite(context, work, tx);
    if (result.touched.length > 0) killPoint('before-capture-commit');
    return result;
  });
  if (written.touched.length > 0) killPoint('after-capture-commit');
  return written;
}

async function planAndWrite(context: JobContext, work: CapturePageWork, tx: Tx): Promise<CapturePageResult> {
  const nowMs = context.nowMs();
  const result: CapturePageResult = {
    captured: { customers: 0, orders: 0 },
    unchanged: 0,
    parked: 0,
    held: [],
    waiting: [],
    skipped: [],
    touched: [],
    turnedKeys: 0,
    alert: null,
  };
  const rows = [...work.page.rows] as ReadRow[];
  const known = await knownRecords(
    tx,
    work.entity,
    rows.map((row) => row.sourceKey),
    !work.dryRun,
  );
  const plans: Plan[] = [];
  const refresh: Row[] = [];
  let room = work.room;

  const seen = work.entity === 'order' ? await firstSeen(tx, rows) : new Map<string, FirstSeen>();
  const waiting: (FirstSeen & { sourceKey: string })[] = [];
  const settledKeys: string[] = work.unsettledKeys.filter((key) => !known.has(key));

  for (const row of rows) {
    if (room <= 0) break;
    const record = known.get(row.sourceKey) as KnownRecord;
    if (work.entity === 'customer' && work.knownCustomersOnly && !record.newest && !record.binding) continue;
    let parkedReason: string | null = null;
    if (row.entity === 'order' && row.content.mapped) {
      const hash = contentHash(row);
      const before = seen.get(row.sourceKey);
      const sinceMs = before?.contentHash === hash ? before.firstSeenAt : nowMs;
      const readiness = isKnown(record, hash)
        ? { ready: true as const }
        : orderReadiness({
            totals: row.totals,
            ageSeconds: row.ageSeconds,
            seenSeconds: (nowMs - sinceMs) / 1000,
            settleSeconds: context.settings.orders.settleSeconds,
          });
      const mismatch = readiness.ready ? null : `${orderName(row)}: ${readiness.reason}. Correct the order in the ERP.`;
      // What is parked for this already does not wait once more.
      const isParked = mismatch !== null && isKnown(record, contentHash(row, mismatch));
      if (!readiness.ready && readiness.wait && !isParked) {
        result.waiting.push(row.sourceKey);
        waiting.push({ sourceKey: row.sourceKey, firstSeenAt: sinceMs, contentHash: hash, reason: readiness.reason });
        continue;
      }
      parkedReason = mismatch;
    }
    if (seen.has(row.sourceKey)) settledKeys.push(row.sourceKey);
    const plan = planRow(context, work, row, record, parkedReason, nowMs);
    if (plan === 'unchanged') {
      result.unchanged++;
      const refreshed = refreshedBinding(work, row, record);
      if (refreshed) refresh.push(refreshed);
    } else if ('reason' in plan) result.skipped.push(plan);
    else {
      plans.push(plan);
      room--;
    }
  }

  // The customers of the orders that are written now come along, in the same snapshot and the same transaction.
  if (work.entity === 'order') {
    const wanted = new Set(plans.map((plan) => plan.message.customerKey));
    const all = work.room === Number.POSITIVE_INFINITY;
    const customers = work.page.customers.filter(
      (customer) => (all || wanted.has(customer.sourceKey)) && !work.shownCustomers.has(customer.sourceKey),
    );
    const knownCustomers = await knownRecords(
      tx,
      'customer',
      customers.map((row) => row.sourceKey),
      !work.dryRun,
    );
    const customerPlans = customers.flatMap((row) => {
      const known = knownCustomers.get(row.sourceKey) as KnownRecord;
      const plan = planRow(context, { ...work, force: false }, row, known, null, nowMs);
      // Unchanged customers beside the orders that the page was read for are no news.
      return plan === 'unchanged' || 'reason' in plan ? [] : [plan];
    });
    plans.unshift(...customerPlans);
  }

  const acknowledged = work.dryRun
    ? await acknowledgedRecords(
        tx,
        work.entity,
        plans.map((plan) => plan.message.sourceKey),
      )
    : new Map<string, string>();
  for (const { message, row, supersedes } of plans) {
    if (work.dryRun && message.entity === 'customer') work.shownCustomers.add(message.sourceKey);
    if (message.parked) result.parked++;
    if (message.parked?.parkClass === 'conflict') result.turnedKeys++;
    if (message.parked?.parkClass === 'held')
      result.held.push({ entity: message.entity, reason: message.parked.reason });
    if (message.entity === 'order') result.captured.orders++;
    else result.captured.customers++;
    result.touched.push({
      entity: message.entity,
      sourceKey: message.sourceKey,
      number: message.number,
      customerKey: message.customerKey,
      operation: message.operation,
      changedAt: row.changedAt,
      total: row.entity === 'order' && row.content.mapped ? sumOfItems(row.content.record) : null,
      parked: message.parked?.reason ?? null,
      supersedes,
      fields:
        work.dryRun && message.operation === 'update'
          ? changedFields(acknowledged.get(message.sourceKey) ?? null, message.record)
          : [],
    });
  }
  if (work.dryRun) return result;

  await writePlans(context, tx, plans, nowMs);
  // In the same transaction: the next pass meets these keys as known.
  const brake = result.turnedKeys > 0 ? turnedKeysBrake(work.turnedKeys + result.turnedKeys) : null;
  if (brake) result.alert = await brakeSource(tx, context, work.entity, brake);
  await updateRows(tx, 'binding', ['entity', 'source_key'], refresh);
  await upsertRows(
    tx,
    'unsettled',
    ['source_key'],
    waiting.map((w) => ({
      source_key: w.sourceKey,
      first_seen_at: w.firstSeenAt,
      content_hash: w.contentHash,
      reason: w.reason,
    })),
  );
  if (settledKeys.length > 0)
    await tx.run(`DELETE FROM unsettled WHERE source_key IN ${placeholders(settledKeys.length)}`, settledKeys);
  if (work.cursor) await writeCursor(tx, work.entity, work.cursor);
  return result;
}

function planRow(
  context: JobContext,
  work: Pick<CapturePageWork, 'force' | 'fingerprints' | 'givenUpTo'>,
  row: ReadRow,
  known: KnownRecord,
  parkedReason: string | null,
  nowMs: number,
): Plan | SkippedRecord | 'unchanged' {
  const { settings } = context;
  const { replaysRefusals, lifetimeHours } = settings.service.idempotency;
  const identity = identityOf(row);
  const knownIdentity = identityAtService(known);
  const otherRecord = changedIdentity(knownIdentity, identity);
  const conflict = otherRecord === null ? null : `another record under an old key: ${otherRecord}`;
  const hash = contentHash(row, parkedReason ?? conflict);
  let decision = nextRevision(hash, known.newest, known.binding, replaysRefusals, known.closed);
  let sentBefore: number | null = null;
  if (decision.action === 'none' && work.force) {
    const forced = forcedRevision(known.newest, known.binding, replaysRefusals, nowMs, lifetimeHours * 3_600_000);
    if (forced.action === 'skip') return { entity: row.entity, sourceKey: row.sourceKey, reason: forced.reason };
    decision = forced;
    // The key and its age stay with their bytes: an edit that comes now is an update, and an old key is never sent again.
    if (known.newest?.state === 'delivered') sentBefore = known.newest.firstSentAt;
  }
  if (decision.action === 'none') return 'unchanged';
  const mappingFingerprint = work.fingerprints[row.entity];
  const unmapped = row.content.mapped ? parkedReason : row.content.reason;
  const held = holdReason({
    operation: decision.operation,
    contentHash: hash,
    mappingFingerprint,
    newest: known.newest,
    binding: known.binding,
    suspiciousCreate: isGivenBefore(row.sourceKey, work.givenUpTo[row.entity])
      ? 'the ERP seems to have been restored, and this key was given before'
      : null,
  });
  const parked: NewMessage['parked'] =
    unmapped !== null
      ? { parkClass: 'unmapped', reason: unmapped }
      : conflict !== null
        ? { parkClass: 'conflict', reason: conflict }
        : held !== null
          ? { parkClass: 'held', reason: held }
          : null;
  const customerKey = row.entity === 'order' ? row.customerKey : null;
  return {
    row,
    supersedes: decision.supersedes,
    message: {
      entity: row.entity,
      sourceKey: row.sourceKey,
      revision: decision.revision,
      operation: decision.operation,
      generation: decision.generation,
      number: row.entity === 'order' ? row.number : null,
      changedAt: row.changedAt,
      customerKey,
      contentHash: hash,
      mappingFingerprint,
      record: row.content.mapped ? canonicalJson(row.content.record) : null,
      // The bytes of a create are frozen with their key, before any attempt. A row that can't be sent has neither.
      idempotencyKey:
        decision.operation === 'create' && (parked === null || parked.parkClass === 'held')
          ? createKey(settings.installation, row.entity, row.sourceKey, decision.generation)
          : null,
      firstSentAt: sentBefore,
      // A key that turned to another record stays with the record that the service knows.
      identity: conflict === null ? identity : knownIdentity,
      ...(decision.operation === 'create' || isTakenBack(hash, decision.supersedes, known)
        ? {}
        : { nextAttemptAt: afterThisPass }),
      parked,
    },
  };
}

/**
 * Whether a row says again what the service has, after something that was never sent. Nothing will be said to the service, so
 * that it does not count as an update: a table that was empty for a minute would bring thousands.
 */
function isTakenBack(hash: string, supersedes: number | null, { binding }: KnownRecord): boolean {
  return supersedes !== null && binding !== null && binding.contentHash === hash;
}

/** What tells that a key belongs to another record now. The service knows a customer by the code. */
function identityOf(row: ReadRow): string | null {
  if (row.entity === 'order') return row.identity;
  return row.content.mapped ? JSON.stringify({ customer_code: row.content.record.customer_code }) : null;
}

/** Who a record is at the service, or may be. What never had an effect there can still become another one. */
function identityAtService({ binding, newest }: KnownRecord): string | null {
  if (binding?.identity) return binding.identity;
  if (newest === null) return null;
  const mayExist =
    ['sending', 'in_doubt', 'delivered'].includes(newest.state) ||
    (newest.state === 'parked' && ['conflict', 'unproven'].includes(newest.parkClass ?? ''));
  return mayExist ? newest.identity : null;
}

function isGivenBefore(sourceKey: string, highest: string | undefined): boolean {
  return highest !== undefined && /^\d+$/.test(sourceKey) && BigInt(sourceKey) <= BigInt(highest);
}

/** What an unchanged row teaches about its binding: the mapping that yields the same content, and who the record is. */
function refreshedBinding(
  work: Pick<CapturePageWork, 'fingerprints'>,
  row: ReadRow,
  { binding }: KnownRecord,
): Row | null {
  if (!binding || !row.content.mapped || binding.contentHash !== contentHash(row)) return null;
  const fingerprint = work.fingerprints[row.entity];
  const identity = binding.identity ?? identityOf(row);
  if (binding.mappingFingerprint === fingerprint && binding.identity === identity) return null;
  return { entity: row.entity, source_key: row.sourceKey, mapping_fingerprint: fingerprint, identity };
}

async function writePlans(context: JobContext, tx: Tx, plans: readonly Plan[], nowMs: number): Promise<void> {
  const supersedes = plans.flatMap((plan) => (plan.supersedes === null ? [] : [plan.supersedes]));
  await supersedeMessages(tx, supersedes, nowMs);
  const ids = await insertMessages(
    tx,
    plans.map((plan) => plan.message),
    nowMs,
  );
  const entries = plans.flatMap(({ message, row, supersedes: older }, i): AuditEntry[] => {
    const base = {
      entity: message.entity,
      sourceKey: message.sourceKey,
      messageId: ids[i] as number,
      actor: context.actor,
    };
    const captured: AuditEntry = {
      ...base,
      event: 'captured',
      outcome: message.operation,
      detail: {
        number: message.number,
        revision: message.revision,
        changedAt: row.changedAt,
        idempotencyKey: message.idempotencyKey,
        bodyHash: message.idempotencyKey === null ? null : message.contentHash,
        supersedes: older,
      },
    };
    return message.parked
      ? [
          captured,
          { ...base, event: 'parked', outcome: message.parked.parkClass, detail: { reason: message.parked.reason } },
        ]
      : [captured];
  });
  await appendAudit(tx, entries, nowMs);
}

/** The hash that tells a changed row from an unchanged one. A row that is parked for a reason is another one than when it isn't. */
function contentHash(row: ReadRow, parkedReason: string | null = null): string {
  if (!row.content.mapped) return sha256(`${row.content.fingerprint}\n${row.content.reason}`);
  const json = canonicalJson(row.content.record);
  return sha256(parkedReason === null ? json : `${json}\n${parkedReason}`);
}

function isKnown(record: KnownRecord, hash: string): boolean {
  return (record.newest ?? record.binding)?.contentHash === hash;
}

function orderName(row: ReadOrder): string {
  return `Order ${row.number ?? row.sourceKey}`;
}

/** BigInt, because a sum of safe integers need not be one. */
function sumOfItems(record: OrderRecord): string {
  return String(record.items.reduce((sum, item) => sum + BigInt(item.qty) * BigInt(item.price), 0n));
}

interface FirstSeen {
  firstSeenAt: number;
  contentHash: string;
  reason: string;
}

async function firstSeen(tx: Tx, rows: readonly ReadRow[]): Promise<Map<string, FirstSeen>> {
  if (rows.length === 0) return new Map();
  const found = await tx.select(
    `SELECT source_key, first_seen_at, content_hash, reason FROM unsettled WHERE source_key IN ${placeholders(rows.length)}`,
    rows.map((row) => row.sourceKey),
  );
  return new Map(
    found.map((row) => [
      row.source_key,
      { firstSeenAt: Number(row.first_seen_at), contentHash: row.content_hash, reason: row.reason },
    ]),
  );
}
