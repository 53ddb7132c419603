import { appendAudit, shownReason } from '../../audit/audit-log.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import type { Sent } from '../../service/service-client.js';
import { recordSuccess } from '../../store/job-runs.js';
import { LeaseLost } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { adoptCustomer } from '../adoption/adopt-found.js';
import { sha256 } from '../outbox/content-hash.js';
import { settle } from '../outbox/message.js';
import { auditOfOutcome } from './audit-of-outcome.js';
import type { ClaimedMessage } from './claim-messages.js';
import { type DeliverResult, emptyDeliverResult } from './deliver-result.js';
import { endpointKey, forbiddenBefore, judgeForbidden, passedSinceForbidden } from './judge-forbidden.js';
import { afterOutageMs, LaneKeeper } from './lane-keeper.js';
import type { LookUpResult } from './look-up.js';
import type { LookUpMessage } from './look-up-messages.js';
import { noteSettledStates } from './profile-notices.js';
import { promoteWaitingUpdate } from './promote-waiting-update.js';
import type { ServiceLease } from './service-lease.js';
import { type SettledMessage, settleMessages } from './settle-messages.js';

const maxBatch = 300;
/** A moment in which outcomes gather, so that one commit carries several. */
const gatherMs = 5;

interface Outcome {
  message: ClaimedMessage;
  sent: Sent;
  isProbe: boolean;
}

/** Puts outcomes on record in batches: message, attempt, binding, audit and lane pauses in one transaction. */
export class Settler {
  readonly result: DeliverResult = emptyDeliverResult();
  readonly #context: JobContext;
  readonly #lease: ServiceLease;
  readonly #onProgress: ((result: DeliverResult) => void) | undefined;
  #waiting: Outcome[] = [];
  #flushing: Promise<void> | null = null;
  readonly lane: LaneKeeper;
  /** Conflicts that were parked here, and may be adopted yet. */
  readonly #conflicts = new Set<number>();
  /** How many conflicts were met: each is something to look up. */
  conflictsMet = 0;
  /** What went wrong last, in the service's words or ours. */
  lastTrouble: string | null = null;

  constructor(context: JobContext, lease: ServiceLease, onProgress?: (result: DeliverResult) => void) {
    this.#context = context;
    this.#lease = lease;
    this.lane = new LaneKeeper(context);
    this.#onProgress = onProgress;
  }

