import { type Entity, foldKey } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { BindingRow } from '../outbox/exported-bindings.js';
import { closeAsSettled } from '../outbox/transitions.js';
import { isUnbound } from './recover-messages.js';

/**
 * Closes unsent creates whose keys may be other spellings of imported ones: captured before the import, they were taken for new
 * records, and the key that they would go out under is none that the service has seen. The next pass reads their rows again, and
 * asks the ERP which keys are equal. Orders of such customers are read again too, because they name the customer.
 * @returns how many
 */
export async function closeRespelled(
  tx: Tx,
  entity: Entity,
  imported: readonly BindingRow[],
  nowMs: number,
): Promise<number> {
  const unsent = `m.operation='create' AND m.was_sent=0 AND m.state IN ('pending','parked') AND ${isUnbound}`;
  const folded = [...new Set(imported.map((row) => foldKey(row.source_key)))];
  const found = await tx.rows<{ id: number; sourceKey: string }>(
    `SELECT m.id, m.source_key FROM outbox_message m
      WHERE m.folded_key IN ${placeholders(folded.length)} AND m.entity=? AND ${unsent}${tx.forUpdate}`,
    [...folded, entity],
  );
  const keys = found.map(({ sourceKey }) => sourceKey);
  const orders =
    entity === 'customer' && keys.length > 0
      ? await tx.rows<{ id: number }>(
          `SELECT m.id FROM outbox_message m
            WHERE m.customer_key IN ${placeholders(keys.length)} AND m.entity='order' AND ${unsent}${tx.forUpdate}`,
          keys,
        )
      : [];
  const ids = [...found, ...orders].map(({ id }) => id);
  await closeAsSettled(tx, ids, { code: 'perhaps_respelled' }, nowMs);
  return ids.length;
}
