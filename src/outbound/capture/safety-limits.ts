import type { SourceEnd } from '../../erp/erp-reader.js';
import {
  compareChangedAt,
  isReached,
  isSameTime,
  laterChangedAt,
  setBackSeconds,
  shiftChangedAt,
} from '../../erp/time/time-form.js';
import type { Fact } from '../../model/facts/fact.js';
import type { ChangedColumn, PassFact, RecordFact, RestoreEvidence, SourceFact } from '../../model/facts/records.js';
import { firstFew } from '../../model/facts/rows.js';
import { outside } from '../../model/outside.js';
import { type Entity, keyOfSource, sourceOf } from '../../model/record.js';
import type { SourceMarks } from '../../store/job-runs.js';
import type { Operation } from '../outbox/message.js';
import type { KnownBinding, NewestMessage } from './next-revision.js';

interface HoldLimits {
  maxCreates: number;
  maxUpdates: number;
  maxRemovals: number;
}

/**
 * Why the updates and removals of a pass wait for a person, or null. Pure. Changes to so many
 * records at once were hardly made by hand: more likely something happened to the ERP.
 * @param standing what was found wrong with the source itself (empty, restored), until a person
 * confirms it
 */
export function passHold(counts: PassCounts, limits: HoldLimits, standing: SourceFact | null): PassFact | null {
  if (counts.creates + counts.updates + counts.removals === 0) return null;
  if (standing !== null) return standing;
  if (counts.removals > limits.maxRemovals)
    return { code: 'too_many_removals', count: counts.removals, limit: limits.maxRemovals };
  if (counts.updates > limits.maxUpdates)
    return { code: 'too_many_updates', count: counts.updates, limit: limits.maxUpdates };
  if (counts.creates > limits.maxCreates)
    return { code: 'too_many_creates', count: counts.creates, limit: limits.maxCreates };
  return null;
}

export interface HoldInput {
  operation: Operation;
  contentHash: string;
  mappingFingerprint: string;
  newest: (NewestMessage & { mappingFingerprint: string; reason: Fact | null }) | null;
  binding: (KnownBinding & { mappingFingerprint: string }) | null;
  /** True if an update replaces the whole record at the service (PUT). */
  replacesRecord: boolean;
  /** Why creates of this key are suspicious (the ERP was restored, and the key was given before), or null. */
  suspiciousCreate: Fact | null;
}

/**
 * Why a single message waits for a person whatever else its pass does, or null. Pure.
 */
export function holdReason(input: HoldInput): Fact | null {
  const { operation, newest, binding } = input;
  if (operation === 'create') return input.suspiciousCreate;
  // It says what the service holds already, so that nothing will be sent.
  if (binding !== null && binding.contentHash === input.contentHash) return null;
  // No person has agreed to the change that this one replaces.
  if (newest?.state === 'parked' && newest.parkClass === 'held')
    return newest.reason ?? { code: 'earlier_change_held' };
  if (binding?.adoption && !binding.adoption.isReviewed) {
    const { differs } = binding.adoption;
    // If the record was not compared, an update of single fields says only the edits since.
    const isWhole = input.replacesRecord || binding.contentHash === null;
    if (differs === null ? isWhole : differs.length > 0) return { code: 'adopted_differs', clears: false };
  }
  if (operation === 'update' && mappingOf(newest, binding) !== input.mappingFingerprint)
    return { code: 'mapping_changed' };
  return null;
}

/**
 * Why what looks new may be known, or null. Pure.
 * @param pass.renamed known keys by entity and new key, of records that seem to be known ones; `replacing`: why rows that name another one wait; `givenUpTo`:
 * where the ERP was restored, the highest key before
 */
export function suspicion(
  { entity, sourceKey }: { entity: Entity; sourceKey: string },
  pass: {
    renamed?: ReadonlyMap<string, string>;
    replacing?: Readonly<Record<Entity, { held: ReadonlyMap<string, Fact> }>>;
    givenUpTo: Partial<Record<Entity, string>>;
  },
): Fact | null {
  const replacing = pass.replacing?.[entity].held.get(sourceKey);
  if (replacing !== undefined) return replacing;
  const from = pass.renamed?.get(`${entity} ${sourceKey}`);
  if (from !== undefined) return { code: 'seems_renamed', entity, from, to: sourceKey };
  if (!isGivenBefore(sourceKey, pass.givenUpTo[entity])) return null;
  return { code: 'key_given_before' };
}

