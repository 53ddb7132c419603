import type { SourceEnd } from '../../erp/erp-reader.js';
import {
  compareChangedAt,
  isReached,
  isSameTime,
  laterChangedAt,
  setBackSeconds,
  shiftChangedAt,
} from '../../erp/time/time-form.js';
import { type Entity, keyOfSource, pluralOf, sourceOf } from '../../model/record.js';
import { shellWord } from '../../model/shell-word.js';
import type { SourceMarks } from '../../store/job-runs.js';
import { heldAsAdopted } from '../outbox/adoptions.js';
import type { Operation } from '../outbox/message.js';
import type { KnownBinding, NewestMessage } from './next-revision.js';

interface BrakeLimits {
  maxUpdates: number;
  maxRemovals: number;
}

/**
 * Why the updates and removals of a pass wait for a person, or null. Pure. Changes to so many
 * records at once were hardly made by hand: more likely something happened to the ERP.
 * @param standing what was found wrong with the source itself (empty, restored), until a person
 * confirms it
 */
export function passBrake(counts: PassCounts, limits: BrakeLimits, standing: string | null): string | null {
  if (counts.updates + counts.removals === 0) return null;
  if (standing !== null) return standing;
  if (counts.removals > limits.maxRemovals)
    return `${counts.removals} removals in one pass, more than capture.maxRemovals (${limits.maxRemovals})`;
  if (counts.updates > limits.maxUpdates)
    return `${counts.updates} updates in one pass, more than capture.maxUpdates (${limits.maxUpdates})`;
  return null;
}

export interface HoldInput {
  operation: Operation;
  contentHash: string;
  mappingFingerprint: string;
  newest: (NewestMessage & { mappingFingerprint: string; reason: string | null }) | null;
  binding: (KnownBinding & { mappingFingerprint: string }) | null;
  /** Whether an update replaces the whole record at the service (PUT). */
  replacesRecord: boolean;
  /** Why creates of this key are suspicious (the ERP was restored, and the key was given before), or null. */
  suspiciousCreate: string | null;
}

/**
 * Why a single message waits for a person whatever else its pass does, or null. Pure.
 */
export function holdReason(input: HoldInput): string | null {
  const { operation, newest, binding } = input;
  if (operation === 'create') return input.suspiciousCreate;
  // It says what the service holds already, so that nothing will be sent.
  if (binding !== null && binding.contentHash === input.contentHash) return null;
  // No person has agreed to the change that this one replaces.
  if (newest?.state === 'parked' && newest.parkClass === 'held')
    return newest.reason ?? 'an earlier change to it is held';
  if (binding?.adoption && !binding.adoption.isReviewed) {
    const { differs } = binding.adoption;
    // Where the record was not compared, an update of single fields says only what was edited since.
    const isWhole = input.replacesRecord || binding.contentHash === null;
    if (differs === null ? isWhole : differs.length > 0) return heldAsAdopted;
  }
  if (operation === 'update' && mappingOf(newest, binding) !== input.mappingFingerprint)
    return 'the mapping changed, and this record with it';
  return null;
}

/** Why both wait for a person, and what that person says. */
export function renamedInWords(entity: Entity, from: string, to: string): string {
  const command = `waybill rekey ${pluralOf(entity)} ${shellWord(from)} ${shellWord(to)}`;
  const name = entity === 'order' ? 'number' : 'code';
  return `renamed? ${from} had this ${name} and is not found in the ERP any more, where ${to} has it now: \`${command}\` if it is the same ${entity}, or confirm it if it is another`;
}

/**
 * Why what looks new may be known, or null. Pure.
 * @param pass.renamed new keys of orders that seem to be known ones; `replacing`: why rows that name another one wait; `givenUpTo`:
 * where the ERP was restored, the highest key before
 */
