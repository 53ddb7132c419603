import type { StoreSettings } from '../config/sections/store.js';
import type { ErpReader } from '../erp/erp-reader.js';
import { type Entity, entities } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { bindingsAfter } from '../outbound/outbox/exported-bindings.js';
import type { ExportedBindings } from '../outbound/recovery/take-over-bindings.js';
import { openStore } from '../store/open-store.js';
import { placeholders } from '../store/rows.js';
import type { Store } from '../store/store.js';
import { recover } from './recover.js';

export interface NamedRecord {
  entity: Entity;
  sourceKey: string;
  /** The number of an order that the store can name. */
  number: string | null;
}

/** The outcome of a recovery, held against the store that is there. */
export interface DrillResult {
  /** Records that the service has, which the recovered store knows by the same id. */
  proven: number;
  /** Records that the service has and nothing proved; `first` names some of them. */
  unproven: number;
  first: NamedRecord[];
  /** Records that the recovered store knows by another id. */
  contradicted: NamedRecord[];
  /** Records that were never sent, and that nobody could tell from those that were. */
  doubted: number;
}

/** Records that a result names. */
const maxNamed = 20;
const pageSize = 500;

/**
 * Recovers a store that is thrown away afterwards, as `recover` would with a proof today, and holds it against the real one.
 * Reads the real store and the ERP; writes into the scratch file alone, and asks the service nothing.
 * @param scratchFile a SQLite file: absent, or a copy of the store
 * @param proof its bindings; the context is that of the scratch store
 * @throws RecoveryRefused when the ERP can't be read to its end
 */
export async function drill(
  real: JobContext,
  reader: ErpReader,
  scratchFile: string,
  proof: ((context: JobContext) => ExportedBindings) | null,
): Promise<DrillResult> {
  const place: StoreSettings = { type: 'sqlite', file: scratchFile };
  const { store } = await openStore(place);
  try {
    const context: JobContext = { ...real, store, settings: { ...real.settings, store: place } };
    await recover(context, reader, {
      fate: { to: 'parked' },
      bindings: proof?.(context) ?? null,
      reason: 'a drill',
    });
    return await compareStores(real.store, store);
  } finally {
    await store.close();
  }
}

async function compareStores(real: Store, recovered: Store): Promise<DrillResult> {
  const result: DrillResult = { proven: 0, unproven: 0, first: [], contradicted: [], doubted: 0 };
  for (const entity of entities)
    for (let after = ''; ; ) {
      const page = await real.read('read what is at the service', (tx) => bindingsAfter(tx, entity, after, pageSize));
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.source_key;
      const ids = await idsIn(
        recovered,
        entity,
        page.map(({ source_key }) => source_key),
      );
      for (const { source_key: sourceKey, service_id, number } of page) {
        const record = { entity, sourceKey, number: (number as string | null | undefined) ?? null };
        const id = ids.get(sourceKey);
        if (id === service_id) result.proven++;
        else if (id !== undefined) result.contradicted.push(record);
        else {
          result.unproven++;
          if (result.first.length < maxNamed) result.first.push(record);
        }
      }
    }
  const parked = await recovered.read('count what a person decides', (tx) =>
    tx.value<number>("SELECT COUNT(*) FROM outbox_message WHERE state='parked' AND park_class='unproven'"),
  );
  result.doubted = Math.max(0, (parked ?? 0) - result.unproven);
  return result;
}

async function idsIn(store: Store, entity: Entity, keys: readonly string[]): Promise<Map<string, string>> {
  const rows = await store.read('read what was recovered', (tx) =>
    tx.rows<{ sourceKey: string; serviceId: string }>(
      `SELECT source_key, service_id FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
      [entity, ...keys],
    ),
  );
  return new Map(rows.map(({ sourceKey, serviceId }) => [sourceKey, serviceId]));
}
