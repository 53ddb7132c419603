import type { Fact } from '../../model/facts/fact.js';
import type { Entity, JsonValue } from '../../model/record.js';
import { padded, placeholders, updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo } from '../../store/store-info.js';
import type { Binding } from '../outbox/bindings.js';
import { type ComposedUpdate, composeUpdate, isWholeRecord, type UpdateMethod } from '../outbox/compose-update.js';
import { canonicalJson, sha256 } from '../outbox/content-hash.js';
import {
  isShownOtherwise,
  keyKnownUntil,
  type Presentations,
  revisionKey,
  wireBody,
} from '../outbox/idempotency-key.js';
import type { Operation, Removal, SendingMessage } from '../outbox/message.js';
import { claimForSending, type MessageName, scheduleMessages } from '../outbox/transitions.js';
import { noteBesideFirstKey } from '../recovery/first-keys.js';
import { candidates, ready } from './due-messages.js';

/** The claim's facts about a message and the binding of its customer. */
export interface OrderForCustomer {
  entity: Entity;
  operation: Operation;
  customerKey: string | null;
  customerIdentity: string | null;
  customerAcknowledged: string | null;
  customerServiceId: string | null;
  /** An update of the customer is on its way, and may bring the code. */
  customerIsOpen: 0 | 1;
}

/**
 * Tells if an order may go out with this body. Pure. The service files an order under the code in its body, so the code
 * must be the one that the customer's binding carries: the customer may have taken over a code that another one has at
 * the service.
 * @param mayBeThere the order may have reached the service
 * @returns a reason: a person has to look; `wait`: the customer's own update goes first
 */
export function checkCustomerCode(
  order: OrderForCustomer,
  body: string,
  mayBeThere = false,
): 'send' | 'wait' | { reason: Fact } {
  if (order.entity !== 'order' || order.operation === 'delete' || order.customerKey === null) return 'send';
  const code = codeOf(body);
  // A change that says nothing of the customer leaves the order where it is.
  if (code === undefined) return 'send';
  // A customer that a person confirmed under a new code has no identity before a sweep learns it anew.
  const bound = codeOf(order.customerIdentity) ?? codeOf(order.customerAcknowledged) ?? order.customerServiceId;
  if (code === bound) return 'send';
  if (order.customerIsOpen) return 'wait';
  const customer = { entity: 'customer', sourceKey: order.customerKey } as const;
  const codes = { named: String(code), bound: String(bound) };
  return { reason: { code: 'customer_code_differs', ...customer, ...codes, mayBeThere } };
}

