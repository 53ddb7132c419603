import { appendAudit } from '../../audit/audit-log.js';
import type { JobContext } from '../../ops/job-context.js';
import { eraseReasons } from '../../outbound/deliver/attempts.js';
import { eraseAcknowledged } from '../../outbound/outbox/bindings.js';
import type { MessageState } from '../../outbound/outbox/message.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { eraseBodies } from '../prune.js';
import { eraseFindings } from '../reconcile/reconcile-rows.js';

/** The code in a customer's mapped record; null: it has none, or its bytes are no longer kept. */
export function customerCodeOf(record: string | null): string | null {
  if (record === null) return null;
  const { customer_code: code } = JSON.parse(record) as { customer_code?: unknown };
  return typeof code === 'string' ? code : null;
}

type CustomerTraces = Awaited<ReturnType<typeof customerTraces>>;

/** What the store keeps about a customer. */
export async function customerTraces(tx: Tx, sourceKey: string) {
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
export function whyNotForget({ states, bound }: CustomerTraces): string | null {
  if (states.size === 0 && !bound) return 'nothing is known of it';
  const waiting = (['pending', 'sending', 'in_doubt'] as const).filter((state) => states.has(state));
  if (waiting.length > 0)
    return `a message of it is ${waiting.join(' and ')}: let it be delivered, or close it with \`waybill outbox discard\` or \`resolve\`, first`;
  if (states.has('parked'))
    return 'a message of it is parked: settle it with `waybill outbox discard` or `resolve` first';
  return null;
}

interface Forgotten {
  messages: number;
  bodies: number;
  excerpts: number;
}

/**
 * Erases what was sent and received about a customer. Key, id and hashes stay, so that nothing is sent twice. What the
 * service acknowledged is then unknown: the next change of its row is sent whole.
 * @returns why the customer can't be forgotten, where that has changed since the operator looked
 */
export async function forgetCustomer(
  { store, actor, nowMs }: JobContext,
  sourceKey: string,
  reason: string,
): Promise<Forgotten | string> {
  const result = await store.transaction('forget a customer', async (tx): Promise<Forgotten | string> => {
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
  if (typeof result !== 'string' && afterErasing !== null)
    await store.read('empty the log of the database', (tx) => tx.select(afterErasing));
  return result;
}

async function eraseMessages(tx: Tx, sourceKey: string): Promise<Forgotten> {
  const rows = await tx.rows<{ id: number }>(
    // What capture writes at this moment is still to be sent, and keeps its bytes.
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
    await tx.run(`UPDATE outbox_message SET reason=NULL, flag=NULL, identity=NULL WHERE id IN ${list}`, chunk);
    await eraseReasons(tx, chunk);
  }
  await eraseAcknowledged(tx, { entity: 'customer', sourceKey });
  await eraseFindings(tx, 'customer', sourceKey);
  return { messages: ids.length, ...erased };
}
