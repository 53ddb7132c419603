import type { Settings } from '../../config/settings.js';
import type { KeyColumns, WorkFact } from '../../model/facts/work.js';
import { defaultSource, type Entity, entities, inSource, keysBefore, sourceNames } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import type { Lease } from '../../store/lease.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo, writeStoreInfo } from '../../store/store-info.js';

/**
 * The meaning of the source keys of an entity: the columns of which database. Under other keys every record would look
 * new and go out a second time, so the store remembers the meaning from the first capture on.
 */
interface SourceKeys {
  erp: string;
  key: string[];
  /** Set while the records get other keys: then the keys mean neither the one nor the other. */
  renaming?: Renaming;
}

/** The progress of an entity's records on their way to other keys. */
interface Renaming {
  /** The prefix of all of them before each gets its new key. */
  mark: string;
  /** All of them do. */
  isMarked: boolean;
}

export async function readRenaming(tx: Tx, entity: Entity): Promise<Renaming | null> {
  const value = await readStoreInfo(tx, `source_keys.${entity}`);
  return (value === null ? null : (JSON.parse(value) as SourceKeys).renaming) ?? null;
}

/** From here on nothing is captured or delivered until `writeSourceKeys`, under whatever settings. */
export async function writeRenaming(tx: Tx, entity: Entity, renaming: Renaming): Promise<void> {
  const value = JSON.parse((await readStoreInfo(tx, `source_keys.${entity}`)) ?? '{"erp":"","key":[]}') as SourceKeys;
  await writeStoreInfo(tx, `source_keys.${entity}`, JSON.stringify({ ...value, renaming }));
}

type KeySettings = Pick<Settings, 'customers' | 'orders' | 'source' | 'siblings' | 'named'>;

function infoName(entity: Entity, source: string | undefined) {
  return inSource(`source_keys.${entity}`, source);
}

function sourceKeys(settings: KeySettings, entity: Entity, erp: string): SourceKeys {
  return { erp, key: (entity === 'order' ? settings.orders.key : settings.customers.key) ?? [] };
}

export async function writeSourceKeys(tx: Tx, settings: KeySettings, entity: Entity, erp: string): Promise<void> {
  const value = JSON.stringify(sourceKeys(settings, entity, erp));
  await writeStoreInfo(tx, infoName(entity, settings.source), value);
}

/** Why the keys of this entity can't be trusted, or null. Asks for records only where something differs. */
export async function sourceKeysChange(
  tx: Tx,
  settings: KeySettings,
  entity: Entity,
  erp: string,
): Promise<Extract<WorkFact, { code: 'keys_differ' }> | null> {
  if (entity === 'customer' && settings.customers.send === 'none') return null;
  const value = await readStoreInfo(tx, infoName(entity, settings.source));
  const now = sourceKeys(settings, entity, erp);
  if (value === null) {
    const former = await formerName(tx, settings, entity, erp);
    return former && { code: 'keys_differ', name: former.name, was: columnsOf(former.keys), now };
  }
  if (value === JSON.stringify(now) || !(await isAnyKnown(tx, entity, ''))) return null;
  return { code: 'keys_differ', name: null, was: columnsOf(JSON.parse(value)), now };
}

/**
 * Under which name this ERP was read before, where the settings no longer have it: every key begins with the name of its source,
 * so that all records would look new under another one. Null: under none, or a person has said what the keys mean.
 */
export async function formerName(
  tx: Tx,
  settings: KeySettings,
  entity: Entity,
  erp: string,
): Promise<{ name: string; keys: SourceKeys } | null> {
  if ((await readStoreInfo(tx, infoName(entity, settings.source))) !== null) return null;
  const names = sourceNames(settings);
  const prefix = infoName(entity, '');
  const rows = await tx.rows<{ name: string; value: string }>(
    'SELECT name, value FROM store_info WHERE name LIKE ? ORDER BY name',
    [`${prefix}.%`],
  );
  for (const row of rows) {
    const name = row.name.slice(prefix.length + 1);
    const keys = JSON.parse(row.value) as SourceKeys;
    if (keys.erp === erp && !names.includes(name) && (await isAnyKnown(tx, entity, name))) return { name, keys };
  }
  return null;
}

