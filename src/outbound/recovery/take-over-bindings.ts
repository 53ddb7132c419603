import { appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import { type Entity, entities } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { lockCaptures, lockLease } from '../../store/lease.js';
import { inChunks, placeholders, updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { type AdoptionRow, deleteAdoption, importAdoptions } from '../outbox/adoptions.js';
import { type BindingClaim, BindingHolders } from '../outbox/binding-holders.js';
import { closeBindings, importBindings, importClosedBindings } from '../outbox/bindings.js';
import { type BindingRow, boundKeys, type ClosedBindingRow } from '../outbox/exported-bindings.js';
import type { Operation } from '../outbox/message.js';
import { closeAsSettled } from '../outbox/transitions.js';
import { closeRespelled } from './close-respelled.js';
import { doubtBindings } from './recover-messages.js';
import { lockRecoveryHold, type RecoveryHold, readLineage } from './store-witness.js';

/** A line of what `waybill bindings export` wrote. */
export type ExportedRow = AdoptionRow | BindingRow | ClosedBindingRow;

export interface TakenOver {
  /** `removed`: records that the service has no more. */
  bindings: TakenOverBindings & { removed: number };
  /** Records whose acknowledged values are not certain any more, so that every field of them is sent again. */
  doubtedBindings: number;
}

/** An export of bindings, and the store that wrote it. */
export interface ExportedBindings {
  /** In the order of the file, from its beginning each time. */
  rows: AsyncIterable<ExportedRow>;
  /** The name of that store, and those of the stores that it had replaced; null: an earlier version wrote the file. */
  lineage: readonly string[] | null;
  /** When records of that store got other keys; null: they never did, or an earlier version wrote the file. */
  rekeyedAt: number | null;
}

/**
 * Takes over what an export says, and believes no binding any more. Each transaction keeps capture out: a pass that has read
 * what is known before a binding comes would write a create beside it. Each also checks the hold again, which keeps delivery out.
 * @param endWrites puts on record that these messages may have been sent, which are closed now
 * @throws when another recovery has ended the hold meanwhile
 */
export async function takeOverBindings(
  context: JobContext,
  hold: RecoveryHold,
  exported: ExportedBindings | null,
  endWrites: Closing['endWrites'],
): Promise<TakenOver> {
  const bindings: TakenOver['bindings'] = { ...nothingTakenOver(), removed: 0 };
  const isSuccessor = await context.store.read('compare the lineage', (tx) => comesAfter(tx, hold, exported));
  for await (const chunk of inChunks(exported?.rows ?? null, 500)) {
    const work = (tx: Tx) => importRows(context, tx, hold, chunk, { nowMs: context.nowMs(), endWrites, isSuccessor });
    const done = await context.store.transaction('import bindings', work);
    for (const name of ['imported', 'older', 'taken', 'closed', 'removed'] as const) bindings[name] += done[name];
    bindings.refused.push(...done.refused.slice(0, maxRefused - bindings.refused.length));
  }
  return { bindings, doubtedBindings: await doubtAllBindings(context, hold) };
}

/**
 * Tells whether the store that wrote the export went on from this one: then its newer word of a record counts, also a new id.
 * Otherwise both stores have sent by themselves, and two ids of one record may be two records.
 */
async function comesAfter(
  tx: Tx,
  hold: Pick<RecoveryHold, 'kind'> | null,
  exported: ExportedBindings | null,
): Promise<boolean> {
  if (exported?.lineage) return exported.lineage.includes((await readLineage(tx))[0] as string);
  return hold?.kind === 'older' || hold?.kind === 'unwitnessed';
}

async function importRows(
  { nowMs, actor }: JobContext,
  tx: Tx,
  hold: RecoveryHold,
  rows: readonly ExportedRow[],
  closing: Closing,
): Promise<TakenOver['bindings']> {
  await lockCaptures(tx);
  await lockLease(tx, 'service');
  await lockRecoveryHold(tx, hold);
  const { open, closed, adoptions } = sortOut(rows);
  const removed = await takeOverRemovals(tx, closed, closing);
  await importAdoptions(tx, adoptions);
  const taken = await takeOverOpen(tx, open, closing);
  await refuse(tx, taken.refused, actor, nowMs());
  return { ...taken, removed };
}

/** Rows of one chunk by their kind, less the removals that a newer binding of the same chunk contradicts. */
function sortOut(rows: readonly ExportedRow[]) {
  const open = rows.filter((row): row is BindingRow => !('closed_at' in row) && !('adopted_from' in row));
  const cameBack = (one: ClosedBindingRow) =>
    open.some(
      (row) => row.entity === one.entity && row.source_key === one.source_key && row.revision > (one.revision ?? 0),
    );
  const closed = rows.filter((row): row is ClosedBindingRow => 'closed_at' in row).filter((row) => !cameBack(row));
  const adoptions = rows.filter((row): row is AdoptionRow => 'adopted_from' in row);
  return { open, closed, adoptions };
}

/** Changes that an export would make here. */
export interface ForeseenTakeOver extends Pick<TakenOverBindings, 'imported' | 'older' | 'taken' | 'refused'> {
  removed: number;
  /** Bound records, after it. */
  bound: number;
  /** Tells whether the export would bind a record that is not bound yet. */
  binds(entity: Entity, sourceKey: string): boolean;
}

/** Decides as `takeOverBindings` does, and writes nothing. */
export async function foreseeTakeOver(
  { store }: JobContext,
  hold: RecoveryHold | null,
  exported: ExportedBindings | null,
): Promise<ForeseenTakeOver> {
  const isSuccessor = await store.read('compare the lineage', (tx) => comesAfter(tx, hold, exported));
  const foreseen = { ...nothingTakenOver(), removed: 0 };
  /** The revision at which the file has bound each record so far. The record of each id. */
  const revisions = new Map<string, number>();
  const keysById = new Map<string, string>();
  let added = 0;
  for await (const chunk of inChunks(exported?.rows ?? null, 500)) {
    const { open, closed } = sortOut(chunk);
    await store.read('compare bindings', async (tx) => {
      for (const entity of entities) {
        const name = (key: string) => `${entity} ${key}`;
        const removals = await newerThanKnown(tx, entity, ofEntity(closed, entity));
        const gone = removals.filter(
          ({ source_key: key, revision }) => revision !== null && revision > (revisions.get(name(key)) ?? -1),
        );
        foreseen.removed += gone.length;
        added -= (await newestRevisions(tx, 'binding', entity, keysOf(gone))).size;
        const judged = await judgeOpen(tx, entity, ofEntity(open, entity), isSuccessor);
        foreseen.older += judged.older;
        foreseen.refused.push(...judged.refused);
        for (const row of judged.newer) {
          const heldBy = keysById.get(name(row.service_id));
          if (heldBy !== undefined && heldBy !== row.source_key) {
            foreseen.refused.push({ entity, sourceKey: row.source_key, serviceId: row.service_id, heldBy });
            continue;
          }
          keysById.set(name(row.service_id), row.source_key);
          revisions.set(name(row.source_key), row.revision);
          foreseen.imported++;
          if (!judged.holders.isBound(entity, row.source_key)) added++;
        }
      }
    });
  }
  const before = (await store.read('count bindings', (tx) => tx.value<number>('SELECT COUNT(*) FROM binding'))) ?? 0;
  return {
    imported: foreseen.imported,
    older: foreseen.older,
    taken: foreseen.refused.length,
    refused: foreseen.refused.slice(0, maxRefused),
    removed: foreseen.removed,
    bound: before + added,
    binds: (entity, sourceKey) => revisions.has(`${entity} ${sourceKey}`),
  };
}

function ofEntity<T extends { entity: string }>(rows: readonly T[], entity: Entity): T[] {
  return rows.filter((row) => row.entity === entity);
}

/** Puts on the audit of each record why it was not bound. That it was adopted counts for nothing then. */
async function refuse(tx: Tx, refused: readonly RefusedBinding[], actor: string, nowMs: number): Promise<void> {
  // A record that is bound here keeps what is known of it.
  for (const one of refused) if (one.boundTo === undefined) await deleteAdoption(tx, one);
  await appendAudit(
    tx,
    refused.map(({ entity, sourceKey, serviceId, heldBy, boundTo }) => ({
      event: 'operator' as const,
      outcome: 'binding_refused',
      entity,
      sourceKey,
      actor,
      detail: {
        serviceId,
        reason:
          boundTo === undefined
            ? `It is the ${entity} with the key ${heldBy} already; the export says it of both.`
            : `The ${entity} is ${boundTo} here: the service may have two records of it. Look at both there.`,
      },
    })),
    nowMs,
  );
}

/** A copy and an export tell what the service held then, and no changed-at proves that a row has not changed since. */
async function doubtAllBindings({ store }: JobContext, hold: RecoveryHold): Promise<number> {
  let doubted = 0;
  for (const entity of entities)
    for (let after = ''; ; ) {
      const keys = await store.transaction('doubt older bindings', async (tx) => {
        await lockCaptures(tx);
        await lockRecoveryHold(tx, hold);
        const found = await boundKeys(tx, entity, after, 1_000);
        await doubtBindings(tx, entity, found);
        return found;
      });
      const last = keys.at(-1);
      if (last === undefined) break;
      doubted += keys.length;
      after = last;
    }
  return doubted;
}

/** A line of an export that contradicts what the store knows. */
export interface RefusedBinding extends BindingClaim {
  entity: Entity;
  /** The key of the record that holds the id; its own where it has another id. */
  heldBy: string;
  /** The id that this very record has here. */
  boundTo?: string;
}

/** The number of records that are named; all are counted and on the audit. */
const maxRefused = 100;

interface TakenOverBindings {
  imported: number;
  /** The store knew the record better already. */
  older: number;
  /** Not taken over, because another record holds the id at the service, or the record has another id here. */
  taken: number;
  /** Some of those. */
  refused: RefusedBinding[];
  /** Creates and removals that wait no more, because the record is there: capture compares its row with the binding. */
  closed: number;
}

function nothingTakenOver(): TakenOverBindings {
  return { imported: 0, older: 0, taken: 0, refused: [], closed: 0 };
}

/** Takes over bindings that were exported. A create that was captured meanwhile, and never sent, is closed. */
async function takeOverOpen(tx: Tx, rows: readonly BindingRow[], closing: Closing): Promise<TakenOverBindings> {
  const result = nothingTakenOver();
  for (const entity of entities) {
    const { isSuccessor } = closing;
    const { newer, refused, older } = await judgeOpen(tx, entity, ofEntity(rows, entity), isSuccessor);
    result.imported += newer.length;
    result.taken += refused.length;
    result.refused.push(...refused);
    result.older += older;
    if (newer.length === 0) continue;
    await closeMadeAnew(tx, entity, newer, closing.nowMs);
    const holders = await BindingHolders.of(tx, newer.map(claimIn(entity)));
    await importBindings(tx, newer, holders, { isSuccessor });
    const reason: Fact = { code: 'binding_imported' };
    result.closed += await closeProven(tx, entity, newer, { isBound: true, reason }, closing);
    result.closed += await closeRespelled(tx, entity, newer, closing.nowMs);
    await moveBehind(tx, entity, newer);
  }
  return result;
}

/** Sorts exported bindings of one entity into news, what the store knows better, and what contradicts it. */
async function judgeOpen(
  tx: Tx,
  entity: Entity,
  given: readonly BindingRow[],
  isSuccessor: boolean,
): Promise<{ newer: BindingRow[]; refused: RefusedBinding[]; older: number; holders: BindingHolders }> {
  const other = isSuccessor ? new Map<string, string>() : await otherIds(tx, entity, given);
  const contradicting = given.filter((row) => other.has(row.source_key));
  const agreeing = given.filter((row) => !other.has(row.source_key));
  // Records removed since the export stay removed.
  const known = await newerThanKnown(tx, entity, agreeing);
  const holders = await BindingHolders.of(tx, known.map(claimIn(entity)));
  const anew = new Set((await madeAnew(tx, entity, known)).map(({ sourceKey }) => sourceKey));
  // Another record holds its id by now. Its create stays in doubt, and a person finds which of the two it is.
  const problems = known.map((row): { row: BindingRow; refused: RefusedBinding | null } => {
    const claim = claimIn(entity)(row);
    const mayMove = isSuccessor || anew.has(row.source_key);
    const renamedFrom = mayMove ? holders.boundTo(entity, row.source_key) : null;
    const problem = holders.problemOf({ ...claim, renamedFrom });
    if (problem === null) return { row, refused: null };
    const heldBy = problem.kind === 'taken' ? problem.heldBy : row.source_key;
    const refused = problem.kind === 'bound' ? { heldBy, boundTo: problem.boundTo } : { heldBy };
    return { row, refused: { ...claim, ...refused } };
  });
  const taken = problems.flatMap((one) => one.refused ?? []);
  const refused = contradicting.map((row) => ({
    ...claimIn(entity)(row),
    heldBy: row.source_key,
    boundTo: other.get(row.source_key) as string,
  }));
  return {
    newer: problems.flatMap((one) => (one.refused === null ? [one.row] : [])),
    refused: [...taken, ...refused],
    older: agreeing.length - known.length,
    holders,
  };
}

function claimIn(entity: Entity) {
  return (row: BindingRow) => ({ entity, sourceKey: row.source_key, serviceId: row.service_id });
}

/**
 * Bindings here of records that were removed at the service and made anew since: a create of a later generation is another
 * record there, with another id.
 */
async function madeAnew(tx: Tx, entity: Entity, exported: readonly BindingRow[]) {
  if (exported.length === 0) return [];
  const bound = await tx.rows<{ sourceKey: string; serviceId: string; revision: number; generation: number }>(
    `SELECT source_key, service_id, revision, generation FROM binding
      WHERE entity=? AND source_key IN ${placeholders(exported.length)}`,
    [entity, ...keysOf(exported)],
  );
  const said = new Map(exported.map((row) => [row.source_key, row]));
  return bound.filter(({ sourceKey, serviceId, generation }) => {
    const row = said.get(sourceKey);
    return row !== undefined && row.service_id !== serviceId && row.generation > generation;
  });
}

async function closeMadeAnew(tx: Tx, entity: Entity, exported: readonly BindingRow[], nowMs: number): Promise<void> {
  const over = await madeAnew(tx, entity, exported);
  await closeBindings(
    tx,
    over.map(({ sourceKey, revision, generation }) => ({ entity, sourceKey, revision, generation })),
    nowMs,
  );
}

/** The id of a record here that these rows say is another one, of the same generation, by key. */
async function otherIds(tx: Tx, entity: Entity, given: readonly BindingRow[]): Promise<Map<string, string>> {
  if (given.length === 0) return new Map();
  const rows = await tx.rows<{ sourceKey: string; serviceId: string; generation: number }>(
    `SELECT source_key, service_id, generation FROM binding WHERE entity=? AND source_key IN ${placeholders(given.length)}`,
    [entity, ...keysOf(given)],
  );
  const said = new Map(given.map((row) => [row.source_key, row]));
  const differs = rows.filter(({ sourceKey, serviceId, generation }) => {
    const row = said.get(sourceKey);
    return row?.generation === generation && row.service_id !== serviceId;
  });
  return new Map(differs.map(({ sourceKey, serviceId }) => [sourceKey, serviceId]));
}

/**
 * Takes over removals that were exported, unless the store knows something newer. Open messages about these records are
 * closed: a row that is there is captured as a new record, with the key of the next generation.
 * @returns how many were news
 */
async function takeOverRemovals(tx: Tx, rows: readonly ClosedBindingRow[], closing: Closing): Promise<number> {
  let imported = 0;
  for (const entity of entities) {
    const news = await newerThanKnown(
      tx,
      entity,
      rows.filter((row) => row.entity === entity),
    );
    if (news.length === 0) continue;
    const gone = news.filter((row): row is RemovedRow => row.revision !== null);
    imported += gone.length;
    const reached = await newestRevisions(tx, 'outbox_message', entity, keysOf(news));
    await importClosedBindings(
      tx,
      entity,
      // Edits that were captured since have revisions of their own: the removal ends them too.
      news.map((row) => ({
        ...row,
        revision: row.revision === null ? null : Math.max(row.revision, reached.get(row.source_key) ?? 0),
      })),
    );
    if (gone.length === 0) continue;
    const reason: Fact = { code: 'removal_imported' };
    await closeProven(tx, entity, gone, { isBound: false, reason }, closing);
  }
  return imported;
}

interface Closing {
  nowMs: number;
  /** See `comesAfter`. */
  isSuccessor: boolean;
  endWrites(tx: Tx, messageIds: readonly number[], nowMs: number): Promise<void>;
}

/** An export's line about a record: at this revision it was acknowledged, or removed. */
interface Proof {
  source_key: string;
  revision: number;
}

/** A closed binding that tells of a removed record. */
type RemovedRow = ClosedBindingRow & Proof;

/**
 * Closes the messages of records that an export says are bound or removed: all messages no newer than the export, even those
 * that a copy was sending. An unsent message is closed also when it is newer: of a removed record every one, of a bound one its
 * create. The updates of a bound record go on, because they may be put on hold. Nothing is sent meanwhile.
 * @returns how many
 */
async function closeProven(
  tx: Tx,
  entity: Entity,
  proofs: readonly Proof[],
  what: { isBound: boolean; reason: Fact },
  { nowMs, endWrites }: Closing,
): Promise<number> {
  const revisions = new Map(proofs.map((proof) => [proof.source_key, proof.revision]));
  const open = await tx.rows<OpenMessage>(
    `SELECT id, source_key, revision, operation, was_sent FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(revisions.size)} AND state IN ('pending','parked','sending','in_doubt')
        ${what.isBound ? "AND operation<>'update'" : ''}${tx.forUpdate}`,
    [entity, ...revisions.keys()],
  );
  const proven = open.filter((message) => {
    const isUnsent = !message.wasSent && (message.operation === 'create' || !what.isBound);
    return isUnsent || message.revision <= (revisions.get(message.sourceKey) as number);
  });
  const ids = proven.map(({ id }) => id);
  await endWrites(tx, ids, nowMs);
  await closeAsSettled(tx, ids, what.reason, nowMs);
  return proven.length;
}

type OpenMessage = {
  id: number;
  sourceKey: string;
  revision: number;
  operation: Operation;
  wasSent: 0 | 1;
};

/**
 * The open messages of a copy speak of the record that is there by now, so they follow everything that the export tells of:
 * else their acknowledgement would take the binding back, and the next export would count as older than this one.
 */
async function moveBehind(tx: Tx, entity: Entity, bindings: readonly BindingRow[]): Promise<void> {
  const bound = new Map(bindings.map((row) => [row.source_key, row]));
  const reached = await newestRevisions(tx, 'outbox_message', entity, [...bound.keys()]);
  const open = await tx.rows<OpenMessage>(
    `SELECT id, source_key, revision FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(bound.size)} AND operation<>'create'
        AND state IN ('pending','parked','sending','in_doubt')${tx.forUpdate}`,
    [entity, ...bound.keys()],
  );
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    open.map(({ id, sourceKey, revision }) => {
      const binding = bound.get(sourceKey) as BindingRow;
      const offset = Math.max(binding.revision, reached.get(sourceKey) ?? 0);
      return { id, revision: revision + offset, generation: binding.generation };
    }),
  );
}

/** The exported rows that are newer than the store's own bindings, open or closed. */
async function newerThanKnown<T extends Pick<ClosedBindingRow, 'source_key' | 'revision'>>(
  tx: Tx,
  entity: Entity,
  given: readonly T[],
): Promise<T[]> {
  const open = await newestRevisions(tx, 'binding', entity, keysOf(given));
  const closed = await newestRevisions(tx, 'closed_binding', entity, keysOf(given));
  return given.filter(
    ({ source_key: key, revision }) => (revision ?? 0) > Math.max(open.get(key) ?? -1, closed.get(key) ?? -1),
  );
}

/** The newest revision of each of these records that the table tells of; of a key that a record has left, 0. */
async function newestRevisions(
  tx: Tx,
  table: 'outbox_message' | 'binding' | 'closed_binding',
  entity: Entity,
  keys: readonly string[],
): Promise<Map<string, number>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.rows<{ sourceKey: string; revision: number }>(
    `SELECT source_key, COALESCE(MAX(revision), 0) AS revision FROM ${table}
      WHERE entity=? AND source_key IN ${placeholders(keys.length)} GROUP BY source_key`,
    [entity, ...keys],
  );
  return new Map(rows.map((row) => [row.sourceKey, row.revision]));
}

function keysOf(rows: readonly Pick<Proof, 'source_key'>[]): string[] {
  return rows.map((row) => row.source_key);
}