export function suspicion(
  { entity, sourceKey }: { entity: Entity; sourceKey: string },
  pass: {
    renamed?: ReadonlyMap<string, string>;
    replacing?: Readonly<Record<Entity, { held: ReadonlyMap<string, string> }>>;
    givenUpTo: Partial<Record<Entity, string>>;
  },
): string | null {
  const replacing = pass.replacing?.[entity].held.get(sourceKey);
  if (replacing !== undefined) return replacing;
  const from = entity === 'order' ? pass.renamed?.get(sourceKey) : undefined;
  if (from !== undefined) return renamedInWords(entity, from, sourceKey);
  if (!isGivenBefore(sourceKey, pass.givenUpTo[entity])) return null;
  return 'the ERP seems to have been restored, and this key was given before';
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
 * What tells that a key belongs to another record now: the columns that never change (number,
 * creation time) did. Pure.
 * @param before as JSON of column → value; null when it is not known
 * @returns the columns that differ in words, or null
 */
export function changedIdentity(before: string | null, now: string | null): string | null {
  if (before === null || now === null || before === now) return null;
  const [old, current] = [JSON.parse(before), JSON.parse(now)] as [Columns, Columns];
  // Where other columns were configured meanwhile, those that both have tell it.
  const names = Object.keys(old).filter((name) => Object.hasOwn(current, name));
  const changed = names.filter((name) => !isSameValue(old[name] ?? null, current[name] ?? null));
  return (
    changed.map((name) => `${name} was ${old[name] ?? 'empty'} and is ${current[name] ?? 'empty'}`).join(', ') || null
  );
}

/** A column that got another precision writes the same time in another way. */
export function isSameValue(old: string | null, current: string | null): boolean {
  return old === current || (old !== null && current !== null && isSameTime(old, current));
}

type Columns = { [name: string]: string | null };

/** Fewer eligible rows than this may well all have been dealt with. */
const manyRows = 20;

/**
 * What is wrong with a source as a whole, or null. Pure. Keys and times only ever grow, unless the
 * ERP was restored from a backup: then numbers are given again, and what is missing was not
 * deleted.
 * @param sweptRows eligible rows that a sweep has just read; null before it
 */
export function sourceBrake(
  marks: SourceMarks,
  end: SourceEnd,
  sweptRows: number | null,
  toleranceSeconds: number,
): SourceMarks['brake'] {
  // Only a person can say that a restored ERP is right as it is.
  if (marks.brake?.cause === 'restored') return marks.brake;
  if (end.isEmpty && (marks.highKey !== null || (marks.sweptRows ?? 0) > 0))
    return { cause: 'empty', reason: 'the ERP has no rows any more, and it had some' };
  // Only another sweep can tell that rows are eligible again.
  if (sweptRows === null && marks.brake?.cause === 'drained') return marks.brake;
  if (sweptRows === 0 && (marks.sweptRows ?? 0) >= manyRows)
    return { cause: 'drained', reason: `no row is eligible any more, and ${marks.sweptRows} were` };
  if (!end.isEmpty && marks.highKey !== null && end.key !== null && BigInt(end.key) < BigInt(marks.highKey))
    return restored(`its highest key is ${end.key}, and it was ${marks.highKey}`);
  if (
    marks.highChangedAt !== null &&
    end.changedAt !== null &&
    compareChangedAt(end.changedAt, shiftChangedAt(marks.highChangedAt, -toleranceSeconds)) < 0
  )
    return restored(`its latest change is of ${end.changedAt}, and it was of ${marks.highChangedAt}`);
  return null;
}

function restored(what: string): SourceMarks['brake'] {
  return { cause: 'restored', reason: `the ERP seems to have been restored from a backup: ${what}` };
}

/** One order may have been renumbered by hand; two at once hardly. */
const manyTurnedKeys = 2;

/**
 * What it says of a source when known keys belong to other records now, or null. Pure. A restored
 * ERP that was worked with before anybody looked shows no lower key and no older change.
 * @param turnedKeys how many of them a pass has met
 */
export function turnedKeysBrake(turnedKeys: number): SourceMarks['brake'] {
  if (turnedKeys < manyTurnedKeys) return null;
  return restored('known keys belong to other records now');
}

/** What a pass knows when it looks where a source ends. */
export interface SourceLook {
  /** The ERP's, in the form of `changedAt`; null: the column holds no times. */
  clock: string | null;
  /** `changedAt` names another column since the last pass. */
  isAnew: boolean;
  /** How many rows a sweep has just read; null before it. */
  sweptRows: number | null;
}

/** The marks without a time that the ERP can't be behind: of another column, or one that its clock has not come to. Pure. */
export function believedMarks(marks: SourceMarks, { clock, isAnew }: SourceLook): SourceMarks {
  const { highChangedAt: high } = marks;
  return high !== null && (isAnew || !isReached(high, clock)) ? { ...marks, highChangedAt: null } : marks;
}

/** By how much the latest change may lie before the mark: rows go, and in autumn the clock on the wall goes back. Pure. */
export function toleranceSeconds(
  { highChangedAt }: SourceMarks,
  { capture, erp }: { capture: { overlapSeconds: number }; erp: { timeZone: string } },
): number {
  return capture.overlapSeconds + (highChangedAt === null ? 0 : setBackSeconds(highChangedAt, erp.timeZone));
}

/** Where the rows end that a pass has captured or found unchanged. */
export type SeenEnd = Pick<SourceEnd, 'changedAt' | 'key'>;

export const nothingSeen: SeenEnd = { changedAt: null, key: null };

/** Where rows end, but for times that the ERP's clock has not come to: they may be corrected. Pure. */
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
  brake: SourceMarks['brake'],
): SourceMarks {
  if (brake !== null) return { ...marks, brake };
  const high = laterEnd({ changedAt: marks.highChangedAt, key: marks.highKey }, seen ?? nothingSeen);
  return {
    highChangedAt: high.changedAt,
    highKey: high.key,
    sweptRows: sweptRows ?? marks.sweptRows,
    brake: null,
  };
}

/** What one pass over the ERP would change at the service, of one entity. */
export interface PassCounts {
  updates: number;
  removals: number;
}
