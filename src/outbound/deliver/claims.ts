import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Settings } from '../../config/settings.js';
import type { Fact } from '../../model/facts/fact.js';
import { type Entity, entities, settingsOfRecord, sourceNames } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { clockSetSince, clockToleranceMs, wallLeadMs } from '../../store/clock.js';
import { factColumns } from '../../store/fact-columns.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { ErpPresence } from '../capture/capture-removals.js';
import { advanceBindings } from '../outbox/bindings.js';
import {
  firstSentBefore,
  keyFieldFor,
  keyLifetimeMs,
  type Presentations,
  presentationsOf,
} from '../outbox/idempotency-key.js';
import { longestOwnWaitMs } from '../outbox/message.js';
import { replaceUnsent } from '../outbox/promote-dependent.js';
import { closeAsSettled, holdMessages, type MessageName, parkAsUnproven } from '../outbox/transitions.js';
import {
  type ClaimedMessage,
  claimMessages,
  mostCharacters,
  type NothingToSend,
  type Unsendable,
} from './claim-messages.js';
import { followClock, forgetFutureSends, inParts } from './clock-trace.js';
import type { DeliveryTally } from './delivery-tally.js';
import type { ResendTerms } from './due-messages.js';
import { lookUpEntities } from './look-up.js';
import type { ServiceLease } from './service-lease.js';
import { WaitingCreates } from './waiting-creates.js';
import { WaitingRemovals } from './waiting-removals.js';

/**
 * After a clock that ran ahead was set right: what was sent "tomorrow" counts as forgotten, and a message that waits
 * until then waits no longer. If no time lies ahead nothing is written.
 * @param longestWaitMs the longest that a message waits for its next try
 * @returns how many messages had such a time
 */
