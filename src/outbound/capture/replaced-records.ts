import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import type { Fact } from '../../model/facts/fact.js';
import type { RecordFact } from '../../model/facts/records.js';
import { type Entity, foldKey } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { supersedeUnsent } from '../outbox/transitions.js';
import { readRecoveryHold } from '../recovery/store-witness.js';
import { type KnownRecord, knownRecords, type RenamedOrder } from './known-records.js';
import { moveRecord, noteReplaced } from './move-record.js';
import { identityAtService, identityOf, type ReadRow } from './plan-row.js';
import { changedIdentity } from './safety-limits.js';

/*
 * Rows that say which record of the ERP they go on for (`replaces`): an order that was amended, a customer that was merged.
 */

/** A row, and the known record that it names. */
export interface Replacement {
  row: ReadRow;
  from: string;
  /** The named record under the spelling that the store knows, where it knows another one only. */
  spelled: string | null;
  /** The ERP has the named record no more, or calls it cancelled. */
  isOver: boolean;
  /** The key of another row that named the same record. */
  rival: string | null;
}

type Decision =
  /** Each is what it was. */
  | { to: 'nothing' }
  /** The named record goes on under the key of the row: binding, messages and, of a customer, its orders. */
  | { to: 'move' }
  /** Nothing of it was sent: the row is sent instead. */
  | { to: 'withdraw' }
  /** Both are at the service, where two records never become one: only put on record. */
  | { to: 'merge' }
  | { to: 'hold'; because: Because };

type Because = Extract<RecordFact, { code: 'replaces_record' }>['because'];

/** The fate of a row that names another record. Pure; one question a paragraph. */
export function decideReplacement(claim: Replacement, own: KnownRecord, named: KnownRecord): Decision {
  const { row, spelled, isOver, rival } = claim;
  // The row is a record of its own already, or a person let it go as one.
  if (!isFresh(own)) return { to: own.binding && named.binding && isOver && rival === null ? 'merge' : 'nothing' };

  if (rival !== null) return { to: 'hold', because: 'claimed_twice' };
  if (spelled !== null) return { to: 'hold', because: 'spelled_otherwise' };

  // Nothing of the named record is at the service, nor was on its way.
  const { newest, binding } = named;
  if (binding === null && named.unproven === undefined) {
    if (newest === null || ['delivered', 'superseded', 'discarded'].includes(newest.state)) return { to: 'nothing' };
    if (isOver) return { to: 'withdraw' };
  }

  // The service was told that it is over: the row is a new record there.
  const isRemoval = newest !== null && (newest.operation === 'delete' || newest.removal !== null);
  if (isRemoval && (newest.wasSent || newest.state === 'delivered')) return { to: 'nothing' };

  if (named.unproven === 'sending') return { to: 'hold', because: 'request_under_way' };
  if (!isOver) return { to: 'hold', because: 'still_there' };

  // The service knows a customer by the code: under another one it is another customer there.
  if (row.entity === 'customer') {
    if (!row.content.mapped) return { to: 'nothing' };
    if (changedIdentity(identityAtService(named), identityOf(row)) !== null) return { to: 'merge' };
  }
  return { to: 'move' };
}

/** Nothing was sent of it, nor did a person say that it should be. */
function isFresh({ newest, binding, closed }: KnownRecord): boolean {
  if (binding !== null || closed !== null) return false;
  return newest === null || (!newest.wasSent && ['parked', 'superseded', 'discarded'].includes(newest.state));
}

function heldBecause({ row, from, spelled, rival }: Replacement, because: Because): RecordFact {
  const { entity, sourceKey: to } = row;
  return { code: 'replaces_record', entity, from, to, spelled, because, ...(rival !== null && { rival }) };
}

/** An ERP may replace a record several times between two passes. */
const maxSteps = 20;

