import type { Entity } from '../model/entity.js';
import type { JsonValue } from '../model/record.js';
import { insertRows, placeholders, updateRows } from '../store/rows.js';
import type { SqlValue, Store, Tx } from '../store/store.js';
import { canonicalJson, sha256 } from './canonical-json.js';
import { type ComposedUpdate, composeUpdate, type UpdateMethod } from './compose-update.js';
import { revisionKey } from './idempotency-key.js';
import type { Operation, SendingMessage } from './message.js';

/** A message with its attempt on record: what may be sent now, once. */
export interface ClaimedMessage extends SendingMessage {
  sourceKey: string;
  number: string | null;
  revision: number;
  generation: number;
  attemptNumber: number;
  idempotencyKey: string;
  bodyHash: string;
  /** The frozen bytes, as text in UTF-8. */
  body: string;
  /** The mapped record as canonical JSON: for a create the same text as the body. */
  record: string;
  contentHash: string;
  mappingFingerprint: string;
  /** The columns that never change, as JSON. */
  identity: string | null;
  /** The id that the service gave to the record; null before its create is acknowledged. */
  boundServiceId: string | null;
  /** The method of an update, frozen with its bytes: a PATCH sent as a PUT would clear fields. Null: as the endpoint says. */
  method: string | null;
}

/** Ways in which updates are sent, by entity. */
export type UpdateMethods = Readonly<Record<Entity, UpdateMethod>>;

const patches: UpdateMethods = { customer: 'PATCH', order: 'PATCH' };

/** An update that would change nothing any more, because the service holds these values already. */
export interface NothingToSend {
  id: number;
  entity: Entity;
  sourceKey: string;
  revision: number;
  contentHash: string;
  mappingFingerprint: string;
}

export interface ClaimScope {
  /** Only these records; null: all. */
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null;
}

/**
 * Ids of due messages: one in doubt and a new one in turn, so that records at which the service fails every time don't hold up
 * the others; oldest first, customers before orders. An order waits for its customer's binding, an update for its own, and a
 * message for older open ones of its record.
 * @param sentSince a create in doubt whose first try is older is left: the service may have forgotten its key
 */
export async function dueMessageIds(
  tx: Tx,
  nowMs: number,
  limit: number,
  scope: ClaimScope,
  sentSince = 0,
): Promise<number[]> {
  const inState = async (state: SendableState, most: number) => {
    const ids: number[] = [];
    for (const entity of ['customer', 'order'] as const) {
      if (ids.length >= most) break;
      const rows = await readyMessages(tx, state, entity, nowMs, most - ids.length, scope, sentSince);
      ids.push(...rows.map(({ id }) => id));
    }
    return ids;
  };
  const inDoubt = await inState('in_doubt', limit);
  const pending = await inState('pending', limit - Math.min(inDoubt.length, Math.ceil(limit / 2)));
  const inTurn = Array.from({ length: Math.max(inDoubt.length, pending.length) }, (_, i) => [
    ...inDoubt.slice(i, i + 1),
    ...pending.slice(i, i + 1),
  ]);
  return inTurn.flat().slice(0, limit);
}

/**
 * One message of this state, also where its next try is not due yet: the one that has waited longest, or the last of those that
 * were never tried, as long as there are such.
 * @returns null when there is none
 */
export async function probeMessageId(
  tx: Tx,
  state: SendableState,
  which: 'first' | 'last untried',
  scope: ClaimScope,
  sentSince: number,
): Promise<number | null> {
  const ever = Number.MAX_SAFE_INTEGER;
  const found = [
    ...(await readyMessages(tx, state, 'customer', ever, 1, scope, sentSince, which)),
    ...(await readyMessages(tx, state, 'order', ever, 1, scope, sentSince, which)),
  ].sort((a, b) => a.dueAt - b.dueAt);
  if (which === 'first') return found[0]?.id ?? null;
  return found.at(-1)?.id ?? probeMessageId(tx, state, 'first', scope, sentSince);
}

export async function countInDoubt(tx: Tx): Promise<number> {
  const [row] = await tx.select<{ n: number }>("SELECT COUNT(*) AS n FROM outbox_message WHERE state='in_doubt'");
  return Number(row?.n);
}

type SendableState = 'pending' | 'in_doubt';

