import type { Settings } from '../../config/settings.js';
import type { Fact } from '../../model/facts/fact.js';
import type { TellsFact } from '../../model/facts/failure.js';
import type { ReconcileFact } from '../../model/facts/reconcile.js';
import type { JsonValue } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { SendGate } from '../../outbound/deliver/send-gate.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { ServiceReads } from '../../outbound/deliver/service-reads.js';
import { type BoundRecord, recordQuestion, type ShownRecord } from '../../service/read-record.js';
import type { ServiceClient } from '../../service/service-client.js';
import type { ServiceSide } from './name-finding.js';
import type { Subject } from './reconcile-rows.js';

/** Below everything that is sent, the backlog and what is read back. */
const priority = -3;
/** At once, at most: each holds a connection while it waits for its slot. */
const mostAtOnce = 4;
/** The interval at which it looks if more urgent requests have gone. */
const pollMs = 20;
const tries = 3;

/** These may be about one record alone: the others are still read. */
const ownVerdicts: readonly string[] = ['refused', 'misconfigured', 'invalid', 'in_doubt'];

/** Why the service can't be asked for these; null: it can. Pure. */
export function whyNotAsked({ service }: Pick<Settings, 'service'>, subject: Subject): ReconcileFact | null {
  const { readOrder, lookUpOrder } = service.endpoints;
  if (subject !== 'orders' || readOrder || lookUpOrder) return null;
  return { code: 'orders_not_askable' };
}

/** The comparison can't go on now. It keeps its place. */
export class Stopped extends Error implements TellsFact {
  override readonly name = 'Stopped';

  constructor(readonly fact: Fact) {
    super(fact.code);
  }
}

/** Asks the service for records one by one, behind everything else, each request on record like any other. */
export class ServiceReader {
  readonly #reads: ServiceReads;
  readonly #gate: SendGate;
  #underWay = 0;

  constructor(
    private readonly context: JobContext,
    private readonly client: ServiceClient,
    private readonly lease: ServiceLease,
    private readonly signal?: AbortSignal,
  ) {
    this.#reads = new ServiceReads(context, client, lease, { signal, priority, tries });
    this.#gate = new SendGate(context, lease, null);
  }

  /** Requests made so far. */
  get requests(): number {
    return this.#reads.requests;
  }

  /** The service's version of each, in the same order. @throws Stopped */
  async readAll(records: readonly BoundRecord[]): Promise<ServiceSide[]> {
    const sides: ServiceSide[] = [];
    let next = 0;
    let stopped: unknown = null;
    const work = async () => {
      while (next < records.length && stopped === null) {
        const at = next++;
        sides[at] = await this.#read(records[at] as BoundRecord).catch((error: unknown) => {
          stopped ??= error;
          return { kind: 'unread', reason: { code: 'process_stopping' } };
        });
      }
    };
    const { concurrency = 16 } = this.context.settings.service;
    const workers = Math.max(1, Math.min(mostAtOnce, Math.floor(concurrency / 4)));
    await Promise.all(Array.from({ length: workers }, work));
    if (stopped !== null) throw stopped;
    return sides;
  }

  async #read(record: BoundRecord): Promise<ServiceSide> {
    const question = recordQuestion(this.context.settings.service, record);
    if ('problem' in question) return { kind: 'unread', reason: question.problem };
    const isProbe = await this.#waitForTurn();
    const { entity, serviceId } = record;
    const detail: { [name: string]: JsonValue } =
      entity === 'order' ? { orderId: serviceId } : { customerId: serviceId };
    this.#underWay++;
    try {
      const answer = await this.#reads.ask<ShownRecord>({
        ...question,
        purpose: entity === 'order' ? 'read_order' : 'read_customer',
        keep: async () => undefined,
        detail,
        isProbe,
      });
      if ('value' in answer) return answer.value;
      const isStillDown = isProbe && answer.verdict === 'in_doubt';
      if (ownVerdicts.includes(answer.verdict) && !isStillDown) return { kind: 'unread', reason: answer.noAnswer };
      throw new Stopped(answer.noAnswer);
    } finally {
      this.#underWay--;
    }
  }

  /**
   * Lets whatever else waits for the service go first. After an outage whose time is over one question goes to see whether the
   * service is back, and the others wait for its answer. @returns true if this one is it
   */
  async #waitForTurn(): Promise<boolean> {
    const { rateLimiter } = this.client;
    const { clock, nowMs } = this.context;
    for (;;) {
      if (this.signal?.aborted) throw new Stopped({ code: 'process_stopping' });
      if (rateLimiter.waiting <= this.#underWay) {
        const state = await this.#gate.state();
        const outage = state.pauses.find(({ cause }) => cause === 'outage');
        const pauses = state.pauses.filter((pause) => pause !== outage);
        const held = this.#gate.blockedBy({ ...state, pauses }, 'pull')?.reason ?? rateLimiter.usedUp?.reason;
        if (held !== undefined) throw new Stopped(held);
        if (!outage) return false;
        if ((outage.until_at ?? 0) > nowMs()) throw new Stopped({ code: 'outage', reason: outage.reason });
        if (this.lease.probeTurns.take(clock.monotonicMs())) return true;
      }
      await clock.sleep(pollMs, this.signal);
    }
  }
}
