import type { OperatorAction } from '../../../src/operator/actions/decide-message-action.js';
import {
  decideForMessages,
  matchingIds,
  writeOperatorDecisions,
} from '../../../src/operator/actions/operated-messages.js';
import { recordsMeant } from '../../../src/operator/find-records.js';
import type { MessageFilter } from '../../../src/operator/list-messages.js';
import type { StoreKit } from '../../store/stores.js';

/** The decisions of a person with `waybill outbox`, at a service that remembers keys for an hour. */
export function say(
  kit: Pick<StoreKit, 'store'>,
  action: OperatorAction,
  { keys, ...given }: MessageFilter & { keys?: readonly string[] },
  serviceId: string | null = null,
): Promise<void> {
  return kit.store.transaction('say', async (tx) => {
    const now = { bootId: 'lab', bootMs: Date.now(), wallMs: Date.now() };
    const service = { keyLifetimeMs: 3_600_000, maxProcessingMs: 1, replaysRefusals: false };
    const context = { now, ...service, serviceId, canLookUp: [], ownIds: ['customer'] as const };
    const naming = { by: 'any', entity: given.entity, sources: [''] } as const;
    const filter = keys ? { ...given, records: await recordsMeant(tx, keys, naming) } : given;
    const ids = await matchingIds(tx, filter, 0, 10);
    const decided = await decideForMessages(tx, ids, { action, filter, context, rows: 'lock' });
    await writeOperatorDecisions(
      tx,
      decided,
      { installation: 'test', reason: 'a person looked', saidOf: () => ({ by: 'a person', check: 'unasked' }) },
      Date.now(),
    );
  });
}
