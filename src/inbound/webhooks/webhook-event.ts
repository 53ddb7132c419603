import type { WebhookSettings } from '../../config/sections/webhooks.js';

/** What an event says: that something happened, and to what. */
export interface WebhookEvent {
  id: string;
  type: string;
  /** What Waybill reads because of it; null: the event is only kept. */
  about: 'invoice' | 'order' | null;
  /** Number of the invoice, or the order's id at the service. */
  subject: string | null;
}

/**
 * Reads the body of a verified request. Pure.
 * @param id the id that the signature covers, or null: then it stands in the body
 * @param contentId what an event without any id is known by
 * @returns null when it is no JSON object with a type
 */
export function readWebhookEvent(
  body: Buffer,
  id: string | null,
  contentId: () => string,
  { events, fields }: Pick<WebhookSettings, 'events' | 'fields'>,
): WebhookEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return null;
  }
  const type = textAt(value, fields.type);
  if (type === null) return null;
  const about = events.paymentSucceeded.includes(type)
    ? 'invoice'
    : events.orderStatusChanged.includes(type)
      ? 'order'
      : null;
  return {
    id: id ?? textAt(value, fields.id) ?? contentId(),
    type,
    about,
    subject: about === null ? null : textAt(value, about === 'invoice' ? fields.invoiceNo : fields.orderId),
  };
}

/** A text, or a whole number as text, of a length that the store takes. */
function textAt(value: unknown, path: string): string | null {
  let part: unknown = value;
  for (const name of path.split('.')) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return null;
    part = (part as Record<string, unknown>)[name];
  }
  const text = Number.isSafeInteger(part) ? String(part) : part;
  return typeof text === 'string' && text !== '' && text.length <= 255 ? text : null;
}
