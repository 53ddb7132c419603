import type { Settings } from '../config/settings.js';
import { type Entity, entities } from '../model/record.js';
import { type AdoptionRow, adoptionsAfter } from '../outbound/outbox/adoptions.js';
import {
  type BindingRow,
  bindingsAfter,
  type ClosedBindingRow,
  closedBindingsAfter,
} from '../outbound/outbox/exported-bindings.js';
import { readLineage } from '../outbound/recovery/store-witness.js';
import type { ExportedBindings, ExportedRow } from '../outbound/recovery/take-over-bindings.js';
import { readSealedLines, writeSealedLines } from '../store/sealed-lines.js';
import type { Store, Tx } from '../store/store.js';
import { readStoreInfo } from '../store/store-info.js';
import { UsageError } from './command.js';

/**
 * The first line of the file. Each further line is a row with the columns of its table: a binding, the binding of a
 * removed record (with `closed_at`), or an adoption (with `adopted_from`).
 */
interface Header {
  waybill: 'bindings';
  version: 4;
  installation: string;
  environment: string;
  exportedAt: string;
  /** The name of the store, and those of the stores that it has replaced; absent in files of earlier versions, as the next one. */
  lineage?: string[];
  /** When records got other keys, in milliseconds since 1970; null: they never did. */
  rekeyedAt?: number | null;
}

const pageSize = 1_000;
type Page = (tx: Tx, entity: Entity, afterKey: string, limit: number) => Promise<ExportedRow[]>;
/** Adoptions come first: recovery has to know what is held of a record before it knows the binding. */
const pages: readonly Page[] = [adoptionsAfter, bindingsAfter, closedBindingsAfter];

/** Writes every binding as JSON lines into a new file, mode 0600, whole and durable when it returns. @returns how many */
export async function exportBindings(store: Store, settings: Settings, file: string): Promise<number> {
  const header: Header = {
    waybill: 'bindings',
    version: 4,
    installation: settings.installation,
    environment: settings.service.environment,
    exportedAt: new Date().toISOString(),
    ...(await store.read('read the lineage', async (tx) => {
      const rekeyedAt = await readStoreInfo(tx, 'rekeyed_at');
      return { lineage: await readLineage(tx), rekeyedAt: rekeyedAt === null ? null : Number(rekeyedAt) };
    })),
  };
  return writeSealedLines(file, async (write) => {
    await write([header]);
    let count = 0;
    for (const entity of entities) {
      for (const pageAfter of pages) {
        for (let after = ''; ; ) {
          const rows = await store.read('read bindings', (tx) => pageAfter(tx, entity, after, pageSize));
          if (rows.length === 0) break;
          await write(rows);
          if (pageAfter !== adoptionsAfter) count += rows.length;
          after = rows.at(-1)?.source_key ?? after;
        }
      }
    }
    return count;
  });
}

/**
 * Reads an export: where it comes from, and its rows, which are read from the file as they are taken.
 * @throws UsageError for a file of another installation; FileError for one that is not whole
 */
export async function openBindings(
  file: string,
  settings: Settings,
): Promise<ExportedBindings & { exportedAt: string }> {
  for await (const value of readSealedLines(file)) {
    const { lineage = null, exportedAt, rekeyedAt = null } = checkHeader(file, value as Partial<Header>, settings);
    // Read again each time: a plan is made before anything is taken over.
    const rows = { [Symbol.asyncIterator]: () => readRows(file, settings) };
    return { lineage, exportedAt, rekeyedAt, rows };
  }
  throw new UsageError(`${file} was not written by this version's \`waybill bindings export\`.`);
}

function checkHeader(file: string, header: Partial<Header>, settings: Settings): Header {
  const { waybill, version, installation, environment } = header;
  if (waybill !== 'bindings' || version !== 4)
    throw new UsageError(`${file} was not written by this version's \`waybill bindings export\`.`);
  if (installation !== settings.installation || environment !== settings.service.environment)
    throw new UsageError(
      `${file} belongs to ${installation} (${environment}), not to ${settings.installation} (${settings.service.environment}).`,
    );
  return header as Header;
}

async function* readRows(file: string, settings: Settings): AsyncGenerator<ExportedRow> {
  let number = 0;
  for await (const value of readSealedLines(file)) {
    number++;
    if (number === 1) {
      checkHeader(file, value as Partial<Header>, settings);
      continue;
    }
    const row = value as Partial<AdoptionRow & BindingRow & ClosedBindingRow>;
    const isClosed = row.closed_at !== undefined;
    const isAdoption = row.adopted_from !== undefined;
    const isRecord = ['customer', 'order'].includes(row.entity ?? '') && row.source_key;
    if (!isRecord || !(isClosed || (row.service_id && (isAdoption || row.content_hash !== undefined))))
      throw new UsageError(`${file}, line ${number}: not a binding.`);
    // Earlier versions wrote these where something is not known.
    if (row.content_hash === '?'.repeat(64)) row.content_hash = null;
    if (isClosed && row.service_id === '') Object.assign(row, { service_id: null });
    if (isClosed && row.revision === 0) Object.assign(row, { revision: null });
    yield row as ExportedRow;
  }
}
