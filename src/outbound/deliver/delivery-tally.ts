import type { EventEmitter } from 'node:events';
import type { Logger } from 'winston';
import type { Fact } from '../../model/facts/fact.js';
import { type Entity, pluralOf } from '../../model/record.js';
import type { ErpPresence } from '../capture/capture-removals.js';
import type { ResentCustomers } from '../recovery/forgotten-keys.js';
import type { Dispatcher } from './dispatcher.js';
import type { ClaimScope } from './due-messages.js';
import type { SettledMessage } from './ended-attempt.js';

export interface DeliverOptions {
  /** Ends when nothing is due any more (`sync`); otherwise it goes on until it is stopped (`daemon`). */
  untilDrained: boolean;
  scope: ClaimScope;
  /** With untilDrained: how long to wait for a message whose next try lies in the future, or for anything to go through. */
  retryHorizonMs: number;
  /** Delivers to a production service that is not live: only for the few records of a trial. */
  trial: boolean;
  erp: ErpPresence;
  /** Says which messages are next; absent: the store does. The caller closes it. */
  dispatcher?: Dispatcher | undefined;
  signal?: AbortSignal;
  /** Emits `due` when something was captured in this process; what others do is noticed within two seconds. Told `asks` while it rests. */
  news?: EventEmitter;
  onProgress?: (result: DeliverResult) => void;
  /** Told at the beginning, and when it changes, why nothing may be delivered; null: it may. */
  onHeld?: (reason: Fact | null) => void;
}

export interface DeliverResult {
  attempts: number;
  delivered: { customers: number; orders: number };
  /** Customers that the service had already. `differing`: with other values, which wait for a person. */
  adopted: { customers: number; differing: number };
  parked: number;
  flagged: number;
  throttled: number;
  inDoubt: number;
  /** Why it ended before everything was delivered, or null. */
  stopped: Fact | null;
}

export function emptyDeliverResult(): DeliverResult {
  const [delivered, adopted] = [
    { customers: 0, orders: 0 },
    { customers: 0, differing: 0 },
  ];
  return { attempts: 0, delivered, adopted, parked: 0, flagged: 0, throttled: 0, inDoubt: 0, stopped: null };
}

/** The result of a look-up (`held`: adopted, with differences that wait for a person); null: it is to be asked again. */
export type LookUpResult = 'delivered' | 'pending' | 'parked' | 'adopted' | 'held' | null;

/** Counts what delivery brought, and says it in the log. */
export class DeliveryTally {
  readonly result = emptyDeliverResult();
  /** The number of conflicts that were met: each is something to look up. */
  conflictsMet = 0;
  /** The last failure, in the service's words or ours. */
  lastTrouble: Fact | null = null;
  /** Conflicts that were parked here, and may be adopted yet. */
  readonly #conflicts = new Set<number>();
  #progress = '';
  #progressAt = 0;

  constructor(
    private readonly log: Logger,
    private readonly onProgress?: (result: DeliverResult) => void,
  ) {}

  /** The time for which nothing has come to an end. @param nowMs of a clock that is never set */
  idleMs(nowMs: number): number {
    const { delivered, adopted, parked } = this.result;
    const progress = JSON.stringify([delivered, adopted, parked]);
    if (progress !== this.#progress) this.#progressAt = nowMs;
    this.#progress = progress;
    return nowMs - this.#progressAt;
  }

  countLookUp({ id, entity }: { id: number; entity: Entity }, state: LookUpResult): void {
    const { result } = this;
    result.attempts++;
    if (state === 'adopted' || state === 'held') this.countAdopted(id, state);
    // As a conflict it was counted when it was parked.
    if (state === 'parked' && !this.#conflicts.has(id)) result.parked++;
    if (state !== 'delivered') return;
    result.delivered[pluralOf(entity)]++;
    result.flagged++;
  }

  countAdopted(id: number, state: 'adopted' | 'held'): void {
    const { result } = this;
    result.adopted.customers++;
    if (state === 'held') result.adopted.differing++;
    if (this.#conflicts.delete(id)) result.parked--;
  }

  /** Orders that were parked because the service may have forgotten their keys. */
  countDoubted(orders: number, { existed }: ResentCustomers): void {
    if (orders === 0) return;
    this.result.parked += orders;
    const message = 'Customers that were sent again exist already: orders that may have been sent are not sent again';
    this.log.error(message, { customers: existed, orders });
  }

  countMessages(settled: readonly SettledMessage[]): void {
    const { result } = this;
    // A line that is too fine for the level would be made all the same, and then thrown away.
    const isFine = this.log.isLevelEnabled('debug');
    for (const { about, sent, transition } of settled) {
      const { verdict, startedAtMs, durationMs, traceId } = sent;
      const { state, parkClass, reason, flag, serviceId } = transition;
      const { entity, sourceKey: key, number, attemptNumber: attempt } = about;
      const record = () => ({ entity, key, number: number ?? undefined, attempt, traceId });
      if (startedAtMs !== null) result.attempts++;
      if (state !== 'delivered' && 'reason' in verdict) this.lastTrouble = verdict.reason;
      if (verdict.kind === 'throttled') result.throttled++;
      if (state === 'in_doubt') result.inDoubt++;
      if (flag) result.flagged++;
      if (state === 'delivered') {
        result.delivered[pluralOf(entity)]++;
        if (isFine) this.log.debug('delivered', { ...record(), serviceId, durationMs });
        if (flag) this.log.warn('delivered, but look at it', { ...record(), flag });
      } else if (state === 'parked') {
        result.parked++;
        if (parkClass === 'conflict') {
          this.#conflicts.add(about.id);
          this.conflictsMet++;
        }
        this.log.warn('parked', { ...record(), class: parkClass, reason });
      } else if (verdict.kind !== 'not_sent' && 'reason' in verdict) {
        this.log.info('will be tried again', { ...record(), verdict: verdict.kind, reason: verdict.reason });
      }
    }
    this.onProgress?.(result);
  }
}
