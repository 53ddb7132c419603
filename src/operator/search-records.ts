import { type KnownInvoice, knownInvoices } from '../inbound/invoices/list-invoices.js';
import { entities } from '../model/record.js';
import type { Tx } from '../store/store.js';
import { type FoundRecord, findRecords } from './find-records.js';

/** What one text names exactly: a key of the ERP, an order number, an id of the service, or an invoice. Each by an index. */
export async function searchRecords(
  tx: Tx,
  text: string,
): Promise<{ records: FoundRecord[]; invoices: KnownInvoice[] }> {
  const records: FoundRecord[] = [];
  for (const entity of entities) records.push(...(await findRecords(tx, entity, text)));
  return { records, invoices: await knownInvoices(tx, [text]) };
}
