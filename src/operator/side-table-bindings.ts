import type { ErpWriter } from '../erp/write-back/erp-writer.js';
import type { Entity } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { mappingFingerprint } from '../outbound/outbox/content-hash.js';
import type { BindingRow } from '../outbound/outbox/exported-bindings.js';
import type { ExportedBindings } from '../outbound/recovery/take-over-bindings.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

const kinds = [
  ['customers', 'customer'],
  ['orders', 'order'],
] as const;

/** Side tables that may hold ids of a store that was lost: statements of the settings write where Waybill can't read. */
export function kindsInSideTables({ settings: { writeBack } }: Pick<JobContext, 'settings'>) {
  return kinds.filter(([kind]) => writeBack[kind].enabled && writeBack[kind].upsert === undefined);
}

const pageSize = 500;

/**
 * Bindings that the ERP's side tables prove: the id of the service is there for every record that an earlier store had acknowledged.
 * Records of which this store knows an id, or that they were removed, are left out: it knows them better.
 */
export function sideTableBindings(context: JobContext, writer: ErpWriter): ExportedBindings {
  return { lineage: null, rekeyedAt: null, rows: { [Symbol.asyncIterator]: () => readSideTables(context, writer) } };
}

async function* readSideTables(context: JobContext, writer: ErpWriter): AsyncGenerator<BindingRow> {
  for (const [kind, entity] of kindsInSideTables(context))
    for (let after = ''; ; ) {
      const page = await writer.rowsAfter(kind, after, pageSize);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.key;
      const proven = new Map(page.flatMap(({ key, serviceId }) => (serviceId ? [[key, serviceId] as const] : [])));
      const known = await context.store.read('compare the side tables', (tx) =>
        knownOf(tx, entity, [...proven.keys()]),
      );
      for (const [sourceKey, serviceId] of proven) {
        const { isKnown = false, revision = 1, generation = 0 } = known.get(sourceKey) ?? {};
        if (!isKnown) yield bindingOf(context, { entity, sourceKey, serviceId, revision, generation });
      }
    }
}

interface KnownOf {
  /** Bound here, or removed. */
  isKnown: boolean;
  /** Those of its newest message: the acknowledgement proves all of them. */
  revision: number;
  generation: number;
}

async function knownOf(tx: Tx, entity: Entity, keys: readonly string[]): Promise<Map<string, KnownOf>> {
  if (keys.length === 0) return new Map();
  const list = placeholders(keys.length);
  const of = (table: string, isKnown: 0 | 1) =>
    `SELECT source_key, ${isKnown} AS is_known, COALESCE(MAX(revision), 0) AS revision, MAX(generation) AS generation
       FROM ${table} WHERE entity=? AND source_key IN ${list} GROUP BY source_key`;
  const rows = await tx.rows<{ sourceKey: string; isKnown: number; revision: number; generation: number }>(
    `${of('outbox_message', 0)} UNION ALL ${of('binding', 1)} UNION ALL ${of('closed_binding', 1)} ORDER BY is_known`,
    [entity, ...keys, entity, ...keys, entity, ...keys],
  );
  return new Map(rows.map(({ sourceKey, isKnown, ...row }) => [sourceKey, { ...row, isKnown: isKnown === 1 }]));
}

interface ProvenBinding {
  entity: Entity;
  sourceKey: string;
  serviceId: string;
  revision: number;
  generation: number;
}

/** Nothing is known of the content, so that every field is sent again. */
function bindingOf({ settings, nowMs }: JobContext, proven: ProvenBinding): BindingRow {
  return {
    entity: proven.entity,
    source_key: proven.sourceKey,
    folded_key: '',
    service_id: proven.serviceId,
    revision: proven.revision,
    generation: proven.generation,
    content_hash: null,
    mapping_fingerprint: mappingFingerprint(settings, proven.entity),
    identity: null,
    acknowledged: null,
    acknowledged_at: nowMs(),
    read_state: 'open',
  };
}
