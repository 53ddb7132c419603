import { appendAudit } from '../audit/audit-log.js';
import type { ErpReader } from '../erp/erp-reader.js';
import type { Entity } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { changedIdentity } from '../outbound/capture/brake.js';
import { identityOf } from '../outbound/capture/plan-row.js';
import { sourceKeysChange, writeSourceKeys } from '../outbound/recovery/source-keys.js';
import { lockLease } from '../store/lease.js';

/** What a look at the ERP says of the keys that the store knows. */
export interface KeyCheck {
  /** What the keys were and are, or null: nothing has changed. */
  change: string | null;
  /** Delivered records that were looked up, how many of them are there, and how many proved to be the same. */
  asked: number;
  found: number;
  same: number;
  /** A key that names another record now, or null. */
  other: string | null;
}

const sampleSize = 200;

/** Reads the newest delivered records under the keys that the store knows. Writes nothing. */
export async function checkKeys({ store, settings }: JobContext, reader: ErpReader, entity: Entity): Promise<KeyCheck> {
  const { change, rows } = await store.read('read the keys', async (tx) => ({
    change: await sourceKeysChange(tx, settings, entity, reader.identity()),
    rows: await tx.rows<{ sourceKey: string; identity: string | null }>(
      `SELECT source_key, identity FROM binding WHERE entity=? ORDER BY acknowledged_at DESC, source_key LIMIT ${sampleSize}`,
      [entity],
    ),
  }));
  if (rows.length === 0) return { change, asked: 0, found: 0, same: 0, other: null };
  const keys = rows.map((row) => row.sourceKey);
  const identities = new Map(rows.map((row) => [row.sourceKey, row.identity]));
  const existing = (await reader.presence(entity, keys)).existing;
  const page = await reader.sweep(entity, null, keys.length, { keys });
  let same = 0;
  let other: string | null = null;
  for (const row of page.rows) {
    const [before, now] = [identities.get(row.sourceKey) ?? null, identityOf(row)];
    const changed = changedIdentity(before, now);
    if (changed !== null) other ??= `${entity} ${row.sourceKey}: ${changed}`;
    else if (before !== null && now !== null) same++;
  }
  return { change, asked: rows.length, found: existing?.size ?? page.rows.length, same, other };
}

/** Why the keys can't be taken for the same, or null. Pure. */
export function whyNotSame({ asked, found, other }: KeyCheck): string | null {
  if (other !== null) return `a key names another record now (${other})`;
  if (asked > 0 && found === 0) return `none of ${asked} delivered records is in the ERP under its key`;
  return null;
}

/** A person says that each key still names the same record: capture and delivery go on under the new meaning. */
export async function keepKeys(
  { store, settings, actor, nowMs }: JobContext,
  erp: string,
  entity: Entity,
  change: string,
  reason: string,
): Promise<void> {
  await store.transaction('keep the keys', async (tx) => {
    await lockLease(tx, 'capture');
    await writeSourceKeys(tx, settings, entity, erp);
    const detail = { entity, change, reason };
    await appendAudit(tx, { event: 'operator', outcome: 'rekey', actor, detail }, nowMs());
  });
}