function isGivenBefore(sourceKey: string, highest: string | undefined): boolean {
  const key = ownKey(sourceKey);
  return highest !== undefined && /^\d+$/.test(key) && BigInt(key) <= BigInt(highest);
}

/** Under which mapping the record was last sent, or is on its way. */
function mappingOf(newest: HoldInput['newest'], binding: HoldInput['binding']): string | null {
  const isUnderWay =
    newest !== null &&
    ['pending', 'sending', 'in_doubt', 'delivered'].includes(newest.state) &&
    !(binding !== null && newest.revision <= binding.revision);
  return isUnderWay ? newest.mappingFingerprint : (binding?.mappingFingerprint ?? newest?.mappingFingerprint ?? null);
}

/**
 * The columns that never change (number, creation time): if they differ, the key belongs to another record now. Pure.
 * @param before as JSON of column → value; null when it is not known
 */
export function changedIdentity(
  before: string | null,
  now: string | null,
): Extract<RecordFact, { code: 'key_reused' }> | null {
  if (before === null || now === null || before === now) return null;
  const [old, current] = [JSON.parse(before), JSON.parse(now)] as [Columns, Columns];
  // If other columns were configured meanwhile, those that both have decide.
  const names = Object.keys(old).filter((name) => Object.hasOwn(current, name));
  const changed = names.filter((name) => !isSameValue(old[name] ?? null, current[name] ?? null));
  if (changed.length === 0) return null;
  const shown = (value: string | null | undefined) => (value == null ? null : outside(value, 100));
  const columns = firstFew(changed).map(
    (column): ChangedColumn => ({ column, before: shown(old[column]), now: shown(current[column]) }),
  );
  return { code: 'key_reused', columns };
}

/** A column that got another precision writes the same time in another way. */
export function isSameValue(old: string | null, current: string | null): boolean {
  return old === current || (old !== null && current !== null && isSameTime(old, current));
}

type Columns = { [name: string]: string | null };

/** Fewer eligible rows than this may well all have been dealt with. */
const manyRows = 20;

/**
 * The fault of a source as a whole, or null. Pure. Keys and times only ever grow, unless the ERP was restored from a
 * backup: then numbers are given again, and what is missing was not deleted.
 * @param sweptRows eligible rows that a sweep has just read; null before it
 */
export function sourceHold(
  marks: SourceMarks,
  end: SourceEnd,
  sweptRows: number | null,
  toleranceSeconds: number,
): SourceMarks['hold'] {
  // Only a person can say that a restored ERP is right as it is.
  if (marks.hold?.code === 'source_restored') return marks.hold;
  if (end.isEmpty && (marks.highKey !== null || (marks.sweptRows ?? 0) > 0)) return { code: 'source_empty' };
  // Only another sweep can tell that rows are eligible again.
  if (sweptRows === null && marks.hold?.code === 'source_drained') return marks.hold;
  const before = marks.sweptRows ?? 0;
  if (sweptRows === 0 && before >= manyRows) return { code: 'source_drained', before };
  if (!end.isEmpty && marks.highKey !== null && end.key !== null && BigInt(end.key) < BigInt(marks.highKey))
    return restored({ code: 'highest_key_fell', found: shown(end.key), before: shown(marks.highKey) });
  if (
    marks.highChangedAt !== null &&
    end.changedAt !== null &&
    compareChangedAt(end.changedAt, shiftChangedAt(marks.highChangedAt, -toleranceSeconds)) < 0
  )
    return restored({ code: 'latest_change_fell', found: shown(end.changedAt), before: shown(marks.highChangedAt) });
  return null;
}

function restored(evidence: RestoreEvidence): SourceFact {
  return { code: 'source_restored', evidence };
}

const shown = (value: string) => outside(value, 60);

/** One order may have been renumbered by hand; two at once hardly. */
const manyTurnedKeys = 2;

/**
 * The fault of a source if known keys belong to other records now, or null. Pure. A restored ERP that was worked with
 * before anybody looked shows no lower key and no older change.
 * @param turnedKeys how many of them a pass has met
 */
export function turnedKeysHold(turnedKeys: number): SourceFact | null {
  if (turnedKeys < manyTurnedKeys) return null;
  return restored({ code: 'keys_turned' });
}

