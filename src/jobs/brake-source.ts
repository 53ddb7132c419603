import { appendAudit } from '../audit/audit-log.js';
import type { Entity } from '../model/entity.js';
import { raiseAlert } from '../store/alerts.js';
import { readMarks, type SourceMarks, writeMarks } from '../store/cursors.js';
import type { Tx } from '../store/store.js';
import type { JobContext } from './job-context.js';

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
