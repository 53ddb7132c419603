import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Settings } from '../config/settings.js';
import type { Entity } from '../model/record.js';
import { type AdoptionRow, adoptionsAfter } from '../outbound/outbox/adoptions.js';
import {
  type BindingRow,
  bindingsAfter,
  type ClosedBindingRow,
  closedBindingsAfter,
} from '../outbound/outbox/exported-bindings.js';
import type { ExportedRow } from '../outbound/recovery/take-over-bindings.js';
import type { Store, Tx } from '../store/store.js';
import { UsageError } from './command.js';

/**
 * The first line of the file. Each further line is a row with the columns of its table: a binding, the binding of a
 * removed record (with `closed_at`), or an adoption (with `adopted_from`). Version 1 had only the first kind of line,
 * version 2 the first two.
 */
interface Header {
  waybill: 'bindings';
  version: 1 | 2 | 3;
  installation: string;
  environment: string;
  exportedAt: string;
}

const pageSize = 1_000;
type Page = (tx: Tx, entity: Entity, afterKey: string, limit: number) => Promise<ExportedRow[]>;
/** Adoptions come first: recovery has to know what is held of a record before it knows the binding. */
const pages: readonly Page[] = [adoptionsAfter, bindingsAfter, closedBindingsAfter];

/** Writes every binding as JSON lines into a new file, mode 0600, durable when it returns. @returns how many */
export async function exportBindings(store: Store, settings: Settings, file: string): Promise<number> {
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new UsageError(`${file} exists already. Name a new file.`) : error;
  });
  try {
    const header: Header = {
      waybill: 'bindings',
      version: 3,
      installation: settings.installation,
      environment: settings.service.environment,
      exportedAt: new Date().toISOString(),
    };
    await handle.write(`${JSON.stringify(header)}\n`);
    let count = 0;
    for (const entity of ['customer', 'order'] as const) {
      for (const pageAfter of pages) {
        for (let after = ''; ; ) {
          const rows = await store.read('read bindings', (tx) => pageAfter(tx, entity, after, pageSize));
          if (rows.length === 0) break;
          await handle.write(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
          if (pageAfter !== adoptionsAfter) count += rows.length;
          after = rows.at(-1)?.source_key ?? after;
        }
      }
    }
    await handle.sync();
    return count;
  } finally {
    await handle.close();
  }
}

/** Reads bindings back. @throws UsageError for a file of another installation, or one that is not such an export */
export async function* readBindings(file: string, settings: Settings): AsyncGenerator<ExportedRow> {
  const lines = createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY });
  let number = 0;
  for await (const line of lines) {
    number++;
    if (line === '') continue;
    const value = parse(line, file, number);
    if (number === 1) {
      const { waybill, version, installation, environment } = value as Partial<Header>;
      if (waybill !== 'bindings' || (version !== 1 && version !== 2 && version !== 3))
        throw new UsageError(`${file} was not written by this version's \`waybill bindings export\`.`);
      if (installation !== settings.installation || environment !== settings.service.environment)
        throw new UsageError(
          `${file} belongs to ${installation} (${environment}), not to ${settings.installation} (${settings.service.environment}).`,
        );
      continue;
    }
    const row = value as Partial<AdoptionRow & BindingRow & ClosedBindingRow>;
    const isClosed = row.closed_at !== undefined;
    const isAdoption = row.adopted_from !== undefined;
    const isRecord = ['customer', 'order'].includes(row.entity ?? '') && row.source_key;
    if (!isRecord || !(isClosed || (row.service_id && (isAdoption || row.content_hash))))
      throw new UsageError(`${file}, line ${number}: not a binding.`);
    yield row as ExportedRow;
  }
  if (number === 0) throw new UsageError(`${file} is empty.`);
}

function parse(line: string, file: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new UsageError(`${file}, line ${number}: not JSON. Was the file cut off?`);
  }
}
