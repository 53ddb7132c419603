import { setTimeout as sleep } from 'node:timers/promises';
import { appendAudit } from '../audit/audit-log.js';
import type { ServiceClient } from '../delivery/service-client.js';
import {
  type ClaimedMessage,
  type ClaimScope,
  claimMessages,
  dueMessageIds,
  nextDueAt,
} from '../outbox/claim-messages.js';
import { parkForgottenKeys, settleNothingToSend } from '../outbox/settle-messages.js';
import { assertEpoch, LeaseLost } from '../store/lease.js';
import type { JobContext } from './job-context.js';
import { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';
import { Settler } from './settler.js';

export interface DeliverOptions {
  /** Ends when nothing is due any more (`sync`); otherwise it goes on until it is stopped (`daemon`). */
  untilDrained: boolean;
  scope: ClaimScope;
  /** With untilDrained: how long to wait for a message whose next try lies in the future. */
  retryHorizonMs: number;
  /** Delivers to a production service that is not live: only for the few records of a trial. */
  trial: boolean;
  erpIdentity: string;
  signal?: AbortSignal;
  onProgress?: (result: DeliverResult) => void;
}

export interface DeliverResult {
  attempts: number;
  delivered: { customers: number; orders: number };
  parked: number;
  flagged: number;
  throttled: number;
  inDoubt: number;
  /** Why it ended before everything was delivered, or null. */
  stopped: string | null;
}

/** How long the loop sleeps at most before it looks again: new captures, pauses and resumes come from other processes. */
const pollMs = 500;

/** Claims due messages, sends them through the pacer, settles the verdicts in batches. One at a time, under the service lease. */
export async function deliver(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  options: DeliverOptions,
): Promise<DeliverResult> {
  return new Delivery(context, client, lease, options).run();
}

class Delivery {
  readonly #context: JobContext;
  readonly #client: ServiceClient;
  readonly #lease: ServiceLease;
  readonly #options: DeliverOptions;
  readonly #gate: SendGate;
  readonly #settler: Settler;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #target: number;

  constructor(context: JobContext, client: ServiceClient, lease: ServiceLease, options: DeliverOptions) {
    this.#context = context;
    this.#client = client;
    this.#lease = lease;
    this.#options = options;
    this.#gate = new SendGate(context, lease, options.erpIdentity, options.trial);
    this.#settler = new Settler(context, lease, options.onProgress);
    this.#target = claimTarget(context);
  }

  async run(): Promise<DeliverResult> {
    const { signal } = this.#options;
    const stop = () => this.#gate.stop('stopping');
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    try {
      while (!signal?.aborted && !this.#lease.lost) {
        const ended = await this.#turn();
        if (ended !== null) {
          this.#settler.result.stopped = ended === 'drained' ? null : ended;
          break;
        }
      }
      if (this.#lease.lost) this.#settler.result.stopped = 'the delivery lease went to another process';
      else if (signal?.aborted) this.#settler.result.stopped = 'stopping';
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      this.#lease.markLost();
      this.#settler.result.stopped = 'the delivery lease went to another process';
    } finally {
      // Whatever happened above: requests under way are waited for, and their outcomes go on record.
      this.#gate.stop('stopping');
      await Promise.all(this.#inFlight);
      await this.#settler.flushed();
      signal?.removeEventListener('abort', stop);
    }
    return this.#settler.result;
  }

  /** One turn of the loop: `drained`, a reason to end, or null to go on. */
  async #turn(): Promise<string | null> {
    const { nowMs, store } = this.#context;
    const state = await this.#gate.state();
    const blocked = this.#gate.blockedBy(state, 'deliver');
    if (blocked) {
      if (this.#inFlight.size > 0) return this.#wait();
      await this.#settler.flushed();
      const restMs = blocked.untilMs === null ? Number.POSITIVE_INFINITY : blocked.untilMs - nowMs();
      if (this.#options.untilDrained && restMs > this.#options.retryHorizonMs) return blocked.reason;
      return this.#wait(Math.max(restMs, 1));
    }
    // While the service is down, one message at a time goes to see whether it is back.
    const probing = state.pauses.some((pause) => pause.cause === 'outage');
    const room = probing ? (this.#inFlight.size === 0 ? 1 : 0) : this.#target - this.#inFlight.size;
    // Half a batch at least, so that claims are few and the pipeline never runs dry.
    if (room < 1 || (!probing && room < this.#target / 2)) return this.#wait();

    const claimed = await this.#claim(room);
    for (const message of claimed) this.#launch(message);
    if (claimed.length > 0) return null;
    if (this.#inFlight.size > 0) return this.#wait();
    await this.#settler.flushed();
    if (await this.#parkForgotten()) return null;

    const due = await nextDueAt(store, this.#options.scope);
    const restMs = due === null ? Number.POSITIVE_INFINITY : due - nowMs();
    if (this.#options.untilDrained && restMs > this.#options.retryHorizonMs) return 'drained';
    return this.#wait(Math.max(restMs, 1));
  }

  async #claim(room: number): Promise<ClaimedMessage[]> {
    const { store, nowMs } = this.#context;
    const ids = await store.read('look for due messages', (tx) =>
      dueMessageIds(tx, nowMs(), room, this.#options.scope),
    );
    if (ids.length === 0) return [];
    return store.transaction('claim messages', async (tx) => {
      await assertEpoch(tx, this.#lease.lease);
      const at = nowMs();
      const { claimed, nothingToSend } = await claimMessages(tx, ids, this.#lease.lease.epoch, at);
      await settleNothingToSend(tx, nothingToSend, at);
      await appendAudit(
        tx,
        nothingToSend.map((message) => ({
          event: 'superseded',
          entity: message.entity,
          sourceKey: message.sourceKey,
          messageId: message.id,
          actor: this.#context.actor,
          detail: { reason: 'The service holds these values already.' },
        })),
        at,
      );
      return claimed;
    });
  }

  #launch(message: ClaimedMessage): void {
    const sending = this.#send(message).finally(() => this.#inFlight.delete(sending));
    this.#inFlight.add(sending);
  }

  async #send(message: ClaimedMessage): Promise<void> {
    const sent = await this.#client.send({
      entity: message.entity,
      operation: message.operation,
      idempotencyKey: message.idempotencyKey,
      body: message.body,
      record: message.record,
      serviceId: message.boundServiceId,
      gate: () => this.#gate.check('deliver'),
    });
    this.#settler.add(message, sent);
  }

  async #parkForgotten(): Promise<boolean> {
    const { store, nowMs, settings, actor } = this.#context;
    const lifetimeMs = settings.service.idempotency.lifetimeHours * 3_600_000;
    const parked = await store.transaction('park what the service may have forgotten', async (tx) => {
      await assertEpoch(tx, this.#lease.lease);
      const at = nowMs();
      const messages = await parkForgottenKeys(tx, at - lifetimeMs);
      await appendAudit(
        tx,
        messages.map((message) => ({
          event: 'parked',
          outcome: 'unproven',
          entity: message.entity,
          sourceKey: message.sourceKey,
          messageId: message.id,
          actor,
          detail: { reason: 'Its first try is older than the lifetime of keys at the service.' },
        })),
        at,
      );
      return messages.length;
    });
    this.#settler.result.parked += parked;
    return parked > 0;
  }

  /** Until a request ends, but no longer than the poll. */
  async #wait(ms = pollMs): Promise<null> {
    const timer = new AbortController();
    const rest = sleep(Math.min(ms, pollMs), undefined, { signal: timer.signal }).catch(() => undefined);
    const stopped = new Promise<void>((resolve) => {
      this.#options.signal?.addEventListener('abort', () => resolve(), { once: true, signal: timer.signal });
    });
    await Promise.race([rest, stopped, ...(this.#inFlight.size > 0 ? [Promise.race(this.#inFlight)] : [])]);
    timer.abort();
    return null;
  }
}

/** No more than fit in a few seconds, so that a stop or a pause has little to give back. */
function claimTarget({ settings }: JobContext): number {
  const { limit, concurrency } = settings.service;
  const inThreeSeconds = limit ? Math.ceil((limit.requests / limit.perSeconds) * 3) : concurrency * 16;
  return Math.min(500, Math.max(concurrency, inThreeSeconds, 2));
}
