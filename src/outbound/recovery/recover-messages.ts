import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { ClockReading } from '../../store/clock.js';
import { factOf } from '../../store/fact-columns.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfos, writeStoreInfo } from '../../store/store-info.js';
import { doubtBoundContents } from '../outbox/bindings.js';
import { setContentHashes } from '../outbox/content-hash.js';
import { type MessageName, noteEnds, parkAsUnproven, presumeInDoubt } from '../outbox/transitions.js';

/** Not acknowledged as far as this store knows. */
export const isUnbound = 'NOT EXISTS (SELECT 1 FROM binding b WHERE b.entity=m.entity AND b.source_key=m.source_key)';
/** Creates that the lost store may have sent, and that are not closed. */
const unbound = `m.operation='create' AND m.state='pending' AND ${isUnbound}`;
/** Creates that wait for a person, who may have let them go in the lost store. */
const parkedCreate = `m.operation='create' AND m.state='parked' AND m.park_class IN ('held','refused') AND ${isUnbound}`;
/** Creates that the lost store may have sent, whatever this one knows of them. */
const openCreate = `m.operation='create' AND m.state IN ('pending','parked','sending','in_doubt') AND ${isUnbound}`;

/** Locked, so that their fate is decided here alone until the transaction ends. A few thousand at a time: there may be a million. */
async function lockBatches(tx: Tx, which: string): Promise<number[][]> {
  const rows = await tx.rows<{ id: number }>(`SELECT m.id FROM outbox_message m WHERE ${which}${tx.forUpdate}`);
  const ids = rows.map(({ id }) => id);
  return Array.from({ length: Math.ceil(ids.length / 5_000) }, (_, i) => ids.slice(i * 5_000, (i + 1) * 5_000));
}

/** A create that a recovery has to judge. */
export interface UnprovenCreate {
  id: number;
  entity: Entity;
  sourceKey: string;
  /** It is held or refused: a person may have let it go in the store that was lost. */
  isParked: boolean;
}

/** The creates that a recovery would judge now, a page at a time in the order of their ids. */
export async function unprovenCreates(tx: Tx, afterId: number, limit: number): Promise<UnprovenCreate[]> {
  const rows = await tx.rows<Omit<UnprovenCreate, 'isParked'> & { state: string }>(
    `SELECT m.id, m.entity, m.source_key, m.state FROM outbox_message m
      WHERE m.id>? AND ((${unbound}) OR (${parkedCreate})) ORDER BY m.id LIMIT ${Math.trunc(limit)}`,
    [afterId],
  );
  return rows.map(({ state, ...row }) => ({ ...row, isParked: state === 'parked' }));
}

export type UnboundFate =
  /** May have been sent since then (null: not known): the same key and bytes again, while the service remembers the key; or looked up. */
  | {
      to: 'in_doubt';
      sentSince: number | null;
      lookUp?: boolean;
      /** A person vouches that none was sent again under a later key. */
      firstKeys?: boolean;
    }
  /** Nothing can prove whether it exists: a person decides. `besideFirstKey`: the service may know it by another key. */
  | { to: 'parked'; besideFirstKey?: boolean };

/**
 * Creates that a copy does not know as sent, although its successor may have sent them after the
 * copy was made. Their bytes stay with their key, and they no longer count as unsent.
 * @param since when the copy was made
 */
export async function presumeSent(tx: Tx, since: number): Promise<void> {
  await noteFirstSent(tx, unbound, since);
}

/** Takes `presumeSent` back: the store was no copy, so what it never tried to send was never sent. */
export async function forgetPresumption(tx: Tx, since: number): Promise<void> {
  for (const ids of await lockBatches(tx, `${unbound} AND m.attempts=0 AND m.first_sent_at=${Math.trunc(since)}`))
    await tx.run(
      `UPDATE outbox_message SET was_sent=0, first_sent_at=NULL WHERE id IN ${placeholders(ids.length)}`,
      ids,
    );
}