/** The rows of a page that name another record which the store knows, with what the ERP says of that one. */
export async function findReplacements(
  { store }: Pick<JobContext, 'store'>,
  reader: ErpReader,
  entity: Entity,
  rows: readonly ReadRow[],
): Promise<Replacement[]> {
  let open = rows.flatMap((row) =>
    row.replaces && row.replaces !== row.sourceKey ? [{ row, from: row.replaces }] : [],
  );
  const found: (Omit<Replacement, 'isOver'> & { key: string })[] = [];
  for (let step = 0; step < maxSteps && open.length > 0; step++) {
    const named = open;
    const { known, replacedBy, taken } = await store.read('look for replaced records', (tx) =>
      readNamed(tx, entity, named),
    );
    for (const { row, from } of named) {
      const same = known.get(foldKey(from)) ?? [];
      const key = same.includes(from) ? from : same.find((other) => other !== row.sourceKey);
      const before = replacedBy.get(from);
      if (before === row.sourceKey) continue;
      const inPage = named.find((other) => other.from === from && other.row !== row)?.row.sourceKey;
      const rival = before ?? inPage ?? null;
      if (key !== undefined || before !== undefined)
        found.push({ row, from, key: key ?? from, spelled: key === undefined || key === from ? null : key, rival });
    }
    // A record that was never read may have replaced a known one itself.
    const unknown = named.filter(
      ({ row, from }) =>
        !taken.has(row.sourceKey) &&
        !replacedBy.has(from) &&
        !found.some((one) => one.row === row && one.from === from),
    );
    const standing =
      unknown.length === 0 ? [] : await reader.standing(entity, [...new Set(unknown.map(({ from }) => from))]);
    open = unknown.flatMap(({ row, from }) => {
      const next = standing.find(({ sourceKey }) => sourceKey === from)?.replaces ?? null;
      return next === null || next === from || next === row.sourceKey ? [] : [{ row, from: next }];
    });
  }
  if (found.length === 0) return [];
  const { existing, cancelled } = await reader.presence(entity, [...new Set(found.map(({ key }) => key))], true);
  const isOver = (key: string) => cancelled.has(key) || (existing !== null && !existing.has(key));
  return found.map(({ key, ...one }) => ({ ...one, isOver: isOver(key) }));
}

/** Three queries, whatever the number of rows. */
async function readNamed(tx: Tx, entity: Entity, named: readonly { row: ReadRow; from: string }[]) {
  const froms = [...new Set(named.map(({ from }) => from))];
  const folded = [...new Set(froms.map(foldKey))];
  const owns = named.map(({ row }) => row.sourceKey);
  // The CASE keeps SQLite from reading every record of the entity, of which it expects few.
  const like = `WHERE folded_key IN ${placeholders(folded.length)} AND CASE WHEN entity=? THEN 1 ELSE 0 END=1`;
  const same = await tx.rows<{ sourceKey: string; foldedKey: string }>(
    `SELECT source_key, folded_key FROM binding ${like} UNION SELECT source_key, folded_key FROM outbox_message ${like}`,
    [...folded, entity, ...folded, entity],
  );
  const known = new Map<string, string[]>();
  for (const { sourceKey, foldedKey } of same) known.set(foldedKey, [...(known.get(foldedKey) ?? []), sourceKey]);
  const replaced = await tx.rows<{ sourceKey: string; replacedBy: string }>(
    `SELECT source_key, replaced_by FROM replaced_record WHERE entity=? AND source_key IN ${placeholders(froms.length)}`,
    [entity, ...froms],
  );
  const taken = await tx.rows<{ sourceKey: string }>(
    `SELECT source_key FROM binding WHERE entity=? AND source_key IN ${placeholders(owns.length)}`,
    [entity, ...owns],
  );
  return {
    known,
    replacedBy: new Map(replaced.map((row) => [row.sourceKey, row.replacedBy])),
    taken: new Set(taken.map(({ sourceKey }) => sourceKey)),
  };
}

/** Revision and generation that a record has reached. */
export function newestOf({ newest, binding, closed }: KnownRecord): { revision: number; generation: number } {
  const reached = [newest, binding, closed].filter((one) => one !== null);
  return {
    revision: Math.max(0, ...reached.map(({ revision }) => revision ?? 0)),
    generation: Math.max(0, ...reached.map(({ generation }) => generation)),
  };
}

/** The effect of rows that name another record on the rest of their page. */
export interface SettledReplacements {
  /** Why rows wait for a person, by key. */
  held: Map<string, Fact>;
  /** In a dry run: what would be known of rows that go on for another record. */
  moved: Map<string, KnownRecord>;
}

/** The page whose replacements are settled. */
interface ReplacingPage {
  entity: Entity;
  /** Null: a dry run, which writes nothing and notes in `replaced` the records that go on under another key. */
  lease: unknown;
  replaced: Set<string>;
}

