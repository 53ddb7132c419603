import { appendAudit } from '../audit/audit-log.js';
import type { ErpReader } from '../erp/erp-reader.js';
import type { Entity } from '../model/entity.js';
import { endAlert, raiseAlert } from '../store/alerts.js';
import { readMarks, type SourceMarks, writeMarks } from '../store/cursors.js';
import { assertEpoch, type Lease } from '../store/lease.js';
import type { JobContext } from './job-context.js';
import { nextMarks, sourceBrake } from './source-brake.js';

/** Looks where a source ends, and puts the brake on (or takes it off) in the store. Alerts once, and when it is over. */
export async function watchSource(
  context: JobContext,
  reader: ErpReader,
  lease: Lease | null,
  entity: Entity,
  sweptRows: number | null,
): Promise<SourceMarks> {
  const { store, settings, log, actor, nowMs } = context;
  const end = await reader.sourceEnd(entity);
  const { marks, alert } = await store.transaction('note where the ERP ends', async (tx) => {
    if (lease) await assertEpoch(tx, lease);
    const before = await readMarks(tx, entity);
    const brake = sourceBrake(before, end, sweptRows, settings.capture.overlapSeconds);
    const marks = nextMarks(before, end, sweptRows, brake);
    if (JSON.stringify(marks) !== JSON.stringify(before)) await writeMarks(tx, entity, marks);
    if (brake === null) {
      if (before.brake !== null) await endAlert(tx, `source.${entity}`, nowMs());
      return { marks, alert: null };
    }
    if (before.brake?.cause === brake.cause) return { marks, alert: null };
    const message = `Updates and removals of ${entity}s are held: ${brake.reason}. Look at the ERP, then \`waybill confirm\`.`;
    await raiseAlert(tx, `source.${entity}`, message, nowMs(), { cause: brake.cause });
    await appendAudit(tx, [{ event: 'alert', outcome: brake.cause, entity, actor, detail: { message } }], nowMs());
    return { marks, alert: message };
  });
  if (alert !== null) log.error(alert);
  return marks;
}