/**
 * Decides what becomes of every create that the lost store may have sent, with a line in the audit for each. A message
 * that goes out again is followed by an update; one that is looked up, or found by a person, is doubted when it is
 * found: see `fromBeforeRecovery`.
 */
export async function settleUnbound(
  tx: Tx,
  { fate, areFirstKeysProven }: { fate: UnboundFate; areFirstKeysProven: boolean },
  actor: string,
  now: ClockReading,
): Promise<number> {
  const reason: Fact =
    fate.to === 'parked' && fate.besideFirstKey
      ? { code: 'perhaps_beside_first_key' }
      : { code: 'perhaps_sent_before_loss', isProvable: fate.to === 'in_doubt' };
  const sentSince = fate.to === 'in_doubt' ? fate.sentSince : null;
  const outcome = fate.to === 'in_doubt' ? 'unknown' : 'unproven';
  const batches = await lockBatches(tx, unbound);
  // Creates that this store sent before it was copied go out again under their key. The service may
  // repeat an answer that it gave before the lost store sent a change.
  const underWay = `m.operation='create' AND m.state IN ('sending','in_doubt') AND ${isUnbound}`;
  const isFirstKeySafe = areFirstKeysProven || (fate.to === 'in_doubt' && fate.firstKeys === true);
  for (const ids of await lockBatches(tx, underWay)) {
    await doubtContentsOf(tx, ids);
    // Without a time the key counts as forgotten: they are looked up, or wait for a person.
    if (!isFirstKeySafe)
      await tx.run(
        `UPDATE outbox_message SET was_sent=1, first_sent_at=NULL WHERE id IN ${placeholders(ids.length)}`,
        ids,
      );
  }
  // The lost store may have sent any of them a moment ago, also what waits for a person here: a person may have let it go there.
  for (const ids of await lockBatches(tx, openCreate)) await noteEnds(tx, ids, now);
  for (const ids of batches) {
    await auditEach(tx, ids, { event: fate.to, outcome, actor, detail: { reason, sentSince } }, now.wallMs);
    if (fate.to === 'in_doubt' && !fate.lookUp) await doubtContentsOf(tx, ids);
    if (fate.to === 'in_doubt') await presumeInDoubt(tx, ids, fate.sentSince, reason, now.wallMs);
    else await parkAsUnproven(tx, 'pending', ids, reason);
  }
  return batches.flat().length;
}

async function doubtContentsOf(tx: Tx, ids: readonly number[]): Promise<void> {
  await setContentHashes(
    tx,
    ids.map((id) => ({ id, contentHash: null })),
  );
}

async function auditEach(tx: Tx, ids: readonly number[], entry: AuditEntry, nowMs: number): Promise<void> {
  const messages = await tx.rows<MessageName>(
    `SELECT id, entity, source_key FROM outbox_message WHERE id IN ${placeholders(ids.length)} ORDER BY id`,
    ids,
  );
  await appendAudit(
    tx,
    messages.map(({ id, entity, sourceKey }) => ({ ...entry, entity, sourceKey, messageId: id })),
    nowMs,
  );
}

/**
 * Creates that wait for a person, held or refused: a person may have let them go in the store that
 * was lost, but has not said so here. They are parked as unproven, with a line in the audit for
 * each.
 */
export async function doubtParkedCreates(tx: Tx, actor: string, nowMs: number): Promise<number> {
  const batches = await lockBatches(tx, parkedCreate);
  for (const ids of batches) {
    const known = await perhapsKnown(tx, ids);
    for (const [id, before] of known)
      await doubtParked(tx, [id], { code: 'perhaps_released_before_loss', before }, actor, nowMs);
    const others = ids.filter((id) => !known.has(id));
    if (others.length > 0) await doubtParked(tx, others, { code: 'perhaps_released_before_loss' }, actor, nowMs);
  }
  return batches.flat().length;
}

async function doubtParked(tx: Tx, ids: readonly number[], reason: Fact, actor: string, nowMs: number): Promise<void> {
  await auditEach(tx, ids, { event: 'parked', outcome: 'unproven', actor, detail: { reason } }, nowMs);
  await parkAsUnproven(tx, 'parked', ids, reason);
}

