import { Refused } from '../../../model/facts/failure.js';
import type { ProbeFact } from '../../../model/facts/probe.js';
import type { ReadAnswer } from '../../../model/verdict.js';
import type { JobContext } from '../../../ops/job-context.js';
import { endAttempts, endUnrecorded, intendRead } from '../../../outbound/deliver/attempts.js';
import { Exchange } from '../../../outbound/deliver/exchange.js';
import type { Ended, Settled, Settler } from '../../../outbound/deliver/outcome-batches.js';
import { SendGate } from '../../../outbound/deliver/send-gate.js';
import type { ServiceLease } from '../../../outbound/deliver/service-lease.js';
import type { ProbeAnswer, ProbeRequest, ServiceClient } from '../../../service/service-client.js';
import type { Tx } from '../../../store/store.js';
import type { Evidence } from './evidence.js';

/** The probe can not go on. Its findings so far stand. */
export class ProbeStopped extends Refused {
  override readonly name = 'ProbeStopped';
}

/** A probe takes its slots of the rate limit from nobody: it has the service lease. But it ends. */
const mostRequests = 200;
const longestMs = 10 * 60_000;
/** After "slow down" a question is asked again when the time is over, unless that is too long to wait for. */
const longestWaitMs = 90_000;
const maxTries = 4;

type About = { what: ProbeFact; asked: ProbeRequest; attemptId: number };
type EndedProbe = Ended<About, ReadAnswer<ProbeAnswer>>;

/** The state that all questions of one probe share. */
export interface Budget {
  /** Requests so far. */
  requests: number;
  endsAtMs: number;
  throttled: Evidence[];
}

export function newBudget({ clock }: JobContext): Budget {
  return { requests: 0, endsAtMs: clock.monotonicMs() + longestMs, throttled: [] };
}

/** Asks the service, every request on record before and after; see `ServiceReads`. */
export class Questions implements Settler<About, ReadAnswer<ProbeAnswer>> {
  readonly #gate: SendGate;
  readonly #exchange: Exchange;

  /** @param signal absent: nothing stops these questions, not even Ctrl-C; they clean up */
  constructor(
    private readonly context: JobContext,
    private readonly client: ServiceClient,
    private readonly lease: ServiceLease,
    private readonly budget: Budget,
    private readonly signal?: AbortSignal,
  ) {
    this.#gate = new SendGate(context, lease, null, signal);
    this.#exchange = new Exchange(context, lease, this.#gate);
  }

  /**
   * @param once an answer "slow down" is an answer like any other
   * @throws ProbeStopped when nothing more may be asked
   */
  async ask(what: ProbeFact, asked: ProbeRequest, once = false): Promise<Evidence> {
    for (let nth = 1; ; nth++) {
      this.#checkBudget();
      const { evidence, notSent } = await this.#askOnce(what, asked);
      const isThrottled = evidence.answer?.status === 429;
      if (isThrottled) this.budget.throttled.push(evidence);
      if (once || (!isThrottled && !notSent)) return evidence;
      if (this.signal?.aborted) throw new ProbeStopped({ code: 'probe_interrupted' });
      const waitMs = this.lease.lane.throttledForMs(this.context.nowMs());
      if (waitMs === 0 && !isThrottled) throw new ProbeStopped(evidence.problem ?? { code: 'probe_may_not_send' });
      if (waitMs > longestWaitMs)
        throw new ProbeStopped({ code: 'probe_must_wait', seconds: Math.ceil(waitMs / 1000) });
      if (nth === maxTries) throw new ProbeStopped({ code: 'probe_slowed_down_again' });
      await this.context.clock.sleep(waitMs, this.signal);
    }
  }

  #checkBudget(): void {
    // Clean-up is bounded by the number of records.
    if (!this.signal) return;
    if (this.signal.aborted) throw new ProbeStopped({ code: 'probe_interrupted' });
    if (this.budget.requests >= mostRequests)
      throw new ProbeStopped({ code: 'probe_requests_made', requests: mostRequests });
    if (this.context.clock.monotonicMs() > this.budget.endsAtMs)
      throw new ProbeStopped({ code: 'probe_took_too_long' });
  }

  async #askOnce(what: ProbeFact, asked: ProbeRequest): Promise<{ evidence: Evidence; notSent: boolean }> {
    const number = ++this.budget.requests;
    const unrecorded = [...this.lease.unrecordedReads];
    const attemptId = await this.lease.write('put an attempt on record', async (tx) => {
      await endUnrecorded(tx, unrecorded);
      return intendRead(tx, 'probe', number, this.lease.epoch, this.context.nowMs());
    });
    for (const one of unrecorded) this.lease.unrecordedReads.delete(one);
    let answer: ProbeAnswer | null = null;
    const send = async () => {
      const sent = await this.client.probe(asked, { gate: this.#gate.of('deliver') });
      answer = sent.answer;
      return sent;
    };
    try {
      const { verdict } = await this.#exchange.run(this, { what, asked, attemptId }, send, {});
      const isAnswered = verdict.kind === 'read' || answer !== null;
      const problem = !isAnswered && 'reason' in verdict ? verdict.reason : null;
      return { evidence: { what, asked, answer, problem }, notSent: verdict.kind === 'not_sent' };
    } catch (error) {
      this.lease.unrecordedReads.add(attemptId);
      throw error;
    }
  }

  purposeOf(): string {
    return 'probe';
  }

  async settle(tx: Tx, ended: readonly EndedProbe[], at: number): Promise<Settled> {
    const heard: Settled['heard'] = [];
    for (const { about, sent } of ended) {
      const { what, asked, attemptId } = about;
      const { verdict, startedAtMs: sentAtMs } = sent;
      const detail = { purpose: 'probe', what, method: asked.method, path: asked.path };
      await endAttempts(tx, [{ attempt: attemptId, sent, message: null, detail }], this.context.actor, at);
      const shownReason = 'reason' in verdict ? verdict.reason : null;
      heard.push({ asks: 'record', verdict, parkedAs: null, shownReason, sentAtMs });
    }
    return { heard };
  }
}
