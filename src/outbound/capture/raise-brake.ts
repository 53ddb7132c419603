import { appendAudit } from '../../audit/audit-log.js';
import type { AlertFact } from '../../model/facts/alerts.js';
import type { SourceFact } from '../../model/facts/records.js';
import { type Entity, inSource } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type AlertCause, raiseAlert } from '../../store/alerts.js';
import { readMarks, writeMarks } from '../../store/job-runs.js';
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
  brake: SourceFact,
): Promise<AlertFact | null> {
  const { source } = context.settings;
  const name = inSource(entity, source);
  const before = await readMarks(tx, name);
  await writeMarks(tx, name, { ...before, brake });
  if (before.brake?.code === brake.code) return null;
  const cause = causes[brake.code];
  const alert: AlertFact = { code: 'source_held', entity, source: source || null, cause, reason: brake };
  await raiseBrake(tx, context, { entity, cause: `source.${name}`, outcome: cause, alert });
  return alert;
}

/** The names of these brakes in alerts and the audit log. */
const causes = { source_empty: 'empty', source_drained: 'drained', source_restored: 'restored' } as const;

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
