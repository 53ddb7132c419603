import { appendAudit } from '../audit/audit-log.js';
import type { Entity } from '../model/entity.js';
import { passBrake } from '../outbox/brake.js';
import { countOfPass, holdOfPass, type PassScope, releaseOfPass } from '../outbox/hold-messages.js';
import { raiseAlert } from '../store/alerts.js';
import { assertEpoch, type Lease } from '../store/lease.js';
import type { Tx } from '../store/store.js';
import type { JobContext } from './job-context.js';
import { killPoint } from './kill-point.js';

const batchSize = 500;

/**
 * Lets the updates and removals of a pass go, or holds them for a person when they are more than anybody would make by hand.
 * @param standing what is wrong with the source as a whole, or null
 * @returns how many are held
 */
export async function endPass(
  context: JobContext,
  lease: Lease | null,
  scope: PassScope,
  standing: string | null,
): Promise<number> {
  const { entity } = scope;
  const { store, settings, nowMs } = context;
  const guarded = <T>(action: string, work: (tx: Tx) => Promise<T>) =>
    store.transaction(action, async (tx) => {
      if (lease) await assertEpoch(tx, lease);
      const done = await work(tx);
      killPoint('before-pass-end');
      return done;
    });
  const counts = await store.read('count what the pass would change', (tx) => countOfPass(tx, scope));
  if (counts.updates + counts.removals === 0) return 0;
  const reason = passBrake(counts, settings.capture, standing);
  if (reason === null) {
    await guarded('let the pass go', (tx) => releaseOfPass(tx, scope, nowMs()));
    killPoint('after-pass-end');
    return 0;
  }
  let held = 0;
  for (;;) {
    const batch = await guarded('hold the pass', async (tx) => {
      const messages = await holdOfPass(tx, scope, reason, nowMs(), batchSize);
      await appendAudit(
        tx,
        messages.map(({ id, sourceKey }) => ({
          event: 'parked',
          outcome: 'held',
          entity,
          sourceKey,
          messageId: id,
          actor: context.actor,
          detail: { reason },
        })),
        nowMs(),
      );
      return messages.length;
    });
    killPoint('after-pass-end');
    held += batch;
    if (batch < batchSize) break;
  }
  await alertHeld(context, entity, held, reason);
  return held;
}

/** Says once that something waits for `waybill confirm`; over when nothing of the entity is held any more. */
export async function alertHeld(context: JobContext, entity: Entity, held: number, reason: string): Promise<void> {
  const { store, log, actor, nowMs } = context;
  const message = `${held} changes to ${entity === 'order' ? 'orders' : 'customers'} are held: ${reason}. Look at them with \`waybill confirm\`.`;
  await store.transaction('say what is held', async (tx) => {
    await raiseAlert(tx, `held.${entity}`, message, nowMs(), { held });
    await appendAudit(tx, [{ event: 'alert', outcome: 'held', entity, actor, detail: { message } }], nowMs());
  });
  log.error(message);
}