async function fixFutureTimestamps(
  tx: Tx,
  nowMs: number,
  longestWaitMs: number,
  sources: readonly string[],
): Promise<number> {
  const sent = await forgetFutureSends(tx, nowMs);
  const waiting = await tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message
      WHERE state IN ('pending','in_doubt') AND entity IN ('customer','order') AND source IN ${placeholders(sources.length)}
        AND is_backlog IN (0,1) AND next_attempt_at>?`,
    [...sources, nowMs + longestWaitMs + clockToleranceMs],
  );
  const update = "UPDATE outbox_message SET next_attempt_at=? WHERE state IN ('pending','in_doubt') AND";
  await inParts(tx, waiting, update, [nowMs]);
  return new Set([...sent, ...waiting].map(({ id }) => id)).size;
}

/**
 * A message that is past the key's lifetime at the service is never resent blindly: a person decides.
 * @param except entities that are looked up instead
 * @param isLifetimeKnown the settings say how long the service remembers a key
 */
export async function parkForgottenKeys(
  tx: Tx,
  sentBeforeMs: number,
  except: readonly Entity[] = [],
  isLifetimeKnown = true,
): Promise<MessageName[]> {
  const found = await tx.rows<MessageName>(
    `SELECT id, entity, source_key FROM outbox_message WHERE state='in_doubt' AND operation='create' AND ${firstSentBefore}`,
    [sentBeforeMs],
  );
  const forgotten = found.filter(({ entity }) => !except.includes(entity));
  await parkAsUnproven(
    tx,
    'in_doubt',
    forgotten.map(({ id }) => id),
    keyPerhapsForgotten(isLifetimeKnown),
  );
  return forgotten;
}

/**
 * Creates in doubt whose keys the settings would show to the service in another way by now: their keys count as forgotten.
 * @returns those whose keys did not count as forgotten before
 */
async function forgetShownOtherwise(tx: Tx, presentations: Presentations): Promise<MessageName[]> {
  const shownAs = "presented_as<>CASE WHEN key_in='header' THEN ? ELSE ? END";
  const forgotten = await tx.rows<MessageName>(
    `SELECT id, entity, source_key FROM outbox_message
      WHERE state='in_doubt' AND operation='create' AND first_sent_at IS NOT NULL
        AND (${entities.map((entity) => `(entity='${entity}' AND ${shownAs})`).join(' OR ')})`,
    entities.flatMap((entity) => [presentations[entity].header, presentations[entity].body]),
  );
  const why = factColumns(shownOtherwise);
  const set = 'UPDATE outbox_message SET first_sent_at=NULL, reason_code=?, reason_data=? WHERE';
  await inParts(tx, forgotten, set, [why.code, why.data]);
  return forgotten;
}

const shownOtherwise: Fact = { code: 'key_shown_otherwise' };

/** Closes updates that have nothing to say any more, and moves their bindings on. */
export async function settleNothingToSend(tx: Tx, messages: readonly NothingToSend[], nowMs: number): Promise<void> {
  const ids = messages.map(({ id }) => id);
  await closeAsSettled(tx, ids, holdsAlready, nowMs);
  await advanceBindings(tx, messages);
}

/** A record that the service has seen may exist there; the others do not. */
function unsendableClass({ state, wasSent }: Pick<Unsendable, 'state' | 'wasSent'>) {
  return state === 'pending' && !wasSent ? 'held' : 'unproven';
}

/** Parks what must not go out as it is. */
export async function parkUnsendable(tx: Tx, messages: readonly Unsendable[]): Promise<void> {
  for (const { id, reason, ...message } of messages)
    if (unsendableClass(message) === 'held') await holdMessages(tx, [id], reason);
    else await parkAsUnproven(tx, message.state, [id], reason);
}

const keyPerhapsForgotten = (lifetimeKnown: boolean): Fact => ({ code: 'key_perhaps_forgotten', lifetimeKnown });
const holdsAlready: Fact = { code: 'already_held' };

/** While one claim follows the other, it is looked so often for keys that are forgotten, and for times that lie ahead. */
const parkEveryMs = 1_000;

/** Takes messages for sending, on record before their first byte, and parks those whose key the service may have forgotten. */
export class Claims {
  readonly #keyLifetimeMs: number;
  readonly #presentations: Presentations;
  /** The lead of the clock on the wall over one that cannot be set, when it was last followed. */
  #leadMs: number;
  readonly #waitingCreates: WaitingCreates;
  readonly #waitingRemovals: WaitingRemovals;
  /** When it was looked last for what the service may have forgotten, and for times that lie ahead. */
  #parkedAtMs = Number.NEGATIVE_INFINITY;
  /** The average size of the last claim. */
  #charactersEach = 1;

  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly tally: DeliveryTally,
    erp: ErpPresence,
  ) {
    this.#keyLifetimeMs = keyLifetimeMs(context.settings.service);
    this.#waitingCreates = new WaitingCreates(context, lease, erp);
    this.#waitingRemovals = new WaitingRemovals(context, lease, tally, erp);
    this.#presentations = presentationsOf(context.settings.service);
    this.#leadMs = wallLeadMs(context);
  }

  /** Which creates in doubt may be sent again as they are. */
  get resends(): ResendTerms {
    const { context } = this;
    return { sentSinceMs: context.nowMs() - this.#keyLifetimeMs, lookedUp: lookUpEntities(context) };
  }

  /**
   * The number of messages to claim at once: fewer of large records, because a claim would leave the others, read for
   * nothing.
   */
  get atOnce(): number {
    const ofThisSize = Math.floor(mostCharacters / this.#charactersEach);
    return Math.max(1, Math.min(this.context.store.dialect.messagesAtOnce, ofThisSize));
  }

  /** The clock was set since it was last followed: what waits for a time may wait for a wrong one. */
  get isClockSet(): boolean {
    return clockSetSince(this.#leadMs, this.context) !== 0;
  }

  /** @returns what may be sent now. @throws LeaseLost */
  async claim(ids: readonly number[], when: 'due' | 'ever'): Promise<ClaimedMessage[]> {
    const may = await this.#waitingCreates.mayLeave(ids);
    if (may.length === 0) return [];
    const claimed = await this.#claim(may, when);
    // If nothing else is sent meanwhile, the next claim may be one of other messages, as when one at a time goes as a
    // probe.
    return claimed.length === 0 && this.#waitingRemovals.isAsking ? this.#claim(may, when) : claimed;
  }

  async #claim(ids: readonly number[], when: 'due' | 'ever'): Promise<ClaimedMessage[]> {
    const { nowMs, settings, actor } = this.context;
    const { endpoints } = settings.service;
    const optional = (of: 'customers' | 'orders') => (sourceKey: string) =>
      optionalFields(settingsOfRecord(settings, sourceKey)[of]);
    const updates = {
      customer: { method: endpoints.updateCustomer.method, optional: optional('customers') },
      order: { method: endpoints.updateOrder.method, optional: optional('orders') },
    };
    const stillRemoved = await this.#waitingRemovals.mayLeave();
    // A key that is forgotten must not go out once more: here it is parked, and `claimMessages` leaves it in any case.
    const isParkingDue = this.context.clock.monotonicMs() - this.#parkedAtMs >= parkEveryMs;
    if (isParkingDue || this.isClockSet) await this.parkForgotten();
    const leadMs = wallLeadMs(this.context);
    // Beside a settlement, as another node of a cluster would do it.
    const answer = await this.lease.writeBeside('claim messages', async (tx) => {
      const at = nowMs();
      if (await followClock(tx, this.context, false)) return null;
      const { claimed, nothingToSend, held, unasked } = await claimMessages(tx, ids, {
        epoch: this.lease.epoch,
        nowMs: at,
        keyLifetimeMs: this.#keyLifetimeMs,
        presentations: this.#presentations,
        updates,
        newKeyField: (operation) => keyFieldFor(settings.service, operation),
        stillRemoved,
        dueByMs: when === 'due' ? at : null,
        wallLeadMs: leadMs,
      });
      await parkUnsendable(tx, held);
      await settleNothingToSend(tx, nothingToSend, at);
      const detail = { reason: holdsAlready };
      const superseded = nothingToSend.map(({ id: messageId, entity, sourceKey }): AuditEntry => {
        return { event: 'superseded', entity, sourceKey, messageId, actor, detail };
      });
      const parkedOrders = held.map(({ id: messageId, entity, sourceKey, state, wasSent, reason }): AuditEntry => {
        const outcome = unsendableClass({ state, wasSent });
        return { event: 'parked', outcome, entity, sourceKey, messageId, actor, detail: { reason } };
      });
      await appendAudit(tx, [...superseded, ...parkedOrders], at);
      let parked = held.length;
      for (const one of held)
        if (one.operation === 'create' && unsendableClass(one) === 'held')
          parked -= (await replaceUnsent(tx, this.context, one, at)) ? 1 : 0;
      this.lease.marks.hold(claimed.map(({ id }) => id));
      if (claimed.length > 0) killPoint('before-claim-commit');
      return { claimed, parked, unasked };
    });
    if (answer === null) {
      // Ages are corrected in a transaction beside which no settlement runs.
      await this.parkForgotten();
      return this.#claim(ids, when);
    }
    const { claimed, parked, unasked } = answer;
    this.#leadMs = leadMs;
    this.#waitingRemovals.setUnasked(unasked);
    if (claimed.length > 0) killPoint('after-claim-commit');
    // After a claim in vain as many as ever: it may be the first of thousands that can't be claimed.
    this.#charactersEach = claimed.reduce((sum, { record }) => sum + record.length, 1) / Math.max(1, claimed.length);
    this.tally.result.parked += parked;
    return claimed;
  }

  /** @returns how many. @throws LeaseLost */
  async parkForgotten(): Promise<number> {
    const leadMs = wallLeadMs(this.context);
    const parked = await this.lease.write('park what the service may have forgotten', (tx) =>
      this.#park(tx, this.context.nowMs()),
    );
    this.#leadMs = leadMs;
    this.#parkedAtMs = this.context.clock.monotonicMs();
    this.tally.result.parked += parked;
    return parked;
  }

  async #park(tx: Tx, at: number): Promise<number> {
    const { delivery, service } = this.context.settings;
    const longestWaitMs = Math.max(
      longestOwnWaitMs,
      delivery.backoffMaxSeconds * 1000,
      service.maxProcessingSeconds * 1000,
    );
    await followClock(tx, this.context);
    const ahead = await fixFutureTimestamps(tx, at, longestWaitMs, sourceNames(this.context.settings));
    if (ahead > 0)
      this.context.log.warn('The clock was set back: what waited for a time that lies ahead waits no longer', {
        messages: ahead,
      });
    const { actor, settings } = this.context;
    const isStated = settings.service.idempotency.lifetimeHours !== undefined;
    const lookedUp = lookUpEntities(this.context);
    const shown = await forgetShownOtherwise(tx, this.#presentations);
    const unproven = shown.filter(({ entity }) => !lookedUp.includes(entity));
    await parkAsUnproven(
      tx,
      'in_doubt',
      unproven.map(({ id }) => id),
      shownOtherwise,
    );
    const messages = await parkForgottenKeys(tx, at - this.#keyLifetimeMs, lookedUp, isStated);
    const lineOf =
      (reason: Fact, event: 'parked' | 'in_doubt') =>
      (message: MessageName): AuditEntry => {
        const { id: messageId, entity, sourceKey } = message;
        return { event, outcome: 'unproven', entity, sourceKey, messageId, actor, detail: { reason } };
      };
    await appendAudit(
      tx,
      [
        ...shown.map((one) => lineOf(shownOtherwise, unproven.includes(one) ? 'parked' : 'in_doubt')(one)),
        ...messages.map(lineOf(keyPerhapsForgotten(isStated), 'parked')),
      ],
      at,
    );
    return unproven.length + messages.length;
  }
}

export function optionalFields({ fields = {} }: Settings['orders'] | Settings['customers']): string[] {
  return Object.entries(fields).flatMap(([name, mapping]) =>
    typeof mapping === 'object' && 'optional' in mapping && mapping.optional ? [name] : [],
  );
}
