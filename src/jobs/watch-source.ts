import type { ErpReader } from '../erp/erp-reader.js';
import type { Entity } from '../model/entity.js';
import { endAlert } from '../store/alerts.js';
import { readMarks, type SourceMarks, writeMarks } from '../store/cursors.js';
import { assertEpoch, type Lease } from '../store/lease.js';
import { brakeSource } from './brake-source.js';
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
  const { store, settings, log, nowMs } = context;
  const end = await reader.sourceEnd(entity);
  const { marks, alert } = await store.transaction('note where the ERP ends', async (tx) => {
    if (lease) await assertEpoch(tx, lease);
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