/** Decides on replacements, in the transaction that writes the page. */
export async function settleReplacements(
  { actor }: Pick<JobContext, 'actor'>,
  tx: Tx,
  found: readonly Replacement[],
  { entity, lease, replaced }: ReplacingPage,
  nowMs: number,
): Promise<SettledReplacements> {
  const settled: SettledReplacements = { held: new Map(), moved: new Map() };
  if (found.length === 0) return settled;
  const isDry = lease === null;
  const keys = found.flatMap(({ row, from }) => [row.sourceKey, from]);
  const known = await knownRecords(tx, entity, keys, !isDry);
  for (const claim of found) {
    const { from } = claim;
    const to = claim.row.sourceKey;
    const named = known.get(from) as KnownRecord;
    let decision = decideReplacement(claim, known.get(to) as KnownRecord, named);
    if (decision.to === 'withdraw' && (await readRecoveryHold(tx)) !== null)
      decision = { to: 'hold', because: 'recovery_unsettled' };
    if (decision.to === 'hold') settled.held.set(to, heldBecause(claim, decision.because));
    if (decision.to === 'nothing' || decision.to === 'hold') continue;
    const { binding, newest } = named;
    if (isDry) {
      const unknown = { identity: null };
      const moved = {
        ...named,
        binding: binding && { ...binding, ...unknown },
        newest: newest && { ...newest, ...unknown },
      };
      if (decision.to === 'move') settled.moved.set(to, moved);
      if (decision.to !== 'merge') replaced.add(`${entity} ${from}`);
      continue;
    }
    const lines: AuditEntry[] = [
      { event: 'replaced', outcome: decision.to, entity, sourceKey: from, actor, detail: { by: to } },
      { event: 'replaced', outcome: decision.to, entity, sourceKey: to, actor, detail: { replaces: from } },
    ];
    if (decision.to === 'move') await moveRecord(tx, { entity, from, to, ...newestOf(named) }, nowMs);
    else await noteReplaced(tx, entity, from, to, nowMs);
    if (decision.to === 'withdraw')
      await supersedeUnsent(tx, [newest?.id ?? 0], { code: 'replaced_before_sending', by: to }, nowMs);
    await appendAudit(tx, lines, nowMs);
  }
  return settled;
}

/** Consequences of orders under new keys for the rest of their page. */
interface SettledRenames {
  /** Known keys of orders that may be at the service, by new key: a person says whether it is the same order. */
  seems: ReadonlyMap<string, string>;
  /** Why orders go on being held, by new key. */
  held: ReadonlyMap<string, Fact>;
}

/**
 * Closes creates that wait unsent under a key that their order has no longer, in the transaction that writes the page: the order
 * goes out under its new key alone.
 * @param lease null: a dry run, which writes nothing
 */
export async function settleRenamed(
  { actor }: Pick<JobContext, 'actor'>,
  tx: Tx,
  found: readonly RenamedOrder[],
  lease: unknown,
  nowMs: number,
): Promise<SettledRenames> {
  const seems = new Map<string, string>();
  const held = new Map<string, Fact>();
  if (found.length === 0) return { seems, held };
  const known = await knownRecords(tx, 'order', [...new Set(found.map(({ from }) => from))], lease !== null);
  // A lost store may have sent what waits here.
  const isUnsure = (await readRecoveryHold(tx)) !== null;
  for (const { to, from } of found) {
    const { newest, binding, unproven } = known.get(from) as KnownRecord;
    // Delivery may have claimed it meanwhile.
    if (binding !== null || unproven !== undefined || isUnsure) {
      seems.set(to, from);
      continue;
    }
    if (newest === null || !['pending', 'parked'].includes(newest.state)) continue;
    // A person has to look at it under any key.
    if (newest.parkClass === 'held') held.set(to, newest.reason ?? { code: 'earlier_change_held' });
    if (lease === null) continue;
    await supersedeUnsent(tx, [newest.id], { code: 'renamed_before_sending', to }, nowMs);
    const detail = { by: to };
    await appendAudit(
      tx,
      [
        {
          event: 'replaced',
          outcome: 'withdraw',
          entity: 'order',
          sourceKey: from,
          messageId: newest.id,
          actor,
          detail,
        },
      ],
      nowMs,
    );
  }
  return { seems, held };
}
