import type { Tx } from '../store/store.js';
import { webhooksSeemStopped } from './seem-stopped.js';
import { lastReceivedAt } from './webhook-rows.js';
import { readTally, type TallyRow } from './webhook-tally.js';

export interface WebhookStatus {
  /** When an event was stored last; null: never. */
  lastEventAt: number | null;
  /** When a listener started last; null: never. */
  listeningSinceAt: number | null;
  /** Events that have to be read about. */
  pending: number;
  tally: TallyRow[];
  /** That webhooks seem to have stopped, in words, or null. */
  stopped: string | null;
}

/** Pulls that are looked at. */
const newestPulls = 200;

export async function readWebhookStatus(tx: Tx): Promise<WebhookStatus> {
  const tally = await readTally(tx);
  const listeningSinceAt = tally.find(({ name }) => name === 'listening')?.lastAt ?? null;
  const lastAt = await lastReceivedAt(tx);
  const pulls = await tx.select(
    `SELECT started_at, unlisted FROM invoice_pull WHERE outcome IN ('proven','unproven') ORDER BY id DESC LIMIT ${newestPulls}`,
  );
  const [waiting] = await tx.select("SELECT COUNT(*) AS n FROM webhook_event WHERE state='pending'");
  return {
    lastEventAt: lastAt.any,
    listeningSinceAt,
    pending: Number(waiting?.n ?? 0),
    tally: tally.filter(({ name }) => name !== 'listening'),
    stopped: webhooksSeemStopped(
      pulls.map((row) => ({ startedAt: Number(row.started_at), unlisted: Number(row.unlisted) })),
      lastAt.invoice,
      listeningSinceAt,
    ),
  };
}