/** The facts of a pass when it looks where a source ends. */
export interface SourceLook {
  /** The ERP's, in the form of `changedAt`; null: the column holds no times. */
  clock: string | null;
  /** `changedAt` names another column since the last pass. */
  isAnew: boolean;
  /** The number of rows that a sweep has just read; null before it. */
  sweptRows: number | null;
}

/** The marks without a time that the ERP can't be behind: of another column, or one that its clock has not come to. Pure. */
export function believedMarks(marks: SourceMarks, { clock, isAnew }: SourceLook): SourceMarks {
  const { highChangedAt: high } = marks;
  return high !== null && (isAnew || !isReached(high, clock)) ? { ...marks, highChangedAt: null } : marks;
}

/**
 * The distance by which the latest change may lie before the mark: rows go, and in autumn the clock on the wall goes
 * back. Pure.
 */
export function toleranceSeconds(
  { highChangedAt }: SourceMarks,
  { capture, erp }: { capture: { overlapSeconds: number }; erp: { timeZone: string } },
): number {
  return capture.overlapSeconds + (highChangedAt === null ? 0 : setBackSeconds(highChangedAt, erp.timeZone));
}

/** The end of the rows that a pass has captured or found unchanged. */
export type SeenEnd = Pick<SourceEnd, 'changedAt' | 'key'>;

export const nothingSeen: SeenEnd = { changedAt: null, key: null };

/** The end of the rows, but for times that the ERP's clock has not come to: they may be corrected. Pure. */
export function endOf(rows: readonly { changedAt: string | null; sourceKey: string }[], clock: string | null): SeenEnd {
  let end = nothingSeen;
  for (const { changedAt, sourceKey: key } of rows)
    end = laterEnd(end, { changedAt: changedAt !== null && isReached(changedAt, clock) ? changedAt : null, key });
  return end;
}

/** The higher of both ends. A key that is no counter has no order in time. */
export function laterEnd(a: SeenEnd, b: SeenEnd): SeenEnd {
  return { changedAt: laterChangedAt(a.changedAt, b.changedAt), key: higherKey(a.key, b.key) };
}

/** Marks hold the keys as their ERP calls them. */
function ownKey(key: string): string {
  return keyOfSource(sourceOf(key), key) ?? key;
}

function higherKey(one: string | null, other: string | null): string | null {
  const [a, b] = [one, other].map((key) => key && ownKey(key)) as [string | null, string | null];
  const [first, second] = [a, b].map((key) => (key !== null && /^\d+$/.test(key) ? BigInt(key) : null));
  if (first == null) return second == null ? null : b;
  if (second == null) return a;
  return first >= second ? a : b;
}

/**
 * The marks after a look at the source. They stay where they were while something is wrong. Only rows
 * that were read for the service raise them: a draft that is thrown away is no sign of a restored ERP.
 */
export function nextMarks(
  marks: SourceMarks,
  seen: SeenEnd | null,
  sweptRows: number | null,
  hold: SourceMarks['hold'],
): SourceMarks {
  if (hold !== null) return { ...marks, hold };
  const high = laterEnd({ changedAt: marks.highChangedAt, key: marks.highKey }, seen ?? nothingSeen);
  return {
    highChangedAt: high.changedAt,
    highKey: high.key,
    sweptRows: sweptRows ?? marks.sweptRows,
    hold: null,
  };
}

/** The end of earlier passes over everything; null: none has come to its end. */
export type ReadBefore = Pick<SourceMarks, 'highChangedAt' | 'highKey'> | null;

/**
 * True if a row that is new to the store was there when an earlier pass read the ERP, so that something else made it
 * eligible since: a setting, more likely than a person at work. Pure. @param overlapSeconds by which a row may be
 * committed late
 */
export function isOverdue(
  { changedAt, sourceKey }: { changedAt: string | null; sourceKey: string },
  before: ReadBefore,
  overlapSeconds: number,
): boolean {
  if (before === null) return false;
  if (changedAt !== null && before.highChangedAt !== null)
    return compareChangedAt(changedAt, shiftChangedAt(before.highChangedAt, -overlapSeconds)) < 0;
  return changedAt === null && before.highKey !== null && isGivenBefore(sourceKey, before.highKey);
}

/** The changes that one pass over the ERP would make at the service, of one entity. */
export interface PassCounts {
  /** New records that earlier passes should have met (`isOverdue`). */
  creates: number;
  updates: number;
  removals: number;
}