/** JSON that we have written mostly has the code first, so the rest need not be read. */
function codeOf(json: string | null): unknown {
  if (!json) return undefined;
  const [, first] = /^\{"customer_code":("[^"\\]*")[,}]/.exec(json) ?? [];
  return first === undefined ? (JSON.parse(json) as { customer_code?: unknown }).customer_code : first.slice(1, -1);
}

/** A message of which is on record that it is sent: what may be sent now, once. */
export interface ClaimedMessage extends SendingMessage, NothingToSend {
  number: string | null;
  generation: number;
  attemptNumber: number;
  /** When, in milliseconds since 1970. */
  claimedAt: number;
  idempotencyKey: string;
  bodyHash: string;
  /** The frozen bytes, as text in UTF-8. */
  body: string;
  /** Field of the body that carries the key, frozen with the bytes; null: a header does. */
  keyField: string | null;
  /** Fingerprint of how the key is shown to the service. */
  presentedAs: string | null;
  /** The mapped record as canonical JSON: for a create the same text as the body. */
  record: string;
  total: string | null;
  /** The columns that never change, as JSON. */
  identity: string | null;
  /** The id that the service gave to the record; null before its create is acknowledged. */
  boundServiceId: string | null;
  /** Sent after this it would be a blind resend: the service may have forgotten the key. Infinite where nothing can come of that. */
  keyGoodUntilMs: number;
  /** The lead of the wall clock over the time since boot (`wallLeadMs`): its times here are of that clock. */
  wallLeadMs: number;
  /** The method of an update, frozen with its bytes: a PATCH sent as a PUT would clear fields. Null: as the endpoint says. */
  method: string | null;
}

/** The columns of a message that the claim reads. */
type Candidate = Omit<
  ClaimedMessage,
  'claimedAt' | 'attemptNumber' | 'bodyHash' | 'body' | 'record' | 'claimedFrom' | 'keyGoodUntilMs' | 'wallLeadMs'
> & {
  state: 'pending' | 'in_doubt';
  removal: Removal | null;
  attempts: number;
  bodyHash: string | null;
  body: string | null;
  /** Null: it was never claimed. */
  keyIn: 'header' | 'body' | null;
  /** Null: it was erased. */
  record: string | null;
  /** The acknowledged content, as JSON. */
  acknowledged: string | null;
  doubtful: 0 | 1;
} & OrderForCustomer;

/** The columns of a candidate. The table has twice as many, and each is copied several times with every message. */
const columns = `m.id, m.entity, m.source_key, m.revision, m.operation, m.generation, m.number, m.customer_key, m.idempotency_key,
            m.body_hash, m.content_hash, m.mapping_fingerprint, m.state, m.attempts, m.failures, m.invalid_answers,
            m.customer_waits, m.was_sent, m.first_sent_at, m.method, m.identity, m.key_in, m.key_field, m.presented_as, m.removal, m.total`;

/** The form of updates, by entity, and the names of the fields that a record may lack, by its key. */
type Updates = Readonly<Record<Entity, { method: UpdateMethod; optional: (sourceKey: string) => readonly string[] }>>;

const patch = { method: 'PATCH', optional: () => [] } as const;

/** An update that would change nothing any more, because the service holds these values already. */
export type NothingToSend = { id: number } & Pick<
  Binding,
  'entity' | 'sourceKey' | 'revision' | 'contentHash' | 'mappingFingerprint'
>;

/** True if an update since the last acknowledgement may have taken effect unproven: then the next carries every field. */
const doubtfulUpdate = `m.operation='update' AND EXISTS
              (SELECT 1 FROM outbox_message d WHERE d.source_key=m.source_key AND d.entity=m.entity
                  AND d.revision<m.revision AND d.revision>w.revision AND d.operation='update'
                  AND d.park_class IN ('unproven','conflict') AND d.was_sent=1)`;

/** An open message of an order's customer that may bring another code. A removal brings none, and waits for the order itself. */
const openCustomer = `EXISTS
              (SELECT 1 FROM outbox_message u WHERE u.source_key=m.customer_key AND u.entity='customer' AND u.operation<>'delete'
                  AND u.state IN ('pending','sending','in_doubt'))`;

/** Characters that one claim composes and hashes, in one turn of the event loop and within its transaction. The rest comes next. */
export const mostCharacters = 1_000_000;

/** The time for which an order waits before it is claimed again when its customer's update has to go first. */
const customerWaitMs = 2_000;

/** The terms of a claim. */
export interface ClaimTerms {
  epoch: number;
  nowMs: number;
  /** The service knows a key for this long. A create that may repeat one (in doubt, or `resync --force`) is left when it is older. */
  keyLifetimeMs: number;
  updates: Updates;
  /** Body field that carries the key of messages that were never sent; null: a header carries it. */
  newKeyField: (operation: Operation) => string | null;
  presentations: Presentations;
  /** Removals that the ERP has just confirmed. Others are left, and returned as `unasked`. */
  stillRemoved: ReadonlySet<number>;
  /** Messages that are due later are left; null: none is. */
  dueByMs: number | null;
  /** The lead of the wall clock over the time since boot. */
  wallLeadMs: number;
}

/**
 * Claims messages under an epoch: freezes their bytes and sets their state to `sending`, all in the caller's transaction, which
 * must have checked the epoch. It leaves rows that another transaction locks, rows due after `dueByMs`, and rows that wait for
 * the end of their pass, which may still put them on hold. It returns the others in the order of `ids`.
 */
export async function claimMessages(tx: Tx, ids: readonly number[], terms: ClaimTerms): Promise<ClaimResult> {
  if (ids.length === 0) return { claimed: [], nothingToSend: [], held: [], unasked: [] };
  // A plain SELECT may show yesterday's state; the locking one shows what is. The CASE keeps SQLite from reading all that waits.
  const listed = padded(ids);
  const locked = await tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message
      WHERE id IN ${placeholders(listed.length)}
        AND CASE WHEN state IN ('pending','in_doubt') AND next_attempt_at${terms.dueByMs === null ? ' IS NOT NULL' : '<=?'} THEN 1 ELSE 0 END=1${tx.skipLocked}`,
    [...listed, ...(terms.dueByMs === null ? [] : [terms.dueByMs])],
  );
  if (locked.length === 0) return { claimed: [], nothingToSend: [], held: [], unasked: [] };
  const mine = padded(locked.map(({ id }) => id));
  const rows = await tx.rows<Candidate>(
    `SELECT ${columns}, b.record, b.body, w.service_id AS bound_service_id, w.acknowledged, ${doubtfulUpdate} AS doubtful,
            c.identity AS customer_identity, c.acknowledged AS customer_acknowledged, c.service_id AS customer_service_id,
            ${openCustomer} AS customer_is_open
       FROM ${candidates}
       LEFT JOIN message_body b ON b.message_id=m.id
      WHERE m.id IN ${placeholders(mine.length)} AND ${ready}`,
    mine,
  );
  const place = new Map(ids.map((id, index) => [id, index]));
  rows.sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
  const incarnation = (await readStoreInfo(tx, 'incarnation')) as string;
  const sorted: SortedCandidates = {
    claimed: [],
    nothingToSend: [],
    composed: [],
    held: [],
    postponed: [],
    unasked: [],
  };
  let characters = 0;
  for (const row of rows) {
    if (characters > mostCharacters) break;
    characters += row.record?.length ?? 0;
    sortCandidate(row, terms, incarnation, sorted);
  }
  const { epoch, nowMs } = terms;
  const { claimed, nothingToSend, composed, held, postponed, unasked } = sorted;
  await scheduleMessages(tx, postponed, nowMs + customerWaitMs);
  if (claimed.some(({ operation, generation }) => operation === 'create' && generation > 0))
    await noteBesideFirstKey(tx);
  await updateRows(tx, 'message_body', ['message_id'], composed);
  await claimForSending(tx, claimed, epoch, nowMs);
  return { claimed, nothingToSend, held, unasked };
}

/** Candidates, each in one of the lists; the bytes of a claimed update are in `composed` as well. */
interface SortedCandidates extends ClaimResult {
  claimed: (ClaimedMessage & { isAsStored: boolean })[];
  composed: { messageId: number; body: string }[];
  /** Orders that wait for an update of their customer. */
  postponed: number[];
}

/** Decides what becomes of a candidate, and adds it to the list for that. */
function sortCandidate(row: Candidate, terms: ClaimTerms, incarnation: string, sorted: SortedCandidates): void {
  const { nowMs, newKeyField } = terms;
  if (row.removal !== null && row.state === 'pending' && !terms.stillRemoved.has(row.id)) {
    sorted.unasked.push({ id: row.id, entity: row.entity, sourceKey: row.sourceKey, removal: row.removal });
    return;
  }
  const { record } = row;
  const wasSent = row.wasSent === 1;
  if (record === null) {
    // If skipped, it would stay due and be claimed again in a tight loop.
    sorted.held.push({
      ...row,
      reason: { code: row.state === 'pending' ? 'content_erased_unsent' : 'content_erased_in_doubt' },
    });
    return;
  }
  const keyGoodUntilMs = mayBeSentUntil(row, terms);
  if (keyGoodUntilMs === null) {
    // A message in doubt is looked up instead where that is possible; else it is parked within a second.
    if (row.state === 'pending') sorted.nothingToSend.push(row);
    return;
  }
  let body = row.body ?? record;
  let { idempotencyKey, method } = row;
  const isNewChange = row.operation !== 'create' && row.bodyHash === null;
  if (isNewChange) {
    const update = row.operation === 'update' && composeChange(row, terms.updates, record);
    if (update === null) {
      sorted.nothingToSend.push(row);
      return;
    }
    body = update ? canonicalJson(update.body) : '';
    if (update) method = update.method;
    idempotencyKey = revisionKey(incarnation, row.entity, row.sourceKey, row.operation, row.revision);
  }
  const check = checkCustomerCode(row, body, row.state === 'in_doubt' || wasSent);
  if (check === 'wait') {
    sorted.postponed.push(row.id);
    return;
  }
  if (check !== 'send') {
    sorted.held.push({ ...row, ...check });
    return;
  }
  if (isNewChange) sorted.composed.push({ messageId: row.id, body });
  // A message that may have been sent stays as it was, whatever the settings say by now.
  const isFrozen = wasSent && row.keyIn !== null;
  const keyField = isFrozen ? row.keyField : newKeyField(row.operation);
  const bytes = wireBody(body, idempotencyKey, keyField);
  const bodyHash = sha256(bytes);
  // Field by field: a copy of the row would keep twice as much until it is settled.
  sorted.claimed.push({
    id: row.id,
    entity: row.entity,
    sourceKey: row.sourceKey,
    number: row.number,
    revision: row.revision,
    operation: row.operation,
    generation: row.generation,
    claimedFrom: row.state,
    attemptNumber: row.attempts + 1,
    claimedAt: nowMs,
    failures: row.failures,
    invalidAnswers: row.invalidAnswers,
    customerWaits: row.customerWaits,
    wasSent: row.wasSent,
    firstSentAt: row.firstSentAt,
    idempotencyKey,
    keyField,
    presentedAs: terms.presentations[row.entity][keyField === null ? 'header' : 'body'],
    method,
    body: bytes,
    bodyHash,
    isAsStored: idempotencyKey === row.idempotencyKey && bodyHash === row.bodyHash && method === row.method,
    record,
    total: row.total,
    contentHash: row.contentHash,
    mappingFingerprint: row.mappingFingerprint,
    identity: row.identity,
    boundServiceId: row.boundServiceId,
    keyGoodUntilMs,
    wallLeadMs: terms.wallLeadMs,
  });
}

/** Until when a candidate may be sent: the service may forget its key, and would make a second record. Null: it may have already. */
function mayBeSentUntil(row: Candidate, { nowMs, keyLifetimeMs, presentations }: ClaimTerms): number | null {
  const repeats = row.operation === 'create' && (row.state === 'in_doubt' || row.boundServiceId !== null);
  if (repeats && isShownOtherwise(row, presentations)) return null;
  return repeats && row.wasSent ? keyKnownUntil(row.firstSentAt, nowMs, keyLifetimeMs) : Number.POSITIVE_INFINITY;
}

interface ClaimResult {
  claimed: ClaimedMessage[];
  nothingToSend: NothingToSend[];
  held: Unsendable[];
  unasked: UnaskedRemoval[];
}

/** A removal that may have waited for days: the ERP is asked once more before it leaves. */
export interface UnaskedRemoval extends MessageName {
  removal: Removal;
}

/** A message that must not go out as it is, and why a person has to look. */
export interface Unsendable extends MessageName {
  operation: Operation;
  revision: number;
  generation: number;
  state: 'pending' | 'in_doubt';
  wasSent: 0 | 1;
  reason: Fact;
}

/** @returns null where the update would change nothing */
function composeChange(row: Candidate, updates: Updates, record: string): ComposedUpdate | null {
  const { entity, sourceKey } = row;
  const acknowledged = row.doubtful ? null : row.acknowledged;
  const wanted = JSON.parse(record) as { [name: string]: JsonValue };
  // A part never replaces the whole, whatever the settings said when it was captured. A service without PATCH refuses it.
  const { method, optional } = isWholeRecord(entity, wanted) ? updates[entity] : patch;
  return composeUpdate(method, acknowledged === null ? null : JSON.parse(acknowledged), wanted, optional(sourceKey));
}