async function readyMessages(
  tx: Tx,
  state: SendableState,
  entity: Entity,
  dueBy: number,
  limit: number,
  scope: ClaimScope,
  sentSince: number,
  which: 'first' | 'last untried' = 'first',
): Promise<{ id: number; dueAt: number }[]> {
  const order = which === 'first' ? 'ASC' : 'DESC';
  const keys = scope.only ? [...(scope.only.get(entity) ?? [])] : null;
  if (keys?.length === 0) return [];
  const remembered = "AND (m.operation<>'create' OR m.first_sent_at IS NULL OR m.first_sent_at>=?)";
  const rows = await tx.select<{ id: number; next_attempt_at: number }>(
    `SELECT m.id, m.next_attempt_at FROM ${candidates}
      WHERE m.state=? AND m.entity=? AND m.next_attempt_at<=? ${keys ? `AND m.source_key IN ${placeholders(keys.length)}` : ''}
        ${state === 'in_doubt' ? remembered : ''} ${which === 'first' ? '' : 'AND m.attempts=0'} AND ${ready}
      ORDER BY m.next_attempt_at ${order}, m.id ${order} LIMIT ${Math.trunc(limit)}`,
    [state, entity, dueBy, ...(keys ?? []), ...(state === 'in_doubt' ? [sentSince] : [])],
  );
  return rows.map((row) => ({ id: Number(row.id), dueAt: Number(row.next_attempt_at) }));
}

/** Message `m` with what it may have to wait for: its customer's binding `c` and its own binding `w`. */
const candidates = `outbox_message m
           LEFT JOIN binding c ON c.entity='customer' AND c.source_key=m.customer_key
           LEFT JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key`;

/**
 * What has to be true of a candidate, besides its state and time, before it may be sent. Joins and not EXISTS, and a CASE
 * around the state: otherwise MariaDB reads every binding, and every pending message, for each claim (measured).
 */
const ready = `(m.customer_key IS NULL OR c.source_key IS NOT NULL)
            AND (m.operation='create' OR w.source_key IS NOT NULL)
            AND NOT EXISTS
              (SELECT 1 FROM outbox_message o WHERE o.source_key=m.source_key AND o.entity=m.entity AND o.revision<m.revision
                  AND CASE WHEN o.state IN ('pending','sending','in_doubt') THEN 1 ELSE 0 END=1)`;

/**
 * Whether an update since the last acknowledgement ended without proof. It may have taken effect, so that nobody knows what
 * the service holds: the next update says everything.
 */
const doubtfulUpdate = `EXISTS
              (SELECT 1 FROM outbox_message d WHERE d.source_key=m.source_key AND d.entity=m.entity
                  AND d.revision<m.revision AND d.revision>w.revision AND d.operation='update'
                  AND d.park_class IN ('unproven','conflict') AND d.first_sent_at IS NOT NULL)`;

/**
 * Claims messages under an epoch: bytes frozen, attempt on record, state `sending`, all in the caller's transaction, which
 * must have checked the epoch. Rows that another transaction holds are skipped; the others come in the order of `ids`.
 * @param keyLifetimeMs a create that was acknowledged and goes out once more (`resync --force`) is left when it is older
 */
