import { type KnownInvoice, knownInvoices } from '../inbound/invoices/list-invoices.js';
import type { Entity } from '../model/record.js';
import { entities } from '../model/record.js';
import type { Tx } from '../store/store.js';

export interface FoundRecord {
  entity: Entity;
  sourceKey: string;
  number: string | null;
}

/** `any`: the ERP's key or the number people know; only when neither is known, a customer's code or the service's id. */
export type FindBy = 'any' | 'key' | 'number';

/** How many matches are worth listing. */
const maxFound = 50;

/** The records of which something is known under this key. Several only when one record's number is another one's key. */
export async function findRecords(tx: Tx, entity: Entity, key: string, by: FindBy = 'any'): Promise<FoundRecord[]> {
  const found = new Map<string, FoundRecord>();
  const add = async (sql: string, parameters: string[]) => {
    for (const { sourceKey, number } of await tx.rows<FoundRecord>(sql, parameters))
      found.set(sourceKey, { entity, sourceKey, number: number ?? found.get(sourceKey)?.number ?? null });
  };
  if (by !== 'number') {
    await add('SELECT source_key, number FROM outbox_message WHERE entity=? AND source_key=? ORDER BY revision', [
      entity,
      key,
    ]);
    // Its messages may be pruned, or not written yet.
    await add('SELECT source_key, NULL AS number FROM binding WHERE entity=? AND source_key=?', [entity, key]);
    if (entity === 'order') await add('SELECT source_key, NULL AS number FROM unsettled WHERE source_key=?', [key]);
    await add('SELECT source_key, NULL AS number FROM replaced_record WHERE entity=? AND source_key=?', [entity, key]);
  }
  if (by !== 'key')
    await add(
      `SELECT DISTINCT source_key, number FROM outbox_message WHERE entity=? AND number=? ORDER BY source_key LIMIT ${maxFound}`,
      [entity, key],
    );
  // The service knows a customer by its code, also one that it does not have yet. Few are open: their index leads to them.
  if (by === 'any' && entity === 'customer' && found.size === 0)
    await add(
      `SELECT DISTINCT source_key, NULL AS number FROM outbox_message
        WHERE entity=? AND state IN ('pending','sending','in_doubt','parked') AND identity=? ORDER BY source_key LIMIT ${maxFound}`,
      [entity, JSON.stringify({ customer_code: key })],
    );
  // An id of the service is what people name least.
  if (by === 'any' && found.size === 0)
    await add(
      `SELECT b.source_key,
              (SELECT MAX(m.number) FROM outbox_message m WHERE m.entity=b.entity AND m.source_key=b.source_key) AS number
         FROM binding b WHERE b.entity=? AND b.service_id=? ORDER BY b.source_key LIMIT ${maxFound}`,
      [entity, key],
    );
  return [...found.values()];
}

/** What one text names exactly: a key of the ERP, an order number, an id of the service, or an invoice. Each by an index. */
export async function searchRecords(
  tx: Tx,
  text: string,
): Promise<{ records: FoundRecord[]; invoices: KnownInvoice[] }> {
  const records: FoundRecord[] = [];
  for (const entity of entities) records.push(...(await findRecords(tx, entity, text)));
  return { records, invoices: await knownInvoices(tx, [text]) };
}
