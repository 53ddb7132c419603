import type { RefusalFact } from '../../model/facts/actions.js';
import type { Fact } from '../../model/facts/fact.js';
import { outside } from '../../model/outside.js';
import { doubtColumns, doubtOf } from '../../outbound/outbox/absence.js';
import {
  type BindingClaim,
  BindingHolders,
  type BindingProblem,
  type SaidBinding,
} from '../../outbound/outbox/binding-holders.js';
import { type Binding, bindRecords, closeBindings } from '../../outbound/outbox/bindings.js';
import { doubtContents, provenRecord } from '../../outbound/outbox/content-hash.js';
import { createKey, keyAfterRefusal } from '../../outbound/outbox/idempotency-key.js';
import type { Operation } from '../../outbound/outbox/message.js';
import { discardMessages, requeueMessages, resolveAsDelivered } from '../../outbound/outbox/transitions.js';
import { noteBesideFirstKey } from '../../outbound/recovery/first-keys.js';
import { fromBeforeRecovery } from '../../outbound/recovery/recover-messages.js';
import { withFact } from '../../store/fact-columns.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { filterSql, type MessageFilter, meansReason, rowsMeant } from '../list-messages.js';
import {
  decideOperatorAction,
  type OperatedMessage,
  type OperatorAction,
  type OperatorContext,
  type OperatorDecision,
} from './decide-message-action.js';
import { customerCodeOf } from './forget-customer.js';

interface OperableMessage extends OperatedMessage {
  id: number;
  sourceKey: string;
  number: string | null;
  revision: number;
  reason: Fact | null;
  /** Null: it was never claimed, and gets its key then. */
  idempotencyKey: string | null;
}

export interface Operated {
  message: OperableMessage;
  decision: OperatorDecision;
}

/** Ids of the matching messages after `afterId`, oldest first: a promise of which ones are meant, kept while a person thinks. */
export async function matchingIds(tx: Tx, filter: MessageFilter, afterId: number, limit: number): Promise<number[]> {
  const { where, parameters } = filterSql(filter);
  type Row = { id: number; reasonCode: string | null; reasonData: string | null };
  const rows = await rowsMeant<Row>(filter, limit, (last, most) =>
    tx.rows(
      `SELECT m.id, m.reason_code, m.reason_data FROM outbox_message m WHERE ${where} AND m.id>?
        ORDER BY m.id LIMIT ${Math.trunc(most)}`,
      [...parameters, last?.id ?? afterId],
    ),
  );
  return rows.map(({ id }) => id);
}

/** An action that a person asks for. */
export interface AskedAction {
  action: OperatorAction;
  /** Messages that no longer match are left out. */
  filter: MessageFilter;
  context: OperatorContext;
  /** Service id that a person's list gives a record; undefined: the context names it. */
  namedId?: ((message: OperableMessage) => string | null) | undefined;
  /** `lock` holds the rows until the transaction ends, so that no deliverer claims them in between. */
  rows: 'lock' | 'read';
}

