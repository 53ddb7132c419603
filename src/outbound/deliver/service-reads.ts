import type { Fact } from '../../model/facts/fact.js';
import type { JsonValue } from '../../model/record.js';
import type { Failure, ReadAnswer } from '../../model/verdict.js';
import type { JobContext } from '../../ops/job-context.js';
import type { ReadQuestion, ServiceClient } from '../../service/service-client.js';
import type { Tx } from '../../store/store.js';
import { endAttempts, endUnrecorded, intendRead } from './attempts.js';
import { Exchange } from './exchange.js';
import type { Ended, Settled, Settler } from './outcome-batches.js';
import { raiseForbiddenRead } from './profile-notices.js';
import { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';

export interface Question<Value> extends Omit<ReadQuestion<Value>, 'endpoint'> {
  purpose: 'list_invoices' | 'read_invoice' | 'read_order' | 'read_customer';
  /** The address of the question; absent: the usual one of its purpose. */
  endpoint?: ReadQuestion<Value>['endpoint'];
  /** Keeps what was asked for, in the transaction that puts the request on record. `sentAtMs`: when the request left. */
  keep: (tx: Tx, value: Value, nowMs: number, sentAtMs: number) => Promise<void>;
  /** Named in the audit. */
  detail: Record<string, JsonValue>;
  /** It has the turn to see whether the service is back. Absent: only the first one of such a pull has. */
  isProbe?: boolean;
}

/** Why there was no answer. `isRefused`: the service refuses this very question, and may answer others. */
interface NoAnswer {
  noAnswer: Fact;
  verdict: string;
  isRefused: boolean;
}

const endpoints = {
  list_invoices: 'listInvoices',
  read_invoice: 'readInvoice',
  read_order: 'readOrder',
  read_customer: 'readCustomer',
} as const;

/** After these the same question may be answered a moment later. */
const passing: ReadonlySet<Failure['kind']> = new Set(['in_doubt', 'unavailable', 'invalid', 'throttled']);

/**
 * The number of times that a question is asked, and the longest wait in between; a longer wait that the service wants
 * is left to the pause.
 */
const maxTries = 5;
/** The first waits: one page that fails among many is no outage. After them, the service is asked as seldom as by a probe. */
const quickWaitsMs = [250, 1_000];
const longestWaitMs = 60_000;

interface ReadOptions {
  signal?: AbortSignal | undefined;
  priority?: number | undefined;
  /** The number of times that each question is asked. */
  tries?: number | undefined;
  /** The pull that asks, with the requests that it made so far; `isProbe`: its first one sees whether the service is back. */
  pull?: { id: number; requests: number; isProbe: boolean };
}

type EndedRead = Ended<{ question: Question<unknown>; attemptId: number }, ReadAnswer<unknown>>;

/** The questions of a pull, or of a reading of orders: a few tries for each, every request on record before and after. */
export class ServiceReads implements Settler<EndedRead['about'], ReadAnswer<unknown>> {
  readonly #gate: SendGate;
  readonly #exchange: Exchange;
  #isProbe: boolean;
  #requests: number;

  constructor(
    private readonly context: JobContext,
    private readonly client: ServiceClient,
    private readonly lease: ServiceLease,
    private readonly options: ReadOptions,
  ) {
    this.#gate = new SendGate(context, lease, null, options.signal);
    this.#exchange = new Exchange(context, lease, this.#gate);
    this.#requests = options.pull?.requests ?? 0;
    this.#isProbe = options.pull?.isProbe ?? false;
  }

  /** Requests made so far, those of an earlier process in the same pull included. */
  get requests(): number {
    return this.#requests;
  }

  async ask<Value>(question: Question<Value>): Promise<{ value: Value } | NoAnswer> {
    const tries = (question.isProbe ?? this.#isProbe) ? 1 : (this.options.tries ?? maxTries);
    for (let nth = 1; ; nth++) {
      const verdict = await this.#askOnce(question);
      if (verdict.kind === 'read') return { value: verdict.value };
      const { kind, reason } = verdict;
      const waitMs = this.#waitMs(verdict, nth);
      if (!passing.has(kind) || waitMs > longestWaitMs || nth === tries)
        return { noAnswer: reason, verdict: kind, isRefused: refusesRecord(question.purpose, verdict) };
      await this.context.clock.sleep(waitMs, this.options.signal);
    }
  }

  async #askOnce<Value>(question: Question<Value>): Promise<ReadAnswer<Value> | Failure> {
    const attemptId = await this.#intend(question);
    const isProbe = question.isProbe ?? this.#isProbe;
    const passage = { gate: this.#gate.of('pull', isProbe), priority: this.options.priority, isProbe };
    const { endpoint = endpoints[question.purpose], path, query, answers, places, read } = question;
    const asked = { endpoint, path, query, answers, places, read };
    const send = () => this.client.read(asked, passage);
    try {
      const about = { question: question as Question<unknown>, attemptId };
      const { verdict } = await this.#exchange.run(this, about, send, { isProbe });
      // Any answer below 500 has closed the breaker.
      const isThere = verdict.kind !== 'in_doubt' && verdict.kind !== 'unavailable' && verdict.kind !== 'not_sent';
      if (isThere) this.#isProbe = false;
      return verdict as ReadAnswer<Value> | Failure;
    } catch (error) {
      this.lease.unrecordedReads.add(attemptId);
      throw error;
    }
  }

  async #intend({ purpose }: Pick<Question<unknown>, 'purpose'>): Promise<number> {
    this.#requests++;
    const unrecorded = [...this.lease.unrecordedReads];
    const id = await this.lease.write('put an attempt on record', async (tx) => {
      await endUnrecorded(tx, unrecorded);
      return intendRead(tx, purpose, this.#requests, this.lease.epoch, this.context.nowMs());
    });
    for (const one of unrecorded) this.lease.unrecordedReads.delete(one);
    return id;
  }

  purposeOf({ question }: EndedRead['about']): string {
    return question.purpose;
  }

  async settle(tx: Tx, ended: readonly EndedRead[], at: number): Promise<Settled> {
    const heard: Settled['heard'] = [];
    const { pull } = this.options;
    for (const { about, sent } of ended) {
      const { question, attemptId } = about;
      const { purpose } = question;
      const { verdict, startedAtMs: sentAtMs } = sent;
      const detail = { purpose, ...(pull && { pullId: pull.id }), ...question.detail };
      await endAttempts(tx, [{ attempt: attemptId, sent, message: null, detail }], this.context.actor, at);
      if (verdict.kind === 'read') await question.keep(tx, verdict.value, at, sentAtMs ?? at);
      if (purpose !== 'list_invoices' && verdict.kind === 'misconfigured')
        await raiseForbiddenRead(tx, purpose, verdict.reason, question.detail, at);
      const asks = purpose === 'list_invoices' ? 'list' : 'record';
      heard.push({ asks, verdict, parkedAs: null, shownReason: 'reason' in verdict ? verdict.reason : null, sentAtMs });
    }
    return { heard };
  }

  /** The wait before the question is asked again, after its nth time. */
  #waitMs({ kind }: Failure, nth: number): number {
    if (kind !== 'throttled') {
      const { settings, random } = this.context;
      const quickMs = (quickWaitsMs[nth - 1] ?? Number.POSITIVE_INFINITY) * (0.5 + random() / 2);
      return Math.min(longestWaitMs, quickMs, settings.delivery.probeSeconds * 1000);
    }
    return this.lease.lane.throttledForMs(this.context.nowMs());
  }
}

/** A lack of rights, or an address that leads elsewhere, may be about one record alone, but not about a list. */
function refusesRecord(purpose: Question<unknown>['purpose'], { kind }: Failure): boolean {
  return kind === 'refused' || (kind === 'misconfigured' && purpose !== 'list_invoices');
}
