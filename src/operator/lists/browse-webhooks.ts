import { listEvents, type StoredEvent } from '../../inbound/webhooks/webhook-rows.js';
import { readWebhookStatus } from '../../inbound/webhooks/webhook-status.js';
import type { Tx } from '../../store/store.js';

export type EventPlace = Pick<StoredEvent, 'receivedAt' | 'id'>;
export type WebhookPage = Awaited<ReturnType<typeof browseWebhooks>>;

/** A page of the events, the newest first, and how the listener fares. */
export async function browseWebhooks(tx: Tx, after: EventPlace | null, limit: number) {
  const found = await listEvents(tx, limit + 1, after);
  const events = found.slice(0, limit);
  const next: EventPlace | null = found.length > limit ? (events.at(-1) ?? null) : null;
  return { events, next, status: await readWebhookStatus(tx) };
}