/** Decides an action for these messages as they are now; writes nothing. */
export async function decideForMessages(
  tx: Tx,
  ids: readonly number[],
  { action, filter, context, namedId, rows: access }: AskedAction,
): Promise<Operated[]> {
  if (ids.length === 0) return [];
  const { where, parameters } = filterSql(filter);
  if (access === 'lock')
    await tx.rows(
      `SELECT id FROM outbox_message WHERE id IN ${placeholders(ids.length)} ORDER BY id${tx.forUpdate}`,
      ids,
    );
  const rows = await tx.rows(
    `SELECT m.id, m.entity, m.source_key, m.number, m.revision, m.operation, m.state, m.park_class, m.reason_code, m.reason_data,
            CASE WHEN c.generation>m.generation THEN c.generation ELSE m.generation END AS generation,
            m.next_attempt_at, m.waits_for, m.was_sent, m.first_sent_at, m.claimed_at, ${doubtColumns}, m.idempotency_key, o.service_id AS bound_service_id,
            CASE WHEN m.entity='customer' THEN b.record ELSE NULL END AS customer_record,
            CASE WHEN EXISTS (SELECT 1 FROM outbox_message n WHERE n.entity=m.entity AND n.source_key=m.source_key
                  AND n.revision>m.revision AND n.state IN ('pending','sending','in_doubt','delivered'))
                 OR o.revision>m.revision THEN 1 ELSE 0 END AS newer_revision
       FROM outbox_message m
       LEFT JOIN message_body b ON b.message_id=m.id
       LEFT JOIN binding o ON o.entity=m.entity AND o.source_key=m.source_key
       LEFT JOIN closed_binding c ON c.entity=m.entity AND c.source_key=m.source_key
      WHERE m.id IN ${placeholders(ids.length)} AND ${where} ORDER BY m.id`,
    [...ids, ...parameters],
  );
  const meant = rows.map((row) => withFact(row, 'reason')).filter(({ reason }) => meansReason(filter, reason));
  const operated = meant.map(({ customerRecord, newerRevision, ...row }): Operated => {
    const customerCode = customerCodeOf(customerRecord);
    const { ended } = doubtOf(row as unknown as Parameters<typeof doubtOf>[0]);
    const message = { ...row, ended, customerCode, newerRevision: newerRevision === 1 } as OperableMessage;
    const about = namedId ? { ...context, serviceId: namedId(message) } : context;
    return { message, decision: decideOperatorAction(action, message, about) };
  });
  return unlessHeld(tx, operated, context.serviceId !== null);
}

/** The refusal to bind a record to an id of the service. Pure. */
export function refusalOf({ entity, serviceId }: BindingClaim, problem: BindingProblem): RefusalFact {
  switch (problem.kind) {
    case 'taken':
      return { code: 'service_id_taken', entity, serviceId, heldBy: problem.heldBy };
    case 'bound':
      return { code: 'other_service_id', serviceId: problem.boundTo, said: serviceId };
    case 'removed':
      return { code: 'service_id_removed', entity, serviceId };
  }
}

/** An id of the service that belongs to another record can't be this one's, whatever a person says. */
async function unlessHeld(tx: Tx, operated: Operated[], isIdNamed: boolean): Promise<Operated[]> {
  const claimsOf = ({ message, decision }: Operated) =>
    decision.to === 'delivered' && message.operation !== 'delete'
      ? [{ ...message, serviceId: decision.serviceId }]
      : [];
  const claims = operated.flatMap(claimsOf);
  // An id that a person names for several records is the command's to refuse: none of them may get it by its place in a list.
  if (isIdNamed && claims.length > 1) return operated;
  const holders = await BindingHolders.of(tx, claims);
  return operated.map((one) => {
    const [claim] = claimsOf(one);
    const problem = claim ? holders.problemOf(claim) : null;
    if (!claim || problem === null) return one;
    return { ...one, decision: { to: null, why: refusalOf(claim, problem) } };
  });
}

/**
 * Writes decisions of `decideForMessages`, which held the rows in the same transaction. The caller writes the audit.
 * @param how.saidOf who says of this message that its record is at the service, and what the service showed
 * @throws when a message left the state in which it was decided
 */
