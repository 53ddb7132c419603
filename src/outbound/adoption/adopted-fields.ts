import type { JsonValue } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { Adoption } from '../outbox/adoptions.js';
import { composePatch } from '../outbox/compose-update.js';

/** A field in which the ERP and the service differ. Undefined: that side does not have it, or does not show it. */
export interface DifferingField {
  field: string;
  erp: JsonValue | undefined;
  service: JsonValue | undefined;
}

/** What an update would write over in these records, by source key, as far as the store still knows both sides. */
export async function differingFields(
  tx: Tx,
  adoptions: readonly Pick<Adoption, 'entity' | 'sourceKey'>[],
): Promise<Map<string, DifferingField[]>> {
  const fields = new Map<string, DifferingField[]>();
  for (const entity of ['customer', 'order'] as const) {
    const keys = adoptions.filter((one) => one.entity === entity).map(({ sourceKey }) => sourceKey);
    if (keys.length === 0) continue;
    const rows = await tx.select<{ source_key: string; acknowledged: string; record: string }>(
      `SELECT w.source_key, w.acknowledged, b.record
         FROM binding w
         JOIN outbox_message m ON m.entity=w.entity AND m.source_key=w.source_key AND m.state='parked' AND m.park_class='held'
         JOIN message_body b ON b.message_id=m.id
        WHERE w.entity=? AND w.acknowledged IS NOT NULL AND w.source_key IN ${placeholders(keys.length)} ORDER BY m.revision`,
      [entity, ...keys],
    );
    for (const row of rows) {
      const service = JSON.parse(row.acknowledged) as { [name: string]: JsonValue };
      const erp = JSON.parse(row.record) as { [name: string]: JsonValue };
      const value = (side: { [name: string]: JsonValue }, name: string) =>
        Object.hasOwn(side, name) ? side[name] : undefined;
      fields.set(
        `${entity} ${row.source_key}`,
        Object.keys(composePatch(service, erp) ?? {})
          .sort()
          .map((field) => ({ field, erp: value(erp, field), service: value(service, field) })),
      );
    }
  }
  return fields;
}
