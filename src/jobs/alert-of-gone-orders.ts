import { goneSince } from '../outbox/order-reads.js';
import { endAlert, raiseAlert } from '../store/alerts.js';
import type { Tx } from '../store/store.js';

const cause = 'orders.gone';
/** Whoever has not looked by then has decided; `explain` and `status` still say it. */
const alertDays = 7;

/** Says that delivered orders are not at the service any more, as long as that is news. They are never created again by themselves. */
export async function alertOfGoneOrders(tx: Tx, nowMs: number): Promise<void> {
  const { count, sourceKey } = await goneSince(tx, nowMs - alertDays * 86_400_000);
  if (sourceKey === null) {
    await endAlert(tx, cause, nowMs);
    return;
  }
  const orders = count === 1 ? 'A delivered order is' : `${count} delivered orders are`;
  const message = `${orders} not at the service any more (key ${sourceKey}). Nothing is created again. Ask there who removed it; see \`waybill audit --event read_back --outcome gone\`. If it is there, check service.endpoints.readOrder.`;
  await raiseAlert(tx, cause, message, nowMs, { count, sourceKey });
}
