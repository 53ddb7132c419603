import type { SourceEnd } from '../erp/erp-reader.js';
import { compareChangedAt, shiftChangedAt } from '../erp/shift-changed-at.js';
import type { SourceMarks } from '../store/cursors.js';

/** Fewer eligible rows than this may well all have been dealt with. */
const manyRows = 20;

/**
 * What is wrong with a source as a whole, or null. Pure. Keys and times only ever grow, unless the ERP was restored from a
 * backup: then numbers are given again, and what is missing was not deleted.
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
 * What it says of a source when known keys belong to other records now, or null. Pure. A restored ERP that was worked with
 * before anybody looked shows no lower key and no older change.
 * @param turnedKeys how many of them a pass has met
 */
export function turnedKeysBrake(turnedKeys: number): SourceMarks['brake'] {
  if (turnedKeys < manyTurnedKeys) return null;
  return restored('known keys belong to other records now');
}

/** The marks after a look at the source. They stay where they were while something is wrong. */
export function nextMarks(
  marks: SourceMarks,
  end: SourceEnd,
  sweptRows: number | null,
  brake: SourceMarks['brake'],
): SourceMarks {
  if (brake !== null) return { ...marks, brake };
  return {
    highChangedAt: end.changedAt ?? marks.highChangedAt,
    highKey: end.key ?? marks.highKey,
    sweptRows: sweptRows ?? marks.sweptRows,
    brake: null,
  };
}
