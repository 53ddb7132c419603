import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { AlertFact } from '../../model/facts/alerts.js';
import type { LeftFact } from '../../model/facts/records.js';
import { defaultSource, inSource, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import { factColumns, factRow } from '../../store/fact-columns.js';
import type { Lease } from '../../store/lease.js';
import { insertRows, placeholders } from '../../store/rows.js';

/** The number of orders that are kept one by one; of more, something took very many at once, and the alert gives the number. */
const kept = 1000;
const named = 5;

/**
 * Puts on record which orders of the service left `orders.pending` while nothing marks them as cancelled or completed:
 * a filter may have taken them by mistake. Nothing of them is sent, and a person is told. An order that a whole sweep
 * does not find any more is over.
 * @param left what the row of each says, as a whole sweep found it; null: the settings do not tell
 */
export async function noteLeftOrders(
  { actor, log, nowMs, store, settings: { source = defaultSource } }: JobContext,
  lease: Lease,
  left: ReadonlyMap<string, LeftFact> | null,
): Promise<void> {
  const all = await store.read('read which orders left', (tx) =>
    tx.rows<{ sourceKey: string; reasonCode: string; reasonData: string }>(
      'SELECT source_key, reason_code, reason_data FROM left_order',
    ),
  );
  const known = all.filter(({ sourceKey }) => sourceOf(sourceKey) === source);
  if (known.length === 0 && !left?.size) return;
  const found = new Map([...(left ?? [])].slice(0, kept));
  const over = known
    .filter(({ sourceKey, reasonCode, reasonData }) => {
      const { code, data } = factColumns(found.get(sourceKey) ?? null);
      return code !== reasonCode || data !== reasonData;
    })
    .map(({ sourceKey }) => sourceKey);
  const same = new Set(known.map(({ sourceKey }) => sourceKey).filter((key) => !over.includes(key)));
  const fresh = [...found].filter(([key]) => !same.has(key));
  const alert = leftAlert(left ?? new Map(), source);
  const isNew = await lease.write('note which orders left', async (tx) => {
    const at = nowMs();
    if (over.length > 0) await tx.run(`DELETE FROM left_order WHERE source_key IN ${placeholders(over.length)}`, over);
    await insertRows(
      tx,
      'left_order',
      fresh.map(([key, reason]) => ({ source_key: key, since_at: at, ...factRow('reason', reason) })),
    );
    const entry = (sourceKey: string, outcome: string, reason?: LeftFact): AuditEntry => ({
      event: 'left_pending',
      outcome,
      entity: 'order',
      sourceKey,
      actor,
      ...(reason === undefined ? {} : { detail: { reason } }),
    });
    await appendAudit(
      tx,
      [
        ...over.filter((key) => !found.has(key)).map((key) => entry(key, 'settled')),
        ...fresh.map(([key, reason]) => entry(key, 'unexplained', reason)),
      ],
      at,
    );
    if (alert !== null) return raiseAlert(tx, inSource('left.order', source), alert, at);
    await endAlert(tx, inSource('left.order', source), at);
    return false;
  });
  if (isNew) log.warn('Orders are not pending any more, and nothing says why', { alert });
}

/** The alert about these orders; null where there are none. Pure. */
export function leftAlert(left: ReadonlyMap<string, LeftFact>, source: string): AlertFact | null {
  if (left.size === 0) return null;
  const some = [...left].slice(0, named).map(([key, reason]) => ({ key, reason }));
  return { code: 'orders_left', source: source || null, orders: left.size, some };
}
