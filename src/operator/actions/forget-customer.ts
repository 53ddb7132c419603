import { appendAudit } from '../../audit/audit-log.js';
import type { RefusalFact } from '../../model/facts/actions.js';
import type { JobContext } from '../../ops/job-context.js';
import { eraseReasons } from '../../outbound/deliver/attempts.js';
import { eraseAcknowledged } from '../../outbound/outbox/bindings.js';
import type { MessageState } from '../../outbound/outbox/message.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { eraseBodies } from '../prune.js';
import { eraseFindings } from '../reconcile/reconcile-rows.js';
import { action } from './action.js';

/** The code in a customer's mapped record; null: it has none, or its bytes are no longer kept. */
export function customerCodeOf(record: string | null): string | null {
  if (record === null) return null;
  const { customer_code: code } = JSON.parse(record) as { customer_code?: unknown };
  return typeof code === 'string' ? code : null;
}

type CustomerTraces = Awaited<ReturnType<typeof customerTraces>>;

/** The store's data about a customer. */
async function customerTraces(tx: Tx, sourceKey: string) {
  const own = "m.entity='customer' AND m.source_key=?";
  const states = await tx.rows<{ state: MessageState; count: number }>(
    `SELECT m.state, COUNT(*) AS count FROM outbox_message m WHERE ${own} GROUP BY m.state`,
    [sourceKey],
  );
  const [binding] = await tx.rows("SELECT service_id FROM binding WHERE entity='customer' AND source_key=?", [
    sourceKey,
  ]);
  const count = async (sql: string) => (await tx.value<number>(`SELECT COUNT(*) FROM ${sql}`, [sourceKey])) ?? 0;
  return {
    /** Messages by state. */
    states: new Map(states.map(({ state, count: messages }) => [state, messages])),
    bodies: await count(`message_body b JOIN outbox_message m ON m.id=b.message_id WHERE ${own}`),
    excerpts: await count(
      `attempt a JOIN outbox_message m ON m.id=a.message_id WHERE ${own} AND a.excerpt IS NOT NULL`,
    ),
    bound: binding !== undefined,
    /** Bodies of its orders. In them it appears by its code alone, unless the mapping says otherwise. */
    orderBodies: await count(
      "message_body b JOIN outbox_message m ON m.id=b.message_id WHERE m.entity='order' AND m.customer_key=?",
    ),
  };
}

/** Why a customer can't be forgotten yet, or null. Pure. Its bytes are needed as long as they may still have to be sent. */
function whyNotForget({ states, bound }: CustomerTraces): RefusalFact | null {
  if (states.size === 0 && !bound) return { code: 'unknown_customer' };
  const waiting = (['pending', 'sending', 'in_doubt'] as const).filter((state) => states.has(state));
  if (waiting.length > 0) return { code: 'needs_delivery', states: waiting };
  return states.has('parked') ? { code: 'needs_settling' } : null;
}

interface Forgotten {
  messages: number;
  bodies: number;
  excerpts: number;
}

/**
 * Erases what was sent and received about a customer. Key, id and hashes stay, so that nothing is sent twice. The
 * acknowledged content is then unknown: the next change of its row is sent whole.
 * @returns why the customer can't be forgotten, where that has changed since the operator looked
 */
export async function forgetCustomer(
  { store, actor, nowMs }: JobContext,
  sourceKey: string,
  reason: string,
): Promise<Forgotten | RefusalFact> {
  const result = await store.transaction('forget a customer', async (tx): Promise<Forgotten | RefusalFact> => {
    // Capture may have written a new message while the operator thought about it.
    const traces = await customerTraces(tx, sourceKey);
    const problem = whyNotForget(traces);
    if (problem) return problem;
    const forgotten = await eraseMessages(tx, sourceKey);
    const detail = { reason, ...forgotten };
    await appendAudit(
      tx,
      { event: 'forget', outcome: 'operator', entity: 'customer', sourceKey, actor, detail },
      nowMs(),
    );
    return forgotten;
  });
  const { afterErasing } = store.dialect;
  if (!('code' in result) && afterErasing !== null)
    await store.read('empty the log of the database', (tx) => tx.select(afterErasing));
  return result;
}

async function eraseMessages(tx: Tx, sourceKey: string): Promise<Forgotten> {
  const rows = await tx.rows<{ id: number }>(
    // A message that capture writes at this moment is still to be sent, and keeps its bytes.
    `SELECT id FROM outbox_message WHERE entity='customer' AND source_key=?
        AND state IN ('delivered','discarded','superseded') ORDER BY id${tx.forUpdate}`,
    [sourceKey],
  );
  const ids = rows.map(({ id }) => id);
  const erased = { bodies: 0, excerpts: 0 };
  for (let start = 0; start < ids.length; start += 500) {
    const chunk = ids.slice(start, start + 500);
    const { bodies, excerpts } = await eraseBodies(tx, chunk);
    erased.bodies += bodies;
    erased.excerpts += excerpts;
    const list = placeholders(chunk.length);
    // The service's words and an operator's may be about the person. Its identity stays with its binding: it is its id at the service.
    await tx.run(
      `UPDATE outbox_message SET reason_code=NULL, reason_data=NULL, flag_code=NULL, flag_data=NULL, identity=NULL WHERE id IN ${list}`,
      chunk,
    );
    await eraseReasons(tx, chunk);
  }
  await eraseAcknowledged(tx, { entity: 'customer', sourceKey });
  await eraseFindings(tx, 'customer', sourceKey);
  return { messages: ids.length, ...erased };
}

export const forget = action({
  role: 'act',
  subject: 'record',
  entities: ['customer'],
  inputs: {},
  command: { path: ['forget'] },
  isFinal: true,
  preview: async ({ store }, { entity, sourceKey: key }) => {
    const traces = await store.read('look what is kept', (tx) => customerTraces(tx, key));
    const { bodies, excerpts, orderBodies } = traces;
    const why = whyNotForget(traces);
    const leave = (reason: RefusalFact) => [{ entity, key, number: null, why: reason }];
    return {
      matched: 1,
      count: why === null ? 1 : 0,
      isAll: true,
      rows: [],
      skipped: why === null ? [] : [{ why, count: 1, examples: leave(why) }],
      notes: why === null ? [{ code: 'would_erase', key, bodies, excerpts, orderBodies }] : [],
      data: { forgotten: false, key, orderBodies },
      act: async (context, { reason }) => {
        const result = await forgetCustomer(context, key, reason);
        if ('code' in result) return { done: 0, left: leave(result) };
        return { done: 1, left: [], notes: [{ code: 'erased', ...result }], data: { forgotten: true, ...result } };
      },
    };
  },
  offer: async () => ({ needs: [] }),
});
