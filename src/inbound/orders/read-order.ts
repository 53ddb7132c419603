import { isDeepStrictEqual } from 'node:util';
import { appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import { type OrderItem, orderTotal, settingsOfRecord } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { noteStates } from '../../outbound/deliver/profile-notices.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { ServiceReads } from '../../outbound/deliver/service-reads.js';
import type { OrderReading } from '../../outbound/outbox/binding-holders.js';
import { keepOrderRead, noteOrderAsked } from '../../outbound/outbox/bindings.js';
import { acknowledgementPlaces, readOrderAnswer } from '../../service/acknowledgement.js';
import { fillPath } from '../../service/compose-request.js';
import type { ServiceClient } from '../../service/service-client.js';
import type { Tx } from '../../store/store.js';
import { type BoundOrder, boundOrder, isBeingSent, isMoving } from './order-reads.js';

type OrderShown = { status: string; total: number | null } | { isAbsent: true };

/** The changes, for the audit. `total`: not the one before, or not the sum of what was sent. */
type OrderNews = 'status' | 'total' | 'gone' | 'back';

/**
 * Applies an answer to the stored facts of an order. Pure.
 * @param expectedTotal the sum of what was acknowledged; null: not known, or not to be compared
 * @param isMoving a change or removal of ours may have taken effect already: neither total nor absence means anything yet
 */
export function judgeOrderRead(
  known: OrderReading,
  shown: OrderShown,
  {
    finalStates,
    expectedTotal,
    isMoving,
  }: { finalStates: readonly string[]; expectedTotal: bigint | null; isMoving: boolean },
): { reading: OrderReading; news: OrderNews[] } {
  if ('isAbsent' in shown) {
    if (isMoving || known.state === 'gone') return { reading: known, news: [] };
    return { reading: { ...known, state: 'gone' }, news: ['gone'] };
  }
  const { status, total } = shown;
  const state = finalStates.includes(status) ? 'final' : 'open';
  const differs = total !== null && expectedTotal !== null && BigInt(total) !== expectedTotal;
  const said: Fact | null = differs ? { code: 'total_differs', found: total, expected: String(expectedTotal) } : null;
  const flag = isMoving ? known.flag : said;
  const news: OrderNews[] = [];
  if (known.state === 'gone') news.push('back');
  if (known.status !== status) news.push('status');
  const isOtherTotal = known.total !== null && total !== known.total;
  if (isOtherTotal || (flag !== null && !isDeepStrictEqual(flag, known.flag))) news.push('total');
  return { reading: { state, status, total, flag }, news };
}

export type OrderRead =
  /** The service showed it. `changed`: something is new, and on the audit. */
  | { kind: 'read'; sourceKey: string; status: string; total: number | null; changed: boolean }
  /** The service has no such order (any more). Nothing is created again. */
  | { kind: 'gone'; sourceKey: string; changed: boolean }
  /** None of ours: no binding has it. */
  | { kind: 'unknown' }
  /**
   * It could not be read. `isRefused`: asking again later brings nothing else. `isItsOwn`: the reason may lie with this order
   * alone, so that others may be read.
   */
  | { kind: 'not_read'; reason: Fact; isRefused: boolean; isItsOwn: boolean };

/** Below everything that is sent, also below the backlog. */
const patientPriority = -2;

/**
 * Asks the service for the status and the total of one delivered order, within the limit and past the gate of the lane `pull`
 * like every read, and keeps them with its binding.
 * @param order by the id that the service gave, as a webhook names it, or by the key in the ERP
 * @param isPatient lets everything else pass that waits for a slot, and asks once only
 */
export async function readOrder(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  order: { orderId: string } | { sourceKey: string },
  { signal, isPatient = false, tries }: { signal?: AbortSignal; isPatient?: boolean; tries?: number } = {},
): Promise<OrderRead> {
  const { store, settings, nowMs } = context;
  const { acknowledgement, endpoints } = settings.service;
  const endpoint = endpoints.readOrder;
  if (!endpoint)
    return { kind: 'not_read', reason: { code: 'read_endpoint_not_set' }, isRefused: true, isItsOwn: false };
  const asked = await store.read('look for a delivered order', (tx) => boundOrder(tx, order));
  if (!asked) return { kind: 'unknown' };
  const { sourceKey, serviceId } = asked;
  const path = fillPath(endpoint.path, { order_id: serviceId, id: serviceId });
  const giveUp = async (reason: Fact, isRefused: boolean): Promise<OrderRead> => {
    await lease.write('note that an order was asked for', (tx) => noteOrderAsked(tx, sourceKey, nowMs()));
    return { kind: 'not_read', reason, isRefused, isItsOwn: true };
  };
  if ('problem' in path) return giveUp(path.problem, true);
  const manner = isPatient ? { priority: patientPriority, tries: 1 } : { tries };
  let kept: OrderRead = { kind: 'unknown' };
  const answer = await new ServiceReads(context, client, lease, { signal, ...manner }).ask<OrderShown>({
    purpose: 'read_order',
    path: path.filled,
    query: {},
    answers: [endpoint.successStatus, endpoint.absentStatus],
    places: acknowledgementPlaces(acknowledgement, 'order'),
    read: (status, json) =>
      status === endpoint.absentStatus ? { isAbsent: true } : readOrderAnswer(settings.service, serviceId, json),
    keep: async (tx, shown, at) => {
      kept = await keep(tx, context, asked, shown, at);
    },
    detail: { orderId: serviceId },
  });
  if (!('noAnswer' in answer)) return kept;
  const { noAnswer, verdict, isRefused } = answer;
  if (ownVerdicts.includes(verdict)) return giveUp(noAnswer, isRefused);
  return { kind: 'not_read', reason: noAnswer, isRefused, isItsOwn: false };
}

/** These may be about one order alone: the others are still read. */
const ownVerdicts = ['refused', 'misconfigured', 'invalid', 'in_doubt'];

async function keep(
  tx: Tx,
  { settings, actor, log }: JobContext,
  asked: BoundOrder,
  shown: OrderShown,
  at: number,
): Promise<OrderRead> {
  const { sourceKey, serviceId } = asked;
  const now = await boundOrder(tx, { sourceKey }, true);
  // It was removed or bound anew since it was asked for.
  if (!now || now.serviceId !== serviceId) return { kind: 'unknown' };
  // An update of ours that was answered meanwhile, or is on its way, may have come before or after this reading.
  if (now.revision !== asked.revision || (await isBeingSent(tx, sourceKey))) {
    await noteOrderAsked(tx, sourceKey, at);
    return { kind: 'not_read', reason: { code: 'sent_while_read' }, isRefused: false, isItsOwn: true };
  }
  const { service, orders } = settingsOfRecord(settings, sourceKey);
  const { reading, news } = judgeOrderRead(now.reading, shown, {
    finalStates: orders.readBack.finalStates,
    expectedTotal: service.checkTotal === 'exact' ? totalOf(now.acknowledged) : null,
    isMoving: await isMoving(tx, sourceKey),
  });
  await keepOrderRead(tx, sourceKey, reading, at);
  const detail = {
    orderId: serviceId,
    from: now.reading.status,
    to: reading.status,
    total: reading.total,
    flag: reading.flag,
  };
  await appendAudit(
    tx,
    news.map((outcome) => ({ event: 'read_back', outcome, entity: 'order', sourceKey, actor, detail })),
    at,
  );
  if ('isAbsent' in shown) return { kind: 'gone', sourceKey, changed: news.length > 0 };
  for (const state of await noteStates(tx, service, 'order', [shown.status], at))
    log.warn('The service gives a state that the settings do not name', { entity: 'order', state });
  return { kind: 'read', sourceKey, status: shown.status, total: shown.total, changed: news.length > 0 };
}

function totalOf(acknowledged: string | null): bigint | null {
  const { items } = JSON.parse(acknowledged ?? '{}') as { items?: OrderItem[] };
  return items ? orderTotal(items) : null;
}
