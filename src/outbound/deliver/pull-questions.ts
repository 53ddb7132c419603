import { appendAudit } from '../../audit/audit-log.js';
import type { JsonValue } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { judgePullAnswer, type PullAnswer } from '../../service/judge-read.js';
import type { Read, ServiceClient } from '../../service/service-client.js';
import { listPauses, pauseLane, pauseLaneNoShorter, resumeLane } from '../../store/lane-pauses.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { raiseForbiddenRead } from './forbidden-reads.js';
import { hastenInDoubt } from './lane-keeper.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';

export interface Question<T> {
  purpose: 'list_invoices' | 'read_invoice' | 'read_order';
  path: string;
  query: Record<string, string>;
  /** Statuses that answer it. */
  answers: readonly number[];
  /** Makes of status and body what was asked for, or a text that says why it is none. */
  read: (status: number, body: string) => T | string;
  /** Keeps what was asked for, in the transaction that puts the request on record. */
  keep: (tx: Tx, value: T, nowMs: number) => Promise<void>;
  /** Named in the audit. */
  detail: Record<string, JsonValue>;
}

/** Why there was no answer. `isRefused`: the service refuses this very question, and may answer others. */
export interface NoAnswer {
  noAnswer: string;
  verdict: string;
  isRefused: boolean;
}

const endpoints = { list_invoices: 'listInvoices', read_invoice: 'readInvoice', read_order: 'readOrder' } as const;

/** A lack of rights, or an address that leads elsewhere, is about this record only where it pauses nothing. */
function refusesRecord({ verdict, pause }: Exclude<PullAnswer<unknown>, { kind: 'answer' }>): boolean {
  return verdict === 'refused' || (verdict === 'misconfigured' && pause === undefined);
}

/** How often a question is asked in one pull, and how long the pull waits in between at most. */
const maxTries = 4;
const longestWaitMs = 60_000;

/** What a pull, or a reading of orders, asks the service: a few tries for each question, every request on record before and after. */
export class PullQuestions {
  readonly #context: JobContext;
  readonly #client: ServiceClient;
  readonly #lease: ServiceLease;
  readonly #gate: SendGate;
  readonly #pullId: number | null;
  readonly #priority: number;
  readonly #maxTries: number;
  readonly #signal: AbortSignal | undefined;
  readonly #probeMs: number;
  #isProbe: boolean;
  #requests: number;

  constructor(
    parts: { context: JobContext; client: ServiceClient; lease: ServiceLease; gate: SendGate },
    pull: {
      /** null: it belongs to no pull. */
      id: number | null;
      requests: number;
      isProbe: boolean;
      signal: AbortSignal | undefined;
      priority?: number;
      tries?: number;
    },
  ) {
    this.#context = parts.context;
    this.#client = parts.client;
    this.#lease = parts.lease;
    this.#gate = parts.gate;
    this.#pullId = pull.id;
    this.#priority = pull.priority ?? 0;
    this.#maxTries = pull.tries ?? maxTries;
    this.#requests = pull.requests;
    this.#isProbe = pull.isProbe;
    this.#signal = pull.signal;
    this.#probeMs = parts.context.settings.delivery.probeSeconds * 1000;
  }

  /** Requests made so far, those of an earlier process in the same pull included. */
  get requests(): number {
    return this.#requests;
  }

