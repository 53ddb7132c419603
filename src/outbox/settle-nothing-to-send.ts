import { updateRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import type { NothingToSend } from './claim-messages.js';

/** Closes updates that have nothing to say any more, and moves their bindings on. */
export async function settleNothingToSend(tx: Tx, messages: readonly NothingToSend[], nowMs: number): Promise<void> {
  if (messages.length === 0) return;
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    messages.map(({ id }) => ({
      id,
      state: 'superseded',
      reason: 'The service holds these values already.',
      closed_at: nowMs,
    })),
  );
  await updateRows(
    tx,
    'binding',
    ['entity', 'source_key'],
    messages.map((message) => ({
      entity: message.entity,
      source_key: message.sourceKey,
      revision: message.revision,
      content_hash: message.contentHash,
      mapping_fingerprint: message.mappingFingerprint,
    })),
  );
}