export async function writeOperatorDecisions(
  tx: Tx,
  operated: readonly Operated[],
  { installation, reason, saidOf }: { installation: string; reason: string; saidOf(messageId: number): SaidBinding },
  nowMs: number,
): Promise<void> {
  const said: Fact = { code: 'person_said', text: outside(reason) };
  for (const state of ['pending', 'in_doubt', 'parked'] as const) {
    const inState = operated.filter(({ message }) => message.state === state);
    const queued = inState.flatMap(({ message, decision }) =>
      decision.to === 'pending' || decision.to === 'in_doubt'
        ? [
            {
              id: message.id,
              to: decision.to,
              wasSent: decision.wasSent,
              firstSentAt: decision.firstSentAt,
              newKey: decision.newKey
                ? {
                    generation: decision.generation,
                    idempotencyKey: newKeyOf(message, installation, decision.generation),
                  }
                : null,
            },
          ]
        : [],
    );
    await requeueMessages(tx, state, queued, nowMs);
    const discarded = inState.flatMap(({ message, decision }) => (decision.to === 'discarded' ? [message.id] : []));
    await discardMessages(tx, state, discarded, said, nowMs);
    const delivered = inState.flatMap(({ message, decision }) =>
      decision.to === 'delivered'
        ? [{ id: message.id, serviceId: decision.serviceId, isConflict: message.parkClass === 'conflict' }]
        : [],
    );
    await resolveAsDelivered(tx, state, delivered, said, nowMs);
    await bindResolved(tx, delivered, saidOf, nowMs);
  }
}

function newKeyOf(message: OperableMessage, installation: string, generation: number): string | null {
  const { operation, entity, sourceKey, idempotencyKey } = message;
  if (operation === 'create') return createKey(installation, entity, sourceKey, generation);
  return idempotencyKey === null ? null : keyAfterRefusal(idempotencyKey);
}

/** A binding for each, unless a newer revision wrote it already. */
async function bindResolved(
  tx: Tx,
  delivered: readonly { id: number; serviceId: string; isConflict: boolean }[],
  saidOf: (messageId: number) => SaidBinding,
  nowMs: number,
): Promise<void> {
  if (delivered.length === 0) return;
  const ids = delivered.map(({ id }) => id);
  const serviceIds = new Map(delivered.map(({ id, serviceId }) => [id, serviceId]));
  type ResolvedRow = Omit<Binding, 'serviceId' | 'acknowledged'> & { id: number; operation: Operation; record: string };
  const rows = await tx.rows<ResolvedRow>(
    `SELECT m.id, m.entity, m.source_key, m.revision, m.generation, m.content_hash, m.mapping_fingerprint, m.identity, m.operation,
            b.record
       FROM outbox_message m
       LEFT JOIN message_body b ON b.message_id=m.id
       LEFT JOIN binding o ON o.entity=m.entity AND o.source_key=m.source_key
      WHERE m.id IN ${placeholders(ids.length)} AND (o.revision IS NULL OR o.revision<=m.revision)
      ORDER BY m.revision`,
    ids,
  );
  // A store that was lost may have sent it, or the service has something else under its key: what a person found says nothing of
  // the fields, and a sweep at the next pass brings them up to date.
  const conflicts = new Set(delivered.filter(({ isConflict }) => isConflict).map(({ id }) => id));
  const isFromBefore = await fromBeforeRecovery(tx);
  const found = rows.filter(({ id, operation }) => conflicts.has(id) || (operation === 'create' && isFromBefore(id)));
  for (const row of found) row.contentHash = null;
  await doubtContents(tx, found);
  const claims = rows
    .filter((row) => row.operation !== 'delete')
    .map((row) => ({ ...row, serviceId: serviceIds.get(row.id) as string }));
  const holders = await BindingHolders.of(tx, claims);
  const bindings = claims.map((row) => ({
    ...row,
    // For a bound record the person says that a change arrived, not where the record is.
    said: holders.isBound(row.entity, row.sourceKey) ? holders.saidOf(row) : saidOf(row.id),
    acknowledged: provenRecord(row.contentHash, row.record),
    // A person says that it arrived, not what became of its total.
    words: { status: null, total: null },
  }));
  await bindRecords(tx, bindings, holders, nowMs);
  // Others may have made the record that a person found.
  if (claims.some(({ entity, sourceKey }) => !holders.isBound(entity, sourceKey))) await noteBesideFirstKey(tx);
  await closeBindings(
    tx,
    rows.filter((row) => row.operation === 'delete'),
    nowMs,
  );
}