  add(outcome: Outcome): void {
    this.#waiting.push(outcome);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null;
    });
    // The loop sees the failure in flushed(); without this line Node would call it unhandled first.
    this.#flushing.catch(() => undefined);
  }

  /** Resolves when every outcome so far is on record. */
  async flushed(): Promise<void> {
    while (this.#flushing) await this.#flushing;
  }

  async #flush(): Promise<void> {
    const { clock } = this.#context;
    await clock.sleep(gatherMs);
    while (this.#waiting.length > 0 && !this.#lease.lost) {
      const batch = this.#waiting.slice(0, maxBatch);
      try {
        await this.#settleBatch(batch);
      } catch (error) {
        if (error instanceof LeaseLost) {
          this.#lease.markLost();
          break;
        }
        // The outcomes are in memory only: try as long as the lease is ours. Later the successor calls them "in doubt".
        if (clock.monotonicMs() > this.#lease.lease.endsAtMonotonicMs) throw error;
        this.#context.log.error('Outcomes could not be put on record; trying again', {
          error: (error as Error).message,
        });
        await clock.sleep(500);
        continue;
      }
      this.#waiting.splice(0, batch.length);
      this.#onProgress?.(this.result);
    }
  }

  /** A 403 may be about one record alone: then it stops no others. */
  async #heedForbidden(batch: readonly Outcome[]): Promise<Outcome[]> {
    const forbidden = batch.filter(({ sent }) => sent.verdict.kind === 'misconfigured' && sent.status === 403);
    if (forbidden.length === 0) return [...batch];
    const { before, passed } = await this.#context.store.read('look what passed beside a 403', async (tx) => {
      const passed = new Set<string>();
      for (const { message } of forbidden)
        if (await passedSinceForbidden(tx, message.entity, message.operation)) passed.add(endpointKey(message));
      const before = await forbiddenBefore(
        tx,
        forbidden.map(({ message }) => message.id),
      );
      return { before, passed };
    });
    const candidates = batch.map(({ message, sent }) => ({
      entity: message.entity,
      operation: message.operation,
      verdict: sent.verdict,
      status: sent.status,
      wasForbidden: before.has(message.id),
    }));
    const verdicts = judgeForbidden(candidates, passed);
    return batch.map((one, i) => ({ ...one, sent: { ...one.sent, verdict: verdicts[i] ?? one.sent.verdict } }));
  }

  async #settleBatch(met: readonly Outcome[]): Promise<void> {
    const batch = await this.#heedForbidden(met);
    const { nowMs, random, settings, actor } = this.#context;
    const at = nowMs();
    const { delivery } = settings;
    const maxMs = delivery.backoffMaxSeconds * 1000;
    const settled = batch.map(({ message, sent, isProbe }): SettledMessage => {
      const transition = settle(message, sent.verdict, {
        nowMs: at,
        random: random(),
        backoff: {
          baseMs: delivery.backoffBaseSeconds * 1000,
          // The service may be back before the outcome of a probe that hangs is known.
          maxMs: isProbe ? Math.min(maxMs, afterOutageMs) : maxMs,
        },
        sentAtMs: sent.startedAtMs ?? at,
      });
      return {
        message,
        transition,
        outcome: {
          verdict: sent.verdict.kind,
          reason: 'reason' in sent.verdict ? sent.verdict.reason : null,
          startedAt: sent.startedAtMs,
          durationMs: sent.durationMs,
          serviceState: sent.verdict.kind === 'delivered' ? (sent.verdict.state ?? null) : null,
          serviceTotal: sent.verdict.kind === 'delivered' ? (sent.verdict.total ?? null) : null,
          status: sent.status,
          requestId: sent.requestId,
          ...(sent.repeatedAfter401 ? { repeatedAfter401: true as const } : {}),
          excerpt: sent.excerpt,
          excerptHash: sent.excerpt === null ? null : sha256(sent.excerpt),
        },
      };
    });
    const { effects, adopted } = await this.#lease.lease.write('put outcomes on record', async (tx) => {
      const attemptIds = await settleMessages(tx, settled, this.#lease.lease.epoch, at);
      await appendAudit(
        tx,
        settled.flatMap((one) => {
          const attemptId = attemptIds.get(one.message.id);
          return attemptId === undefined ? [] : auditOfOutcome(one, attemptId, actor);
        }),
        at,
      );
      await this.#promote(
        tx,
        settled.filter(({ message }) => attemptIds.has(message.id)),
        at,
      );
      if (settled.some(({ transition }) => transition.state === 'delivered')) await recordSuccess(tx, 'deliver', at);
      await noteSettledStates(tx, this.#context, settled, at);
      const effects = await this.lane.heed(
        tx,
        batch.map(({ message, sent }, i) => ({
          verdict: sent.verdict,
          shownReason: 'reason' in sent.verdict ? shownReason(message.entity, sent.verdict.reason) : '',
          parkedAs: settled[i]?.transition.parkClass ?? null,
          sentAtMs: sent.startedAtMs,
        })),
        at,
      );
      const adopted = await this.#adopt(
        tx,
        batch.filter(({ message }) => attemptIds.has(message.id)),
        at,
      );
      killPoint('before-settle-commit');
      return { effects, adopted };
    });
    killPoint('after-settle-commit');
    this.lane.keep(effects);
    this.#count(settled);
    for (const [id, outcome] of adopted) this.countAdopted(id, outcome);
  }

  /** A customer whom the answer "already exists" shows is bound at once. @returns what became of each, by message */
  async #adopt(tx: Tx, batch: readonly Outcome[], at: number): Promise<Map<number, 'adopted' | 'held'>> {
    const adopted = new Map<number, 'adopted' | 'held'>();
    for (const { message, sent } of batch) {
      if (!sent.existing || sent.verdict.kind !== 'conflict') continue;
      const outcome = await adoptCustomer(tx, this.#context, message, sent.existing, 'answer', at);
      if (outcome.kind === 'known') adopted.set(message.id, 'adopted');
      if (outcome.kind === 'adopted') adopted.set(message.id, outcome.held.length > 0 ? 'held' : 'adopted');
    }
    return adopted;
  }

  countLookUp({ id, entity }: LookUpMessage, state: LookUpResult | null): void {
    const { result } = this;
    result.attempts++;
    if (state === 'adopted' || state === 'held') this.countAdopted(id, state);
    // As a conflict it was counted when it was parked.
    if (state === 'parked' && !this.#conflicts.has(id)) result.parked++;
    if (state !== 'delivered') return;
    result.delivered[entity === 'order' ? 'orders' : 'customers']++;
    result.flagged++;
  }

  countAdopted(id: number, state: 'adopted' | 'held'): void {
    const { result } = this;
    result.adopted.customers++;
    if (state === 'held') result.adopted.differing++;
    if (this.#conflicts.delete(id)) result.parked--;
  }

  /** A correction that came in while its refused create was under way takes its place. */
  async #promote(tx: Tx, settled: readonly SettledMessage[], at: number): Promise<void> {
    const { installation, service, customers, orders } = this.#context.settings;
    const { replaysRefusals } = service.idempotency;
    for (const { message, transition } of settled) {
      if (message.operation !== 'create' || transition.parkClass !== 'refused') continue;
      const { onCancelled, onDeleted } = message.entity === 'order' ? orders : customers;
      const removals = [onCancelled, onDeleted].flatMap((effect) => (typeof effect === 'object' ? [effect.patch] : []));
      const promoted = await promoteWaitingUpdate(tx, message, installation, replaysRefusals, at, removals);
      if (promoted === null) continue;
      await appendAudit(
        tx,
        [
          {
            event: 'superseded',
            entity: message.entity,
            sourceKey: message.sourceKey,
            messageId: message.id,
            actor: this.#context.actor,
            detail: { by: promoted, reason: 'A newer revision takes the place of the refused create.' },
          },
        ],
        at,
      );
    }
  }

  #count(settled: readonly SettledMessage[]): void {
    const { result } = this;
    const { log } = this.#context;
    for (const { message, transition, outcome } of settled) {
      const record = {
        entity: message.entity,
        key: message.sourceKey,
        number: message.number ?? undefined,
        attempt: message.attemptNumber,
      };
      if (outcome.startedAt !== null) result.attempts++;
      if (transition.state !== 'delivered' && outcome.reason !== null) this.lastTrouble = outcome.reason;
      if (outcome.verdict === 'throttled') result.throttled++;
      if (transition.state === 'in_doubt') result.inDoubt++;
      if (transition.flag) result.flagged++;
      if (transition.state === 'delivered') {
        result.delivered[message.entity === 'order' ? 'orders' : 'customers']++;
        log.debug('delivered', { ...record, serviceId: transition.serviceId, durationMs: outcome.durationMs });
        if (transition.flag) log.warn('delivered, but look at it', { ...record, flag: transition.flag });
      } else if (transition.state === 'parked') {
        result.parked++;
        if (transition.parkClass === 'conflict') {
          this.#conflicts.add(message.id);
          this.conflictsMet++;
        }
        log.warn('parked', { ...record, class: transition.parkClass, reason: transition.reason });
      } else if (outcome.verdict !== 'not_sent') {
        log.info('will be tried again', { ...record, verdict: outcome.verdict, reason: outcome.reason });
      }
    }
  }
}
