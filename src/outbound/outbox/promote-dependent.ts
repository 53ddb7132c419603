import { isDeepStrictEqual } from 'node:util';
import { appendAudit } from '../../audit/audit-log.js';
import { type Entity, type JsonValue, settingsOfRecord } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import type { Tx } from '../../store/store.js';
import { usedGenerations } from './closed-bindings.js';
import { setContentHashes, sha256 } from './content-hash.js';
import { createKey } from './idempotency-key.js';
import { releaseHeld, scheduleMessages, supersedeUnsent } from './transitions.js';

/** A create of which nothing is at the service, and that must not go out as it is. */
interface IdleCreate {
  id: number;
  entity: Entity;
  sourceKey: string;
  revision: number;
  generation: number;
}

/** Promotes what waits behind a refused create, if anything does, and puts it on the audit. */
export async function replaceRefused(tx: Tx, context: JobContext, refused: IdleCreate, nowMs: number): Promise<void> {
  await replaceIdle(tx, context, refused, context.settings.service.idempotency.replaysRefusals, nowMs);
}

/** The same of a create that was never sent under its key and is held: its newer revision may be one that can go out. */
export async function replaceUnsent(tx: Tx, context: JobContext, held: IdleCreate, nowMs: number): Promise<boolean> {
  return replaceIdle(tx, context, held, false, nowMs);
}

async function replaceIdle(
  tx: Tx,
  { settings, actor }: JobContext,
  idle: IdleCreate,
  isKeyUsed: boolean,
  nowMs: number,
): Promise<boolean> {
  const { id: messageId, entity, sourceKey } = idle;
  const { installation, customers, orders } = settingsOfRecord(settings, sourceKey);
  const { onCancelled, onDeleted } = entity === 'order' ? orders : customers;
  const removals = [onCancelled, onDeleted].flatMap((effect) => (typeof effect === 'object' ? [effect.patch] : []));
  const by = await promoteDependent(tx, idle, { installation, isKeyUsed, removals }, nowMs);
  if (by === null) return false;
  const detail = { by, reason: { code: 'replaced_by_newer' } } as const;
  await appendAudit(tx, [{ event: 'superseded', entity, sourceKey, messageId, actor, detail }], nowMs);
  return true;
}

interface PromotionTerms {
  installation: string;
  /** The service repeats its answer to the key of the create. */
  isKeyUsed: boolean;
  /** Fields that tell the service that a record was removed; a message that carries them needs no create. */
  removals: readonly { [field: string]: JsonValue }[];
}

/**
 * A create was refused with proof, or can't go out as it is, while a newer revision was waiting behind it as an update:
 * that one becomes the create, also when it waits for a person (held, or not mappable): as an update it would wait for
 * ever for the record. A message that waits as another record under an old key waits no more: the service made nothing
 * of the old one. Not when the record is bound: then the refused one was a repetition, and the update finds its record
 * at the service.
 * @returns the id of the promoted message, or null
 */
export async function promoteDependent(
  tx: Tx,
  idle: IdleCreate,
  { installation, isKeyUsed, removals }: PromotionTerms,
  nowMs: number,
): Promise<number | null> {
  const [next] = await tx.rows<{ id: number; operation: string; parkClass: string | null; record: string | null }>(
    `SELECT id, operation, park_class, (SELECT b.record FROM message_body b WHERE b.message_id=outbox_message.id) AS record
       FROM outbox_message
      WHERE entity=? AND source_key=? AND revision>? AND operation IN ('update','delete') AND was_sent=0
        AND (state='pending' OR (state='parked' AND park_class IN ('held','unmapped','conflict')))
        AND NOT EXISTS (SELECT 1 FROM binding b WHERE b.entity=? AND b.source_key=?)
      ORDER BY revision DESC LIMIT 1`,
    [idle.entity, idle.sourceKey, idle.revision, idle.entity, idle.sourceKey],
  );
  if (!next) return null;
  // Nothing was made, so that nothing has to be removed.
  if (next.operation === 'delete' || removals.some((patch) => carries(next.record, patch))) {
    await supersedeUnsent(tx, [idle.id, next.id], null, nowMs);
    return next.id;
  }
  if (next.parkClass === 'conflict') {
    // Its hash says that it is in conflict, and its identity is that of the other record.
    await setContentHashes(tx, [{ id: next.id, contentHash: sha256(next.record ?? '') }]);
    await tx.run('UPDATE outbox_message SET identity=NULL WHERE id=?', [next.id]);
    await releaseHeld(tx, [next.id], nowMs);
  }
  const used = (await usedGenerations(tx, idle.entity, [idle.sourceKey])).get(idle.sourceKey) ?? -1;
  const generation = Math.max(idle.generation + (isKeyUsed ? 1 : 0), used + 1);
  if (next.parkClass === 'unmapped')
    await tx.run("UPDATE outbox_message SET operation='create', generation=? WHERE id=?", [generation, next.id]);
  else
    await tx.run(
      `UPDATE outbox_message SET operation='create', generation=?, idempotency_key=?, body_hash=content_hash WHERE id=?`,
      [generation, createKey(installation, idle.entity, idle.sourceKey, generation), next.id],
    );
  // Creates wait for no scan to end. A parked message stays so.
  await scheduleMessages(tx, [next.id], nowMs);
  await supersedeUnsent(tx, [idle.id], null, nowMs);
  return next.id;
}

function carries(record: string | null, patch: { [field: string]: JsonValue }): boolean {
  const fields = JSON.parse(record ?? '{}') as { [field: string]: JsonValue };
  const said = Object.entries(patch);
  // Fields that say nothing are carried by every record.
  return said.length > 0 && said.every(([name, value]) => isDeepStrictEqual(fields[name], value));
}
