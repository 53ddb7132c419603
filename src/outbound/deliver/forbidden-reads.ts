import type { JsonValue } from '../../model/record.js';
import { type Alert, raiseAlert } from '../../store/alerts.js';
import type { Tx } from '../../store/store.js';

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
