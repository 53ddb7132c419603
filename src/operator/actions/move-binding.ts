import { appendAudit } from '../../audit/audit-log.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { BindingHolders, problemInWords } from '../../outbound/outbox/binding-holders.js';
import { doubtBoundContents, moveBinding } from '../../outbound/outbox/bindings.js';
import { doubtContents } from '../../outbound/outbox/content-hash.js';
import { closeAsSettled } from '../../outbound/outbox/transitions.js';
import { lockLease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { type ClaimCheck, unasked } from '../check-claims.js';

/** A person says that a record is another one at the service than Waybill has on record, and names both ids. */
export interface BindingMove {
  entity: Entity;
  sourceKey: string;
  from: string;
  to: string;
}

/** The message by which the service is asked for the record; null: none is kept. */
export async function newestMessage(tx: Tx, { entity, sourceKey }: BindingMove): Promise<number | null> {
  const sql = 'SELECT id FROM outbox_message WHERE entity=? AND source_key=? ORDER BY revision DESC LIMIT 1';
  return (await tx.value<number>(sql, [entity, sourceKey])) ?? null;
}

/** Why the binding can't be moved; null: it can. Writes nothing. */
export async function moveProblem(tx: Tx, { entity, sourceKey, from, to }: BindingMove): Promise<string | null> {
  const claim = { entity, sourceKey, serviceId: to, renamedFrom: from };
  const holders = await BindingHolders.of(tx, [claim]);
  const bound = holders.boundTo(entity, sourceKey);
  if (bound === null) return 'Waybill has no binding of it: `waybill outbox resolve --delivered` makes one';
  if (from === to) return 'both ids are the same';
  const problem = holders.problemOf(claim);
  if (problem?.kind === 'taken') return problemInWords(claim, problem);
  if (bound !== from) return `it is ${bound} at the service, not ${from}`;
  const sending = "SELECT id FROM outbox_message WHERE entity=? AND source_key=? AND state='sending' LIMIT 1";
  return (await tx.value(sending, [entity, sourceKey])) === undefined ? null : 'a request about it is under way';
}

/**
 * Updates that may have reached the other record. The service knows their keys for that one, so none of them can go out again;
 * every field is sent anew.
 */
async function endSentUpdates(tx: Tx, { entity, sourceKey, from, to }: BindingMove, nowMs: number): Promise<void> {
  const sent = await tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message WHERE entity=? AND source_key=? AND operation='update' AND first_sent_at IS NOT NULL
        AND state IN ('pending','in_doubt','parked')${tx.forUpdate}`,
    [entity, sourceKey],
  );
  const reason = `It was sent to ${from}. The record is ${to} by now, and gets every field in another message.`;
  const ids = sent.map(({ id }) => id);
  await closeAsSettled(tx, ids, reason, nowMs);
}

/**
 * Moves the binding, on record as the person's word. What the service holds of the other record is not known, so the next pass
 * compares it with the ERP and sends every field.
 * @returns why it can't be moved; null: it is
 */
export async function moveRecordBinding(
  context: JobContext,
  move: BindingMove,
  reason: string,
  check: ClaimCheck = unasked,
): Promise<string | null> {
  const { store, actor, nowMs } = context;
  const { entity, sourceKey, from, to } = move;
  return store.transaction('give a record another id at the service', async (tx) => {
    // All who bind a record stand in line here.
    await lockLease(tx, 'service');
    const problem = await moveProblem(tx, move);
    if (problem !== null) return problem;
    await moveBinding(tx, move, { from, to, said: { by: actor, check: check.kind } });
    await doubtBoundContents(tx, entity, [sourceKey]);
    await endSentUpdates(tx, move, nowMs());
    const id = await newestMessage(tx, move);
    if (id !== null) await doubtContents(tx, [{ id, entity }]);
    const detail = { from, to, said: true, check: check.kind, reason };
    await appendAudit(tx, { event: 'operator', outcome: 'move_binding', entity, sourceKey, actor, detail }, nowMs());
    return null;
  });
}