/** True if the store knows any record of a source; of any source, if none is named. */
async function isAnyKnown(tx: Tx, entity: Entity, source: string): Promise<boolean> {
  for (const table of ['binding', 'closed_binding', 'outbox_message']) {
    const statement = `SELECT 1 FROM ${table} WHERE entity=? AND source_key LIKE ? LIMIT 1`;
    if ((await tx.value(statement, [entity, `${keysBefore(source)}%`])) !== undefined) return true;
  }
  return false;
}

/** Why nothing may be captured or delivered before a person has said what the keys mean, or null. */
export async function sourceKeysProblem(tx: Tx, settings: KeySettings, erp: string): Promise<WorkFact | null> {
  const changes: { entity: Entity; change: WorkFact }[] = [];
  for (const entity of entities) {
    const change = await sourceKeysChange(tx, settings, entity, erp);
    if (change === null) continue;
    if ((await readRenaming(tx, entity)) !== null) return { code: 'rekey_unfinished', entity };
    changes.push({ entity, change });
  }
  const [first] = changes;
  if (!first) return null;
  const former = await formerName(tx, settings, first.entity, erp);
  const goLive = JSON.parse((await readStoreInfo(tx, 'go_live')) ?? 'null') as { erp: string } | null;
  return {
    code: 'keys_not_trusted',
    ...first,
    entities: changes.map(({ entity }) => entity),
    source: settings.source ?? defaultSource,
    former: former?.name ?? null,
    needsGoLive: goLive !== null && goLive.erp !== erp,
  };
}

/** True if the store remembers exactly these keys. */
async function isBound(tx: Tx, settings: KeySettings, erp: string): Promise<boolean> {
  const used = entities.filter((entity) => entity === 'order' || settings.customers.send !== 'none');
  const names = used.map((entity) => infoName(entity, settings.source));
  const rows = await tx.rows<{ name: string; value: string }>(
    `SELECT name, value FROM store_info WHERE name IN ${placeholders(names.length)}`,
    names,
  );
  const known = new Map(rows.map(({ name, value }) => [name, value]));
  return used.every(
    (entity, at) => known.get(names[at] as string) === JSON.stringify(sourceKeys(settings, entity, erp)),
  );
}

/** Remembers what the keys mean. @returns why a person has to look first, or null */
async function bindSourceKeys(tx: Tx, settings: KeySettings, erp: string): Promise<WorkFact | null> {
  const problem = await sourceKeysProblem(tx, settings, erp);
  if (problem !== null) return problem;
  for (const entity of entities) {
    if (entity === 'customer' && settings.customers.send === 'none') continue;
    const value = await readStoreInfo(tx, infoName(entity, settings.source));
    if (value !== JSON.stringify(sourceKeys(settings, entity, erp))) await writeSourceKeys(tx, settings, entity, erp);
  }
  return null;
}

/** The same at the beginning of a pass, most of which find what the one before them has bound. A dry run has no lease, and remembers nothing. */
export async function changedKeys(
  { store, settings }: Pick<JobContext, 'store' | 'settings'>,
  erp: string,
  lease: Lease | null,
): Promise<WorkFact | null> {
  if (await store.read('compare the keys', (tx) => isBound(tx, settings, erp))) return null;
  if (lease === null) return store.read('read the keys', (tx) => sourceKeysProblem(tx, settings, erp));
  return lease.write('note what the keys mean', (tx) => bindSourceKeys(tx, settings, erp));
}

const columnsOf = ({ erp, key }: SourceKeys): KeyColumns => ({ erp, key });
