import { appendAudit } from '../../audit/audit-log.js';
import type { AlertFact } from '../../model/facts/alerts.js';
import { legacy } from '../../model/facts/fact.js';
import { type Entity, inSource } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type AlertCause, raiseAlert } from '../../store/alerts.js';
import { readMarks, type SourceMarks, writeMarks } from '../../store/job-runs.js';
import type { Tx } from '../../store/store.js';

/**
 * Puts a brake on a source, which holds its updates and removals until a person confirms, and
 * alerts once.
 * @returns the alert, for the log when the transaction is committed; null where the brake was on already
 */
export async function brakeSource(
  tx: Tx,
  context: JobContext,
  entity: Entity,
  brake: NonNullable<SourceMarks['brake']>,
): Promise<AlertFact | null> {
  const { source } = context.settings;
  const name = inSource(entity, source);
  const before = await readMarks(tx, name);
  await writeMarks(tx, name, { ...before, brake });
  const { cause } = brake;
  if (before.brake?.cause === cause) return null;
  const alert: AlertFact = {
    code: 'source_held',
    entity,
    source: source || null,
    cause,
    reason: legacy(brake.reason),
  };
  await raiseBrake(tx, context, { entity, cause: `source.${name}`, outcome: cause, alert });
  return alert;
}

export async function raiseBrake(
  tx: Tx,
  { actor, nowMs }: JobContext,
  raised: {
    entity: Entity;
    cause: AlertCause;
    outcome: string;
    alert: AlertFact;
  },
): Promise<void> {
  const { entity, cause, outcome, alert } = raised;
  await raiseAlert(tx, cause, alert, nowMs());
  await appendAudit(tx, [{ event: 'alert', outcome, entity, actor, detail: { message: alert } }], nowMs());
}

/** Pure. */
export function heldInWords(entity: Entity, held: number, reason: string): string {
  return `${held} changes to ${entity}s are held: ${reason}`;
}
