import type { JsonValue } from '../../model/record.js';
import type { Delivered, Failure } from '../../model/verdict.js';
import { type Alert, raiseAlert } from '../../store/alerts.js';
import type { Tx } from '../../store/store.js';
import { forbiddenBefore, passedSinceForbidden } from './attempts.js';
import type { ClaimedMessage } from './claim-messages.js';
import type { Ended } from './exchange.js';

type Operated = Pick<ClaimedMessage, 'entity' | 'operation'>;

/** What is done in one way at the service, and so at one endpoint. */
const endpointKey = ({ entity, operation }: Operated) => `${operation} ${entity}`;

/** A 403 may be about one record alone: then it stops no others. */
export async function heedForbidden(
  tx: Tx,
  ended: readonly Ended<ClaimedMessage, Delivered>[],
): Promise<Ended<ClaimedMessage, Delivered>[]> {
  const forbidden = ended.filter(({ sent }) => sent.verdict.kind === 'misconfigured' && sent.status === 403);
  if (forbidden.length === 0) return [...ended];
  const passed = new Set<string>();
  for (const { about } of forbidden)
    if (await passedSinceForbidden(tx, about.entity, about.operation)) passed.add(endpointKey(about));
  const before = await forbiddenBefore(
    tx,
    forbidden.map(({ about }) => about.id),
  );
  const verdicts = judgeForbidden(
    ended.map(({ about, sent }) => ({ ...about, ...sent, wasForbidden: before.has(about.id) })),
    passed,
  );
  return ended.map((one, i) => ({ ...one, sent: { ...one.sent, verdict: verdicts[i] ?? one.sent.verdict } }));
}

export interface ForbiddenCandidate extends Operated {
  verdict: Delivered | Failure;
  status: number | null;
  /** Whether an earlier request of the same message was answered 403. */
  wasForbidden: boolean;
}

/**
 * Tells a 403 that is about one record from one that is about us. Where others have passed at the same endpoint since the
 * last 403 there, our credential may evidently do this: the record waits for a moment, in which others show whether it
 * still may, and when it is forbidden once more after that, it is the record. Pure.
 * @param outcomes in the order in which they came
 * @param passedSince endpoints where a request has passed since the last 403, such as `create order`
 */
export function judgeForbidden(
  outcomes: readonly ForbiddenCandidate[],
  passedSince: ReadonlySet<string>,
): (Delivered | Failure)[] {
  const passed = new Set(passedSince);
  return outcomes.map((outcome) => {
    const { verdict, status, wasForbidden } = outcome;
    const endpoint = endpointKey(outcome);
    if (verdict.kind === 'delivered') passed.add(endpoint);
    if (verdict.kind !== 'misconfigured' || status !== 403) return verdict;
    return passed.delete(endpoint) ? { ...verdict, others: wasForbidden ? 'pass still' : 'passed' } : verdict;
  });
}

const causes = { read_invoice: 'read_invoice.forbidden', read_order: 'read_order.forbidden' } as const;
const endpoints = { read_invoice: 'readInvoice', read_order: 'readOrder' } as const;
/** So long after the last one the alert is over. */
const alertMs = 24 * 3_600_000;

/** Says that the service forbids the read of one record (403, 407) or leads it elsewhere (3xx): one alert, however many they are. */
export async function raiseForbiddenRead(
  tx: Tx,
  purpose: keyof typeof causes,
  reason: string,
  record: { [name: string]: JsonValue },
  nowMs: number,
): Promise<void> {
  const message = `The service does not let us read ${JSON.stringify(record)}: ${reason}. Everything else goes on. Check service.endpoints.${endpoints[purpose]} and the permissions of the account.`;
  await raiseAlert(tx, causes[purpose], message, nowMs, { ...record, lastAt: nowMs });
}

/** Whether an alert is about a forbidden read, and none was forbidden for a day. Pure. */
export function isPastForbiddenRead({ cause, details }: Pick<Alert, 'cause' | 'details'>, nowMs: number): boolean {
  return Object.values<string>(causes).includes(cause) && nowMs - Number(details.lastAt) > alertMs;
}