  async ask<T>(question: Question<T>): Promise<{ value: T } | NoAnswer> {
    const { settings, clock, nowMs } = this.#context;
    const of = question.purpose === 'list_invoices' ? 'list' : 'record';
    let reason = '';
    let verdict = '';
    const tries = this.#isProbe ? 1 : this.#maxTries;
    for (let nth = 1; nth <= tries; nth++) {
      const attemptId = await this.#intend(question);
      const gate = this.#gate.of('pull', this.#isProbe);
      const read = await this.#client.get(question.path, question.query, gate, {
        endpoint: endpoints[question.purpose],
        priority: this.#priority,
        isProbe: this.#isProbe,
      });
      const judged = judgePullAnswer(read.exchange, of, question.answers, question.read, settings.service, nowMs());
      await this.#record(question, attemptId, read, judged).catch((error: unknown) => {
        this.#lease.unrecordedReads.add(attemptId);
        throw error;
      });
      if (judged.kind === 'answer') return { value: judged.value };
      ({ reason, verdict } = judged);
      if (judged.kind === 'stop') return { noAnswer: reason, verdict, isRefused: refusesRecord(judged) };
      if (nth < tries) await clock.sleep(Math.min(judged.waitMs ?? this.#probeMs, longestWaitMs), this.#signal);
    }
    return { noAnswer: reason, verdict, isRefused: false };
  }

  async #intend({ purpose }: Pick<Question<unknown>, 'purpose'>): Promise<number> {
    this.#requests++;
    const unrecorded = [...this.#lease.unrecordedReads];
    const id = await this.#lease.lease.write('put an attempt on record', async (tx) => {
      await endUnrecorded(tx, unrecorded);
      return tx.insertReturningId('INSERT INTO attempt (purpose, number, epoch, intended_at) VALUES (?, ?, ?, ?)', [
        purpose,
        this.#requests,
        this.#lease.lease.epoch,
        this.#context.nowMs(),
      ]);
    });
    for (const one of unrecorded) this.#lease.unrecordedReads.delete(one);
    return id;
  }

  async #record<T>(question: Question<T>, attemptId: number, read: Read, judged: PullAnswer<T>): Promise<void> {
    const reason = judged.kind === 'answer' ? null : judged.reason;
    const verdict = judged.kind === 'answer' ? 'read' : judged.verdict;
    const status = read.exchange.kind === 'answer' || read.exchange.kind === 'cut_off' ? read.exchange.status : null;
    const { startedAtMs: startedAt, durationMs, requestId } = read;
    await this.#lease.lease.write('put an answer on record', async (tx) => {
      const at = this.#context.nowMs();
      await tx.run(
        'UPDATE attempt SET started_at=?, duration_ms=?, status=?, verdict=?, reason=?, request_id=? WHERE id=?',
        [startedAt, durationMs, status, verdict, reason?.slice(0, 1000) ?? null, requestId, attemptId],
      );
      const { purpose } = question;
      const detail = {
        purpose,
        ...(this.#pullId === null ? {} : { pullId: this.#pullId }),
        ...question.detail,
        startedAt,
        durationMs,
        status,
        requestId,
        reason,
      };
      await appendAudit(
        tx,
        [{ event: 'attempt', outcome: verdict, attemptId, actor: this.#context.actor, detail }],
        at,
      );
      if (this.#isProbe && verdict !== 'not_sent') await this.#endProbe(tx, verdict, at);
      if (judged.kind === 'answer') await question.keep(tx, judged.value, at);
      else await this.#heed(tx, judged, startedAt, at);
      if (purpose !== 'list_invoices' && judged.kind !== 'answer' && verdict === 'misconfigured')
        await raiseForbiddenRead(tx, purpose, judged.reason, question.detail, at);
    });
  }

  async #heed(
    tx: Tx,
    judged: Exclude<PullAnswer<unknown>, { kind: 'answer' }>,
    sentAtMs: number | null,
    at: number,
  ): Promise<void> {
    if (!judged.pause) return;
    const pause = { ...judged.pause, reason: judged.reason, actor: this.#context.actor, since_at: at };
    const { until_at, lane, cause } = pause;
    const going = (await listPauses(tx)).find((one) => one.lane === lane && one.cause === cause);
    // What was under way when we were told to wait is no news of that wait.
    const isNews = judged.namesTime !== false && (sentAtMs ?? 0) > (going?.since_at ?? 0);
    if (!isNews && until_at !== null) await pauseLaneNoShorter(tx, { ...pause, until_at });
    else await pauseLane(tx, pause);
  }

  /** Any answer below 500 shows that the service is there, also where delivery has nothing to find that out with. */
  async #endProbe(tx: Tx, verdict: string, at: number): Promise<void> {
    if (verdict !== 'in_doubt' && verdict !== 'unavailable') {
      this.#isProbe = false;
      if ((await resumeLane(tx, 'service', ['outage'])) > 0) await hastenInDoubt(tx, at);
      return;
    }
    const outage = (await listPauses(tx)).find(({ cause }) => cause === 'outage');
    const until = at + this.#probeMs;
    if (outage) await pauseLane(tx, { ...outage, until_at: Math.max(outage.until_at ?? 0, until) });
  }
}

/** Says of attempts whose outcome could not be written that nobody knows it. Where the commit was done all the same, it stands. */
async function endUnrecorded(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `UPDATE attempt SET verdict='unknown', reason='The store failed before the outcome was on record.'
      WHERE verdict IS NULL AND id IN ${placeholders(ids.length)}`,
    ids,
  );
}
