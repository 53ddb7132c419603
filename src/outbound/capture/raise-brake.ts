import { appendAudit } from '../../audit/audit-log.js';
import { type Entity, inSource } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type AlertCause, raiseAlert } from '../../store/alerts.js';
import { readMarks, type SourceMarks, writeMarks } from '../../store/job-runs.js';
import type { Tx } from '../../store/store.js';

/**
 * Puts a brake on a source, which holds its updates and removals until a person confirms, and
 * alerts once.
 * @returns what to say in the log when the transaction is committed; null when the brake was on
 * already
 */
export async function brakeSource(
  tx: Tx,
  context: JobContext,
  entity: Entity,
  brake: NonNullable<SourceMarks['brake']>,
): Promise<string | null> {
  const name = inSource(entity, context.settings.source);
  const before = await readMarks(tx, name);
  await writeMarks(tx, name, { ...before, brake });
  const { cause } = brake;
  if (before.brake?.cause === cause) return null;
  const message = `${sourceInWords(context)}Updates and removals of ${entity}s are held: ${brake.reason}. Look at the ERP, then \`waybill confirm\`.`;
  await raiseBrake(tx, context, { entity, cause: `source.${name}`, outcome: cause, message, detail: { cause } });
  return message;
}

export async function raiseBrake(
  tx: Tx,
  { actor, nowMs }: JobContext,
  raised: {
    entity: Entity;
    cause: AlertCause;
    outcome: string;
    message: string;
    detail: Record<string, string | number>;
  },
): Promise<void> {
  const { entity, cause, outcome, message, detail } = raised;
  await raiseAlert(tx, cause, message, nowMs(), detail);
  await appendAudit(tx, [{ event: 'alert', outcome, entity, actor, detail: { message } }], nowMs());
}

/** Pure. What a message of a named source begins with. */
export function sourceInWords({ settings: { source } }: Pick<JobContext, 'settings'>): string {
  return source ? `Source ${source}: ` : '';
}

/** Pure. */
export function heldInWords(entity: Entity, held: number, reason: string): string {
  return `${held} changes to ${entity}s are held: ${reason}`;
}
