import { legacy } from '../../src/model/facts/fact.js';
import { insertMessages, type NewMessage } from '../../src/outbound/outbox/new-messages.js';
import type { Lab } from '../support/jobs/job-lab.js';

/** Puts a parked create of an order of 21.00 into the outbox. */
export async function park(lab: Lab, sourceKey: string, reason: string, more: Partial<NewMessage> = {}): Promise<void> {
  const message: NewMessage = {
    entity: 'order',
    sourceKey,
    revision: 1,
    operation: 'create',
    generation: 0,
    number: null,
    customerKey: null,
    contentHash: 'h',
    mappingFingerprint: 'm',
    record: JSON.stringify({ items: [{ sku: 'A', qty: 2, price: 1_050 }] }),
    idempotencyKey: null,
    parked: { parkClass: 'refused', reason: legacy(reason) },
    ...more,
  };
  await lab.context.store.transaction('park', (tx) => insertMessages(tx, [message], Date.now()));
}
