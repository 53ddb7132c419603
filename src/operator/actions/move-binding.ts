import { appendAudit } from '../../audit/audit-log.js';
import type { ClaimCheck, RefusalFact } from '../../model/facts/actions.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { BindingHolders } from '../../outbound/outbox/binding-holders.js';
import { doubtBoundContents, moveBinding } from '../../outbound/outbox/bindings.js';
import { doubtContents } from '../../outbound/outbox/content-hash.js';
import { closeAsSettled } from '../../outbound/outbox/transitions.js';
import { noteBesideFirstKey } from '../../outbound/recovery/first-keys.js';
import { lockLease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { checkClaims, unasked } from '../check-claims.js';
import { action } from './action.js';
import { refusalOf } from './operated-messages.js';

/** A person says that a record is another one at the service than Waybill has on record, and names both ids. */
export interface BindingMove {
  entity: Entity;
  sourceKey: string;
  from: string;
  to: string;
}

/** The message by which the service is asked for the record; null: none is kept. */
async function newestMessage(tx: Tx, { entity, sourceKey }: BindingMove): Promise<number | null> {
  const sql = 'SELECT id FROM outbox_message WHERE entity=? AND source_key=? ORDER BY revision DESC LIMIT 1';
  return (await tx.value<number>(sql, [entity, sourceKey])) ?? null;
}

/** Why the binding can't be moved; null: it can. Writes nothing. */
async function moveProblem(tx: Tx, { entity, sourceKey, from, to }: BindingMove): Promise<RefusalFact | null> {
  const claim = { entity, sourceKey, serviceId: to, renamedFrom: from };
  const holders = await BindingHolders.of(tx, [claim]);
  const bound = holders.boundTo(entity, sourceKey);
  if (bound === null) return { code: 'no_binding' };
  if (from === to) return { code: 'same_ids' };
  const problem = holders.problemOf(claim);
  if (problem?.kind === 'taken') return refusalOf(claim, problem);
  if (bound !== from) return { code: 'other_service_id', serviceId: bound, said: from };
  const sending = "SELECT id FROM outbox_message WHERE entity=? AND source_key=? AND state='sending' LIMIT 1";
  return (await tx.value(sending, [entity, sourceKey])) === undefined ? null : { code: 'request_under_way' };
}

/**
 * Updates that may have reached the other record. The service knows their keys for that one, so none of them can go out again;
 * every field is sent anew.
 */
async function endSentUpdates(tx: Tx, { entity, sourceKey, from, to }: BindingMove, nowMs: number): Promise<void> {
  const sent = await tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message WHERE entity=? AND source_key=? AND operation='update' AND was_sent=1
        AND state IN ('pending','in_doubt','parked')${tx.forUpdate}`,
    [entity, sourceKey],
  );
  const reason: Fact = { code: 'sent_to_other_id', from, to };
  const ids = sent.map(({ id }) => id);
  await closeAsSettled(tx, ids, reason, nowMs);
}

/**
 * Moves the binding, on record as the person's word. The service's content of the other record is not known, so the
 * next pass compares it with the ERP and sends every field.
 * @returns why it can't be moved; null: it is
 */
export async function moveRecordBinding(
  context: JobContext,
  move: BindingMove,
  reason: string,
  check: ClaimCheck = unasked,
): Promise<RefusalFact | null> {
  const { store, actor, nowMs } = context;
  const { entity, sourceKey, from, to } = move;
  return store.transaction('give a record another id at the service', async (tx) => {
    // All who bind a record stand in line here.
    await lockLease(tx, 'service');
    const problem = await moveProblem(tx, move);
    if (problem !== null) return problem;
    await moveBinding(tx, move, { from, to, said: { by: actor, check: check.kind } });
    await noteBesideFirstKey(tx);
    await doubtBoundContents(tx, entity, [sourceKey]);
    await endSentUpdates(tx, move, nowMs());
    const id = await newestMessage(tx, move);
    if (id !== null) await doubtContents(tx, [{ id, entity }]);
    const detail = { from, to, said: true, check: check.kind, reason };
    await appendAudit(tx, { event: 'operator', outcome: 'move_binding', entity, sourceKey, actor, detail }, nowMs());
    return null;
  });
}

export const moveRecord = action({
  role: 'act',
  subject: 'record',
  inputs: {
    from: { kind: 'text', placeholder: 'id', isRequired: true },
    to: { kind: 'text', placeholder: 'id', isRequired: true },
    unchecked: { kind: 'insist' },
  },
  command: { path: ['bindings', 'move'] },
  preview: async (context, { entity, sourceKey }, { from, to, unchecked }) => {
    const move = { entity, sourceKey, from: from ?? '', to: to ?? '' };
    const { problem, messageId } = await context.store.read('look at a binding', async (tx) => ({
      problem: await moveProblem(tx, move),
      messageId: await newestMessage(tx, move),
    }));
    const isAsked = problem === null && messageId !== null && !unchecked;
    const claims = isAsked ? [{ messageId, entity, serviceId: move.to }] : [];
    const check = [...(await checkClaims(context, context.client, claims)).values()][0] ?? unasked;
    const isUnproven = check.kind !== 'same' && !unchecked && !context.asksToInsist;
    const why = problem ?? (isUnproven ? ({ code: 'unproven_claim', serviceId: move.to, check } as const) : null);
    const leave = (reason: RefusalFact) => [{ entity, key: sourceKey, number: null, why: reason }];
    return {
      matched: 1,
      count: why === null ? 1 : 0,
      isAll: true,
      rows: [],
      skipped: why === null ? [] : [{ why, count: 1, examples: leave(why) }],
      claims: why === null && !unchecked ? [{ serviceId: move.to, check }] : [],
      notes: why === null ? [{ code: 'would_move', ...move }] : [],
      data: { ...move, moved: false },
      act: async (acting, { reason, insists }) => {
        const isSaid = check.kind === 'same' || unchecked || insists;
        if (!isSaid) return { done: 0, left: leave({ code: 'unproven_claim', serviceId: move.to, check }) };
        const left = await moveRecordBinding(acting, move, reason, check);
        if (left !== null) return { done: 0, left: leave(left) };
        return { done: 1, left: [], notes: [{ code: 'moved' }], data: { moved: true, check: check.kind } };
      },
    };
  },
});
