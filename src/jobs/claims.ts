import { appendAudit } from '../audit/audit-log.js';
import type { Settings } from '../config/settings.js';
import { type ClaimedMessage, claimMessages } from '../outbox/claim-messages.js';
import { mendTimesAhead } from '../outbox/mend-times-ahead.js';
import { longestOwnWaitMs } from '../outbox/message.js';
import { parkForgottenKeys } from '../outbox/park-forgotten-keys.js';
import { settleNothingToSend } from '../outbox/settle-nothing-to-send.js';
import { assertEpoch } from '../store/lease.js';
import type { Tx } from '../store/store.js';
import type { JobContext } from './job-context.js';
import { killPoint } from './kill-point.js';
import { lookUpEntities } from './look-up.js';
import type { ServiceLease } from './service-lease.js';

/** Takes messages for sending, on record before their first byte, and parks those whose key the service may have forgotten. */
export class Claims {
  readonly #context: JobContext;
  readonly #lease: ServiceLease;
  readonly #keyLifetimeMs: number;

  constructor(context: JobContext, lease: ServiceLease) {
    this.#context = context;
    this.#lease = lease;
    this.#keyLifetimeMs = context.settings.service.idempotency.lifetimeHours * 3_600_000;
  }

  /** Messages that were first sent before this must not be sent blindly again. */
  get forgottenBefore(): number {
    return this.#context.nowMs() - this.#keyLifetimeMs;
  }

  /** @returns what may be sent now, and how many were parked on the way. @throws LeaseLost */
  async claim(ids: readonly number[]): Promise<{ claimed: ClaimedMessage[]; parked: number }> {
    const { store, nowMs, settings, actor } = this.#context;
    if (ids.length === 0) return { claimed: [], parked: 0 };
    const { endpoints, idempotency } = settings.service;
    const updates = {
      customer: { method: endpoints.updateCustomer.method, optional: optionalFields(settings.customers) },
      order: { method: endpoints.updateOrder.method, optional: optionalFields(settings.orders) },
    };
    const done = await store.transaction('claim messages', async (tx) => {
      await assertEpoch(tx, this.#lease.lease);
      const at = nowMs();
      // Before anything is claimed: a key that is forgotten must not go out once more.
      const parked = await this.#park(tx, at);
      const { claimed, nothingToSend } = await claimMessages(
        tx,
        ids,
        this.#lease.lease.epoch,
        at,
        this.#keyLifetimeMs,
        updates,
        idempotency.in === 'body' ? idempotency.field : null,
      );
      await settleNothingToSend(tx, nothingToSend, at);
      await appendAudit(
        tx,
        nothingToSend.map((message) => ({
          event: 'superseded',
          entity: message.entity,
          sourceKey: message.sourceKey,
          messageId: message.id,
          actor,
          detail: { reason: 'The service holds these values already.' },
        })),
        at,
      );
      if (claimed.length > 0) killPoint('before-claim-commit');
      return { claimed, parked };
    });
    if (done.claimed.length > 0) killPoint('after-claim-commit');
    return done;
  }

  /** @returns how many. @throws LeaseLost */
  async parkForgotten(): Promise<number> {
    const { store, nowMs } = this.#context;
    return store.transaction('park what the service may have forgotten', async (tx) => {
      await assertEpoch(tx, this.#lease.lease);
      return this.#park(tx, nowMs());
    });
  }

  async #park(tx: Tx, at: number): Promise<number> {
    const { delivery } = this.#context.settings;
    const ahead = await mendTimesAhead(tx, at, Math.max(longestOwnWaitMs, delivery.backoffMaxSeconds * 1000));
    if (ahead > 0)
      this.#context.log.warn('The clock was set back: what waited for a time that lies ahead waits no longer', {
        messages: ahead,
      });
    const messages = await parkForgottenKeys(tx, at - this.#keyLifetimeMs, lookUpEntities(this.#context));
    await appendAudit(
      tx,
      messages.map((message) => ({
        event: 'parked',
        outcome: 'unproven',
        entity: message.entity,
        sourceKey: message.sourceKey,
        messageId: message.id,
        actor: this.#context.actor,
        detail: { reason: 'Its first try is older than the lifetime of keys at the service.' },
      })),
      at,
    );
    return messages.length;
  }
}

function optionalFields({ fields = {} }: Settings['orders'] | Settings['customers']): string[] {
  return Object.entries(fields).flatMap(([name, mapping]) =>
    typeof mapping === 'object' && mapping?.optional ? [name] : [],
  );
}
