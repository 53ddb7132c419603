import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Settings } from '../../config/settings.js';
import type { ErpPage, ErpReader } from '../../erp/erp-reader.js';
import type { Fact } from '../../model/facts/fact.js';
import { Refused } from '../../model/facts/failure.js';
import type { RecoveryFact } from '../../model/facts/recovery.js';
import {
  defaultSource,
  type Entity,
  isLeftBehind,
  keyInSource,
  keyOfSource,
  keysBefore,
  leftBehind,
  leftBehindSince,
} from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { acquireCaptureLease } from '../../outbound/capture/capture-result.js';
import { identityOf, type ReadRow } from '../../outbound/capture/plan-row.js';
import { changedIdentity } from '../../outbound/capture/safety-limits.js';
import { goLiveProblem } from '../../outbound/deliver/go-live.js';
import { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { keepGenerations } from '../../outbound/outbox/bindings.js';
import { dateReasons, readKnownKeys, renameRecords, restartCapture } from '../../outbound/recovery/rename-records.js';
import {
  formerName,
  readRenaming,
  sourceKeysChange,
  sourceKeysProblem,
  writeRenaming,
  writeSourceKeys,
} from '../../outbound/recovery/source-keys.js';
import { beginIncarnation } from '../../outbound/recovery/store-witness.js';
import { lockCaptures } from '../../store/lease.js';
import { writeStoreInfo } from '../../store/store-info.js';
import { KeyMatcher, type MatchedKeys } from '../match-keys.js';

/** The result of a look at the ERP about the keys that the store knows. */
interface KeyCheck {
  /** The old and the new meaning of the keys, or null: nothing has changed. */
  change: Fact | null;
  /** The name that the source had before, or null: it had no other. */
  formerName: string | null;
  /** Delivered records that were looked up, how many of them are there, and how many proved to be the same. */
  asked: number;
  found: number;
  same: number;
  /** A key that names another record now, or null. */
  other: RecoveryFact | null;
}

const sampleSize = 200;

/**
 * Reads the newest delivered records under the keys that the store knows. Those of a source that has another name now are asked for
 * under the new one. Writes nothing.
 */
export async function checkKeys({ store, settings }: JobContext, reader: ErpReader, entity: Entity): Promise<KeyCheck> {
  const { source = defaultSource } = settings;
  const { change, former, known } = await store.read('read the keys', async (tx) => {
    const former = (await formerName(tx, settings, entity, reader.identity()))?.name ?? null;
    return {
      change: await sourceKeysChange(tx, settings, entity, reader.identity()),
      former,
      known: await tx.rows<{ sourceKey: string; identity: string | null }>(
        `SELECT source_key, identity FROM binding WHERE entity=? AND source_key LIKE ?
          ORDER BY acknowledged_at DESC, source_key LIMIT ${sampleSize}`,
        [entity, `${keysBefore(former ?? source)}%`],
      ),
    };
  });
  const rows = known.flatMap(({ sourceKey, identity }) => {
    const key = keyOfSource(former ?? source, sourceKey);
    return key === null ? [] : [{ sourceKey: keyInSource(source, key), identity }];
  });
  const start = { change, formerName: former, asked: rows.length };
  if (rows.length === 0) return { ...start, found: 0, same: 0, other: null };
  const keys = rows.map((row) => row.sourceKey);
  const identities = new Map(rows.map((row) => [row.sourceKey, row.identity]));
  const existing = (await reader.presence(entity, keys)).existing;
  const page = await reader.sweep(entity, null, keys.length, { keys });
  let same = 0;
  let other: RecoveryFact | null = null;
  for (const row of page.rows) {
    const [before, now] = [identities.get(row.sourceKey) ?? null, identityOf(row)];
    const changed = changedIdentity(before, now);
    if (changed !== null) other ??= { code: 'key_names_other', entity, key: row.sourceKey, change: changed };
    // Under another name it would go out a second time: there it is enough that nothing tells them apart.
    else if ((before !== null && now !== null) || former !== null) same++;
  }
  return { ...start, found: existing?.size ?? page.rows.length, same, other };
}

/** Why the keys can't be taken for the same, or null. Pure. */
export function whyNotSame({ formerName, asked, found, same, other }: KeyCheck): RecoveryFact | null {
  if (formerName !== null) return same === 0 ? null : { code: 'known_from_other_name', count: same, name: formerName };
  if (other !== null) return other;
  if (asked > 0 && found === 0) return { code: 'none_under_their_keys', count: asked };
  return null;
}

/** A person says what the keys mean from now on: capture and delivery go on. */
export async function keepKeys(
  { store, settings, actor, nowMs }: JobContext,
  erp: string,
  entity: Entity,
  change: Fact,
  reason: string,
): Promise<void> {
  await store.transaction('keep the keys', async (tx) => {
    await lockCaptures(tx);
    if ((await readRenaming(tx, entity)) !== null) throw new RekeyRefused({ code: 'rekey_is_under_way', entity });
    await writeSourceKeys(tx, settings, entity, erp);
    const detail = { entity, change, reason };
    await appendAudit(tx, { event: 'operator', outcome: 'rekey', actor, detail }, nowMs());
  });
}

/** Why nothing is delivered after a rekey: the keys of the other kind, or an ERP that did not go live. Null: it goes on. */
export async function whyStillHeld({ store, settings }: JobContext, erpIdentity: string): Promise<Fact | null> {
  return store.read('read why delivery is held', async (tx) => {
    const keys = await sourceKeysProblem(tx, settings, erpIdentity);
    return keys ?? (await goLiveProblem(tx, settings, erpIdentity));
  });
}

/** Nothing was written. The fact says what to do. */
export class RekeyRefused extends Refused {
  override readonly name = 'RekeyRefused';
}

export interface RekeyRequest {
  entity: Entity;
  /** Reads every record, also those that are not sent any more; see `withEveryRecord`. */
  every: ErpReader;
  /** Reads the records that are to be sent. */
  reader: ErpReader;
  /** A person's list: new key → id at the service. */
  named: ReadonlyMap<string, string>;
  /** A person said that the rows which are none of the known records are new ones. */
  isRestNew: boolean;
  reason: string;
}

export interface RekeyPlan extends MatchedKeys {
  /** The old and the new meaning of the keys, or null: nothing has changed. */
  change: Fact | null;
  /** New keys of rows to be sent that are none of the known records. */
  unknown: string[];
  /** Why nothing can be written, or null. */
  problem: RecoveryFact | null;
}

/** The settings under which the ERP yields every record, whatever its state and age: a known one may be done by now. */
export function withEveryRecord(settings: Settings): Settings {
  const { customers, orders } = settings;
  const { startFrom } = orders;
  const earliest =
    startFrom !== 'all' && /^-?\d+$/.test(String(startFrom.from)) ? Number.MIN_SAFE_INTEGER : '1971-01-01';
  const everything = { pending: undefined, cancelled: undefined };
  return {
    ...settings,
    customers: { ...customers, ...everything, send: customers.send === 'none' ? 'none' : 'all' },
    // The column stays, because it tells records apart.
    orders: { ...orders, ...everything, startFrom: startFrom === 'all' ? 'all' : { ...startFrom, from: earliest } },
  };
}

/** Finds the known records among the rows of the ERP under their new keys. Writes nothing. */
export async function planRekey({ store, settings }: JobContext, request: RekeyRequest): Promise<RekeyPlan> {
  const { entity, every, reader, named, isRestNew } = request;
  if (settings.named !== undefined) throw new RekeyRefused({ code: 'several_sources_one_by_one' });
  const { change, renaming, all } = await store.read('read the known keys', async (tx) => ({
    change: await sourceKeysChange(tx, settings, entity, reader.identity()),
    renaming: await readRenaming(tx, entity),
    all: await readKnownKeys(tx, entity),
  }));
  // A record that has its new key already is no candidate any more, when a run that broke off is finished.
  const isMoved = (key: string) => renaming?.isMarked === true && !isLeftBehind(key);
  const moved = new Set(all.map(({ sourceKey }) => sourceKey).filter(isMoved));
  const known = all.filter(({ sourceKey }) => !moved.has(sourceKey));
  const byId = new Map(known.map((one) => [one.serviceId, one.sourceKey]));
  const namedKeys = new Map([...named].flatMap(([key, id]) => (byId.has(id) ? [[key, byId.get(id) as string]] : [])));
  const matcher = new KeyMatcher(known, namedKeys);
  for await (const { sourceKey, identity } of rowsOf(every, entity))
    if (!moved.has(sourceKey)) matcher.see(sourceKey, identity);
  const result = matcher.result();
  const given = new Set([...moved, ...result.matches.values(), ...result.ambiguous.flatMap(({ to }) => to)]);
  const unknown: string[] = [];
  for await (const { sourceKey } of rowsOf(reader, entity)) if (!given.has(sourceKey)) unknown.push(sourceKey);
  const wrong = [...named].find(([key, id]) => !moved.has(key) && !(byId.has(id) && matcher.has(key)));
  const problem = whyNotRekey({ ...result, unknown, isRestNew, isBegun: moved.size > 0, wrong });
  return { change, unknown, problem, ...result };
}

/** Why the known records can't get other keys, or null. Pure. A row that may be a known record is never taken for a new one. */
function whyNotRekey(
  found: MatchedKeys & {
    unknown: string[];
    isRestNew: boolean;
    /** Some records have their new keys already. */
    isBegun: boolean;
    wrong: [string, string] | undefined;
  },
): RecoveryFact | null {
  const { matches, ambiguous, gone, unknown, isRestNew, isBegun, wrong } = found;
  if (wrong) return { code: 'listed_pair_unknown', key: wrong[0], serviceId: wrong[1] };
  if (ambiguous.length > 0) return { code: 'records_not_told_apart' };
  if (matches.size === 0 && gone.length > 0 && !isBegun) return { code: 'no_known_record_found' };
  if (gone.length > 0 && unknown.length > 0 && !isRestNew)
    return { code: 'rest_may_be_known', gone: gone.length, unknown: unknown.length };
  return null;
}

async function* rowsOf(
  reader: ErpReader,
  entity: Entity,
): AsyncGenerator<{ sourceKey: string; identity: string | null }> {
  for (let after: string[] | null = null; ; ) {
    const page: ErpPage<ReadRow> = await reader.sweep(entity, after, 500);
    for (const row of page.rows) yield { sourceKey: row.sourceKey, identity: identityOf(row) };
    if (!page.more || !page.last) return;
    after = page.last.key;
  }
}

const batchSize = 200;

/**
 * Gives the known records their new keys, in batches; a run that breaks off holds everything until another one has finished it.
 * First all of them get a mark, so that no key is given twice; those that the ERP does not have keep it. Keys and bytes that the
 * service may have seen stay as they are.
 * @throws RekeyRefused when a person has to look first
 */
export async function rekey(context: JobContext, request: RekeyRequest): Promise<RekeyPlan> {
  const { settings, actor, nowMs } = context;
  const { entity, reader, reason } = request;
  const capturing = await acquireCaptureLease(context);
  if ('code' in capturing) throw new RekeyRefused({ code: 'stop_daemon_first', reason: capturing });
  try {
    const service = await ServiceLease.acquire(context);
    if (!(service instanceof ServiceLease))
      throw new RekeyRefused({ code: 'stop_holder_first', holder: service.holder });
    try {
      const plan = await planRekey(context, request);
      if (plan.problem !== null) throw new RekeyRefused(plan.problem);
      // Reading the ERP may have taken longer than a lease, and another process may have captured meanwhile.
      await capturing.renew();
      const begun = await service.write('begin to change the keys', async (tx) => {
        const before = await readRenaming(tx, entity);
        const renaming = before ?? { mark: leftBehindSince(nowMs()), isMarked: false };
        if (before === null) await writeRenaming(tx, entity, renaming);
        return { ...renaming, known: await readKnownKeys(tx, entity) };
      });
      const { mark, isMarked, known } = begun;
      const marked = (key: string) => leftBehind(mark, key);
      const unmarked = isMarked ? [] : known.filter(({ sourceKey: key }) => marked(key) !== key);
      for (const batch of batches(unmarked)) {
        await capturing.keep();
        await service.write('mark the old keys', async (tx) => {
          await renameRecords(tx, entity, new Map(batch.map(({ sourceKey: key }) => [key, marked(key)])));
          await keepGenerations(tx, entity, batch, nowMs());
        });
      }
      await service.write('note that all are marked', (tx) => writeRenaming(tx, entity, { mark, isMarked: true }));
      for (const batch of batches([...plan.matches])) {
        await capturing.keep();
        await service.write('give the new keys', async (tx) => {
          await renameRecords(tx, entity, new Map(batch.map(([from, to]) => [marked(from), to])));
          await appendAudit(
            tx,
            batch.map(([from, to]) => lineOf(entity, from, to, actor)),
            nowMs(),
          );
        });
      }
      await service.write('remember what the keys mean', async (tx) => {
        await restartCapture(tx, entity);
        await dateReasons(tx, entity);
        // The keys of updates are made of source key and revision: under another incarnation none was used before.
        await beginIncarnation(tx, []);
        await writeSourceKeys(tx, settings, entity, reader.identity());
        await writeStoreInfo(tx, 'rekeyed_at', String(nowMs()));
        const counts = { matched: plan.matches.size, leftBehind: plan.gone.length };
        const detail = { entity, change: plan.change, reason, ...counts };
        await appendAudit(tx, { event: 'operator', outcome: 'rekey', actor, detail }, nowMs());
      });
      return plan;
    } finally {
      await service.release();
    }
  } finally {
    await capturing.release();
  }
}

function lineOf(entity: Entity, from: string, to: string, actor: string): AuditEntry {
  return { event: 'operator', outcome: 'rekey', entity, sourceKey: to, actor, detail: { from, to } };
}

function* batches<T>(all: readonly T[]): Generator<T[]> {
  for (let start = 0; start < all.length; start += batchSize) yield all.slice(start, start + batchSize);
}