export async function claimMessages(
  tx: Tx,
  ids: readonly number[],
  epoch: number,
  nowMs: number,
  keyLifetimeMs = Number.POSITIVE_INFINITY,
  methods = patches,
): Promise<{ claimed: ClaimedMessage[]; nothingToSend: NothingToSend[] }> {
  if (ids.length === 0) return { claimed: [], nothingToSend: [] };
  const lock = tx.dialect === 'mysql' ? ' FOR UPDATE SKIP LOCKED' : '';
  // A plain SELECT may show yesterday's state; the locking one shows what is.
  const locked = await tx.select<{ id: number }>(
    `SELECT id FROM outbox_message WHERE id IN ${placeholders(ids.length)} AND state IN ('pending','in_doubt')${lock}`,
    [...ids],
  );
  if (locked.length === 0) return { claimed: [], nothingToSend: [] };
  const mine = locked.map((row) => Number(row.id));
  const rows = await tx.select(
    `SELECT m.*, b.record, b.body, w.service_id AS bound_service_id, w.acknowledged, ${doubtfulUpdate} AS doubtful
       FROM ${candidates}
       JOIN message_body b ON b.message_id=m.id
      WHERE m.id IN ${placeholders(mine.length)} AND ${ready}`,
    mine,
  );
  const place = new Map(ids.map((id, index) => [id, index]));
  rows.sort((a, b) => (place.get(Number(a.id)) ?? 0) - (place.get(Number(b.id)) ?? 0));
  const incarnation = await incarnationOf(tx);
  const claimed: ClaimedMessage[] = [];
  const nothingToSend: NothingToSend[] = [];
  const composed: { message_id: number; body: string }[] = [];
  for (const row of rows) {
    let body: string | null = row.body ?? row.record;
    let idempotencyKey: string = row.idempotency_key;
    let method: string | null = row.method;
    // The service may have forgotten the key by now, and would make a second record.
    const sentAt = row.first_sent_at === null ? null : Number(row.first_sent_at);
    // It is looked up instead, where that is possible; else it has been parked by now.
    if (row.operation === 'create' && row.state === 'in_doubt' && sentAt !== null && nowMs - sentAt > keyLifetimeMs)
      continue;
    const forgotten = row.operation === 'create' && row.bound_service_id !== null && row.state === 'pending';
    if (forgotten && row.first_sent_at !== null && nowMs - Number(row.first_sent_at) > keyLifetimeMs) {
      nothingToSend.push(nothingToSendOf(row));
      continue;
    }
    if (row.operation === 'delete' && row.body_hash === null) {
      body = '';
      idempotencyKey = revisionKey(incarnation, row.entity, row.source_key, row.operation, row.revision);
      composed.push({ message_id: Number(row.id), body });
    }
    if (row.operation === 'update' && row.body_hash === null) {
      const update = compose(methods[row.entity as Entity], row.doubtful ? null : row.acknowledged, row.record);
      if (update === null) {
        nothingToSend.push(nothingToSendOf(row));
        continue;
      }
      body = canonicalJson(update.body);
      method = update.method;
      idempotencyKey = revisionKey(incarnation, row.entity, row.source_key, row.operation, row.revision);
      composed.push({ message_id: Number(row.id), body });
    }
    claimed.push({
      id: Number(row.id),
      entity: row.entity,
      operation: row.operation as Operation,
      claimedFrom: row.state,
      failures: row.failures,
      invalidAnswers: row.invalid_answers,
      customerWaits: row.customer_waits,
      firstSentAt: row.first_sent_at,
      sourceKey: row.source_key,
      number: row.number,
      revision: row.revision,
      generation: row.generation,
      attemptNumber: row.attempts + 1,
      idempotencyKey,
      bodyHash: row.body_hash ?? sha256(body as string),
      body: body as string,
      record: row.record,
      contentHash: row.content_hash,
      mappingFingerprint: row.mapping_fingerprint,
      identity: row.identity,
      boundServiceId: row.bound_service_id,
      method,
    });
  }
  await updateRows(tx, 'message_body', ['message_id'], composed);
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    claimed.map((message) => ({
      id: message.id,
      state: 'sending',
      claimed_from: message.claimedFrom,
      claim_epoch: epoch,
      attempts: message.attemptNumber,
      idempotency_key: message.idempotencyKey,
      body_hash: message.bodyHash,
      method: message.method,
    })),
  );
  await insertRows(
    tx,
    'attempt',
    claimed.map((message) => ({
      message_id: message.id,
      purpose: message.operation,
      number: message.attemptNumber,
      epoch,
      idempotency_key: message.idempotencyKey,
      body_hash: message.bodyHash,
      intended_at: nowMs,
    })),
  );
  return { claimed, nothingToSend };
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the query above
function nothingToSendOf(row: any): NothingToSend {
  return {
    id: Number(row.id),
    entity: row.entity,
    sourceKey: row.source_key,
    revision: row.revision,
    contentHash: row.content_hash,
    mappingFingerprint: row.mapping_fingerprint,
  };
}

function compose(method: UpdateMethod, acknowledged: string | null, record: string): ComposedUpdate | null {
  const wanted = JSON.parse(record) as { [name: string]: JsonValue };
  return composeUpdate(method, acknowledged === null ? null : JSON.parse(acknowledged), wanted);
}

async function incarnationOf(tx: Tx): Promise<string> {
  const [row] = await tx.select<{ value: string }>("SELECT value FROM store_info WHERE name='incarnation'");
  if (!row) throw new Error('The store has no incarnation; it was not opened by openStore.');
  return row.value;
}

/** When the next message that is ready would be due; null when none is waiting for its time. */
export async function nextDueAt(store: Store, scope: ClaimScope): Promise<number | null> {
  return store.read('look for the next due message', async (tx) => {
    const filter: string[] = [];
    const parameters: SqlValue[] = [];
    if (scope.only) {
      for (const [entity, keys] of scope.only) {
        if (keys.size === 0) continue;
        filter.push(`(m.entity=? AND m.source_key IN ${placeholders(keys.size)})`);
        parameters.push(entity, ...keys);
      }
      if (filter.length === 0) return null;
    }
    const only = filter.length > 0 ? `AND (${filter.join(' OR ')})` : '';
    const [row] = await tx.select<{ due: number | null }>(
      `SELECT MIN(m.next_attempt_at) AS due FROM ${candidates}
        WHERE m.state IN ('pending','in_doubt') ${only} AND ${ready}`,
      parameters,
    );
    return row?.due === null || row?.due === undefined ? null : Number(row.due);
  });
}