/** Those that were held because they may be known records under other keys: a person still has to know which ones. */
async function perhapsKnown(tx: Tx, ids: readonly number[]): Promise<Map<number, Fact>> {
  const rows = await tx.rows<{ id: number; reasonCode: string; reasonData: string | null }>(
    `SELECT id, reason_code, reason_data FROM outbox_message
      WHERE id IN ${placeholders(ids.length)} AND reason_code IN ('seems_renamed','replaces_record') ORDER BY id`,
    ids,
  );
  return new Map(rows.map(({ id, reasonCode, reasonData }) => [id, factOf(reasonCode, reasonData) as Fact]));
}

/**
 * Creates whose rows can't be mapped: the lost store may have sent them when they could. When they
 * can again, they are parked as unproven (`planRow`).
 */
export async function doubtUnmapped(tx: Tx, fate: UnboundFate): Promise<void> {
  const unmapped = `m.operation='create' AND m.state='parked' AND m.park_class='unmapped' AND ${isUnbound}`;
  await noteFirstSent(tx, unmapped, fate.to === 'in_doubt' ? fate.sentSince : null);
}

/** When these may have been sent for the first time; what is known of it stays. */
async function noteFirstSent(tx: Tx, which: string, atMs: number | null): Promise<void> {
  for (const ids of await lockBatches(tx, `${which} AND m.was_sent=0`))
    await tx.run(`UPDATE outbox_message SET was_sent=1, first_sent_at=? WHERE id IN ${placeholders(ids.length)}`, [
      atMs,
      ...ids,
    ]);
}

/**
 * Forgets what the service was believed to hold of these bound records, because an update may have been sent that this
 * store does not know: the next capture sends every field of them. Frozen bytes that may go out again prove nothing
 * when they are acknowledged: the service may repeat an answer that it gave before something newer. A waiting update of
 * an adopted record said single fields, and would say all of them now: it is judged anew.
 */
export async function doubtBindings(tx: Tx, entity: Entity, sourceKeys: readonly string[]): Promise<void> {
  if (sourceKeys.length === 0) return;
  await doubtBoundContents(tx, entity, sourceKeys);
  const keys = placeholders(sourceKeys.length);
  await tx.run(
    `UPDATE outbox_message SET content_hash=NULL WHERE entity=? AND source_key IN ${keys} AND (
        (operation<>'delete' AND state IN ('delivered','superseded'))
        OR (operation='update' AND state='discarded' AND revision<(
          SELECT b.revision FROM binding b WHERE b.entity=outbox_message.entity AND b.source_key=outbox_message.source_key))
        OR (operation='create' AND was_sent=1 AND state IN ('pending','sending','in_doubt'))
        OR (operation='update' AND body_hash IS NOT NULL AND state IN ('pending','sending','in_doubt','parked'))
        OR (operation='update' AND state='pending' AND EXISTS (SELECT 1 FROM adoption a
          WHERE a.entity=outbox_message.entity AND a.source_key=outbox_message.source_key AND a.reviewed_at IS NULL)))`,
    [entity, ...sourceKeys],
  );
}

/** From here on this store knows by itself what it sends. */
export async function markRecovered(tx: Tx): Promise<void> {
  const [newest] = await tx.select<{ id: number }>('SELECT id FROM outbox_message ORDER BY id DESC LIMIT 1');
  await writeStoreInfo(tx, 'recovered_to', String(newest?.id ?? 0));
}

/**
 * True if a store that was lost may have sent this message, and changes to its record after it: then its existence at
 * the service says nothing about its fields.
 */
export async function fromBeforeRecovery(tx: Tx): Promise<(messageId: number) => boolean> {
  const known = await readStoreInfos(tx, ['recovery', 'recovered_to']);
  if (known.has('recovery')) return () => true;
  const upTo = Number(known.get('recovered_to') ?? 0);
  return (messageId) => messageId <= upTo;
}
