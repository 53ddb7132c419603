import { appendAudit } from '../../audit/audit-log.js';
import type { ErpReader, SourceEnd } from '../../erp/erp-reader.js';
import { compareChangedAt, shiftChangedAt } from '../../erp/time/change-cursor.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import { readMarks, type SourceMarks, writeMarks } from '../../store/cursors.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';

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

/**
 * Puts a brake on a source, which holds its updates and removals until a person confirms, and alerts once.
 * @returns what to say in the log when the transaction is committed; null when the brake was on already
 */
export async function brakeSource(
  tx: Tx,
  { actor, nowMs }: Pick<JobContext, 'actor' | 'nowMs'>,
  entity: Entity,
  brake: NonNullable<SourceMarks['brake']>,
): Promise<string | null> {
  const before = await readMarks(tx, entity);
  await writeMarks(tx, entity, { ...before, brake });
  if (before.brake?.cause === brake.cause) return null;
  const message = `Updates and removals of ${entity}s are held: ${brake.reason}. Look at the ERP, then \`waybill confirm\`.`;
  await raiseAlert(tx, `source.${entity}`, message, nowMs(), { cause: brake.cause });
  await appendAudit(tx, [{ event: 'alert', outcome: brake.cause, entity, actor, detail: { message } }], nowMs());
  return message;
}

/** Looks where a source ends, and puts the brake on (or takes it off) in the store. Alerts once, and when it is over. */
export async function watchSource(
  context: JobContext,
  reader: ErpReader,
  lease: Lease,
  entity: Entity,
  sweptRows: number | null,
): Promise<SourceMarks> {
  const { settings, log, nowMs } = context;
  const end = await reader.sourceEnd(entity);
  const { marks, alert } = await lease.write('note where the ERP ends', async (tx) => {
    const before = await readMarks(tx, entity);
    const brake = sourceBrake(before, end, sweptRows, settings.capture.overlapSeconds);
    const marks = nextMarks(before, end, sweptRows, brake);
    if (brake !== null) return { marks, alert: await brakeSource(tx, context, entity, brake) };
    if (JSON.stringify(marks) !== JSON.stringify(before)) await writeMarks(tx, entity, marks);
    if (before.brake !== null) await endAlert(tx, `source.${entity}`, nowMs());
    return { marks, alert: null };
  });
  if (alert !== null) log.error(alert);
  return marks;
}
