import { appendAudit } from '../audit/audit-log.js';
import { errorBody } from '../delivery/error-reason.js';
import { parseJson } from '../delivery/parse-json.js';
import { retryAfterMs } from '../delivery/retry-after.js';
import type { Read, ServiceClient } from '../delivery/service-client.js';
import { type InvoicePage, readInvoicePage } from '../invoices/invoice-page.js';
import {
  clearStaging,
  endPull,
  type PullCounts,
  stagedCount,
  stageInvoices,
  startPull,
  swapInvoices,
} from '../invoices/invoice-store.js';
import { hastenInDoubt } from '../outbox/hasten-messages.js';
import { listPauses, pauseLane, pauseLaneNoShorter, resumeLane } from '../store/lane-pauses.js';
import { assertEpoch } from '../store/lease.js';
import type { Tx } from '../store/store.js';
import type { JobContext } from './job-context.js';
import { killPoint } from './kill-point.js';
import { ownWaitMs } from './own-wait.js';
import { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';

export interface PullResult {
  outcome: 'complete' | 'incomplete' | 'failed' | 'held';
  reason: string | null;
  pages: number;
  unpaid: number;
  added: number;
  changed: number;
  unlisted: number;
  malformed: number;
}

export interface PullOptions {
  /** While the service is down: waits for a turn of the probes, instead of leaving it to them. */
  waitsForTurn?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: { staged: number; total: number }) => void;
}

/** How often a page is asked for again in one pull, and how long it waits in between. */
const maxTriesPerPage = 4;
/** How often the list is begun anew in one pull, because it changed while it was read. */
const maxPasses = 3;
/** How often a pull looks whether its turn to probe has come. */
const turnPollMs = 50;

/** Reads every unpaid invoice page by page into staging, and swaps the list in one transaction when it is whole. */
export async function pull(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  options: PullOptions = {},
): Promise<PullResult> {
  const { store, settings, nowMs, clock, actor } = context;
  const gate = new SendGate(context, lease, '', true);
  const turn = await turnOf(context, lease, gate, options);
  if ('held' in turn) return { ...nothing, outcome: 'held', reason: turn.held };
  let { isProbe } = turn;
  const stop = () => gate.stop('stopping');
  options.signal?.addEventListener('abort', stop, { once: true });
  if (options.signal?.aborted) stop();

  const pullId = await store.transaction('begin a pull', async (tx) => {
    await assertEpoch(tx, lease.lease);
    return startPull(tx, settings.invoices.status, nowMs());
  });
  const counts: PullCounts = { pages: 0, listed: 0, serviceTotal: null, malformed: 0 };
  const probeMs = settings.delivery.probeSeconds * 1000;
  let attemptNumber = 0;
  let failure: string | null = null;
  let firstMalformed = '';
  try {
    for (let pass = 1; pass <= maxPasses; pass++) {
      const end = await readList();
      failure = end.failure;
      if (!end.moved) break;
    }
  } finally {
    options.signal?.removeEventListener('abort', stop);
  }

  const ended = await store.transaction('end a pull', async (tx) => {
    await assertEpoch(tx, lease.lease);
    const at = nowMs();
    // An invoice that makes no sense may be one that we know: it must not seem to have left the list.
    const outcome = failure !== null ? 'failed' : counts.malformed > 0 ? 'incomplete' : 'complete';
    const reason = failure ?? (counts.malformed > 0 ? malformedReason(counts.malformed, firstMalformed) : null);
    const swap =
      outcome === 'failed'
        ? { added: 0, changed: 0, unlisted: 0 }
        : await swapInvoices(tx, pullId, at, outcome === 'complete');
    await endPull(tx, pullId, outcome, reason, counts, swap, at);
    await appendAudit(tx, [{ event: 'pull', outcome, actor, detail: { pullId, reason, ...counts, ...swap } }], at);
    killPoint('before-pull-swap');
    return {
      outcome,
      reason,
      pages: counts.pages,
      unpaid: counts.listed,
      malformed: counts.malformed,
      ...swap,
    } satisfies PullResult;
  });
  killPoint('after-pull-swap');
  return ended;

  /** All pages once. `moved`: the list changed meanwhile, so that another pass may succeed. */
  async function readList(): Promise<{ failure: string | null; moved: boolean }> {
    Object.assign(counts, { pages: 0, listed: 0, serviceTotal: null, malformed: 0 });
    await store.transaction('begin the list', async (tx) => {
      await assertEpoch(tx, lease.lease);
      await clearStaging(tx, pullId);
    });
    for (let page = 1; ; page++) {
      const answer = await readPage(page);
      if (typeof answer === 'string') return { failure: answer, moved: false };
      const moved = (how: string) => ({ failure: `the list changed while it was read: ${how}`, moved: true });
      const before = counts.serviceTotal;
      counts.serviceTotal = answer.total;
      counts.malformed += answer.malformed.length;
      const [odd] = answer.malformed;
      if (odd && !firstMalformed) firstMalformed = `${odd.invoiceNo ?? 'one without a number'}: ${odd.reason}`;
      options.onProgress?.({ staged: counts.listed, total: answer.total });
      // Rows have moved between the pages, so that one may have been missed or be gone.
      if (before !== null && before !== answer.total)
        return moved(`its total was ${before} and is ${answer.total} on page ${page}`);
      // `total` decides. A short page proves nothing: the service may have clamped `limit`.
      if (counts.listed + counts.malformed >= answer.total) return { failure: null, moved: false };
      if (answer.rows === 0) return moved(`page ${page} is empty after ${counts.listed} of ${answer.total} invoices`);
    }
  }

  /** One page, asked for a few times. @returns a text that says why it could not be had */
  async function readPage(page: number): Promise<InvoicePage | string> {
    const query = { status: settings.invoices.status, limit: String(settings.invoices.pageSize), page: String(page) };
    let reason = '';
    const maxTries = isProbe ? 1 : maxTriesPerPage;
    for (let tries = 1; tries <= maxTries; tries++) {
      const intent = await intend();
      const { path } = settings.service.endpoints.listInvoices;
      const read = await client.get(path, query, gate.of('pull', isProbe), isProbe);
      const judged = judgePage(read, settings.service.endpoints.listInvoices.successStatus);
      await record(intent, read, judged, page);
      if (judged.kind === 'page') killPoint('after-pull-page');
      if (judged.kind === 'page') return judged.page;
      reason = judged.reason;
      if (judged.kind === 'stop') return reason;
      if (tries < maxTries) await clock.sleep(Math.min(judged.waitMs ?? probeMs, 60_000), options.signal);
    }
    return `page ${page} could not be read: ${reason}`;
  }

  async function intend(): Promise<number> {
    return store.transaction('put an attempt on record', async (tx) => {
      await assertEpoch(tx, lease.lease);
      return tx.insertReturningId(
        "INSERT INTO attempt (purpose, number, epoch, intended_at) VALUES ('list_invoices', ?, ?, ?)",
        [++attemptNumber, lease.lease.epoch, nowMs()],
      );
    });
  }

  async function record(attemptId: number, read: Read, judged: JudgedPage, page: number): Promise<void> {
    const reason = judged.kind === 'page' ? null : judged.reason;
    const verdict = judged.kind === 'page' ? 'read' : judged.verdict;
    const status = read.exchange.kind === 'answer' || read.exchange.kind === 'cut_off' ? read.exchange.status : null;
    await store.transaction('put a page on record', async (tx) => {
      await assertEpoch(tx, lease.lease);
      const at = nowMs();
      await tx.run(
        'UPDATE attempt SET started_at=?, duration_ms=?, status=?, verdict=?, reason=?, request_id=? WHERE id=?',
        [read.startedAtMs, read.durationMs, status, verdict, reason?.slice(0, 1000) ?? null, read.requestId, attemptId],
      );
      await appendAudit(
        tx,
        [
          {
            event: 'attempt',
            outcome: verdict,
            attemptId,
            actor,
            detail: {
              purpose: 'list_invoices',
              pullId,
              page,
              startedAt: read.startedAtMs,
              durationMs: read.durationMs,
              status,
              requestId: read.requestId,
              reason,
            },
          },
        ],
        at,
      );
      if (isProbe && verdict !== 'not_sent') await endProbe(tx, verdict, at + probeMs, at);
      if (judged.kind === 'page') {
        await stageInvoices(tx, pullId, judged.page.invoices);
        counts.listed = await stagedCount(tx, pullId);
        counts.pages++;
        killPoint('before-pull-page');
      } else if (judged.pause) {
        const pause = { ...judged.pause, reason: judged.reason, actor, since_at: at };
        const { until_at } = pause;
        if (judged.namesTime === false && until_at !== null) await pauseLaneNoShorter(tx, { ...pause, until_at });
        else await pauseLane(tx, pause);
      }
    });
  }

  /** Any answer below 500 shows that the service is there, also where delivery has nothing to find that out with. */
  async function endProbe(tx: Tx, verdict: string, nextProbeAt: number, at: number): Promise<void> {
    if (verdict !== 'in_doubt' && verdict !== 'unavailable') {
      isProbe = false;
      if ((await resumeLane(tx, 'service', ['outage'])) > 0) await hastenInDoubt(tx, at);
      return;
    }
    const outage = (await listPauses(tx)).find(({ cause }) => cause === 'outage');
    if (outage) await pauseLane(tx, { ...outage, until_at: Math.max(outage.until_at ?? 0, nextProbeAt) });
  }

  function judgePage(read: Read, successStatus: number): JudgedPage {
    const { exchange } = read;
    if (exchange.kind === 'not_sent') return { kind: 'stop', verdict: 'not_sent', reason: exchange.reason };
    if (exchange.kind === 'unreachable') return { kind: 'again', verdict: 'unavailable', reason: exchange.reason };
    if (exchange.kind !== 'answer') return { kind: 'again', verdict: 'in_doubt', reason: exchange.reason };
    const { status } = exchange;
    if (status === successStatus) {
      const page = readInvoicePage(parseJson(exchange.body));
      if (typeof page !== 'string') return { kind: 'page', page };
      return { kind: 'again', verdict: 'invalid', reason: `HTTP ${status}, but no list: ${page}` };
    }
    const error = errorBody(exchange.body, settings.service.errorBody);
    const reason = `HTTP ${status}${error.code ? ` ${error.code}` : ''}: ${error.message || 'no reason given'}`;
    if (status === 429 || (status === 503 && exchange.headers['retry-after'] !== undefined)) {
      // "Now" and a date in the past name no time.
      const named = retryAfterMs(exchange.headers['retry-after'], nowMs()) || null;
      const wait = named ?? ownWaitMs(settings.service.limits);
      return {
        kind: wait > 60_000 ? 'stop' : 'again',
        verdict: 'throttled',
        reason,
        waitMs: wait,
        namesTime: named !== null,
        pause: { lane: 'service', cause: 'throttled', until_at: nowMs() + wait },
      };
    }
    if (status === 401)
      return {
        kind: 'stop',
        verdict: 'unauthorised',
        reason,
        pause: { lane: 'service', cause: 'credential', until_at: null },
      };
    if (status === 403 || status === 407 || (status >= 300 && status < 400))
      return {
        kind: 'stop',
        verdict: 'misconfigured',
        reason,
        pause: { lane: 'pull', cause: 'misconfigured', until_at: null },
      };
    if (status >= 400 && status < 500 && status !== 408) return { kind: 'stop', verdict: 'refused', reason };
    return { kind: 'again', verdict: 'in_doubt', reason };
  }
}

type JudgedPage =
  | { kind: 'page'; page: InvoicePage }
  | {
      kind: 'again' | 'stop';
      verdict: string;
      reason: string;
      waitMs?: number;
      namesTime?: boolean;
      pause?: {
        lane: 'service' | 'pull';
        cause: 'throttled' | 'credential' | 'misconfigured';
        until_at: number | null;
      };
    };

const nothing = { pages: 0, unpaid: 0, added: 0, changed: 0, unlisted: 0, malformed: 0 };

function malformedReason(count: number, first: string): string {
  return `${count} invoices of the service make no sense (${first}); the others were taken, and none was taken off the list`;
}

/**
 * When this pull may begin. While the service is down, delivery looks every few seconds whether it is back; then the pull
 * takes one of these turns, and its first page is the probe.
 */
async function turnOf(
  { nowMs, clock }: JobContext,
  { probeTurns }: ServiceLease,
  gate: SendGate,
  { waitsForTurn, signal }: PullOptions,
): Promise<{ isProbe: boolean } | { held: string }> {
  try {
    for (;;) {
      const state = await gate.state();
      const outage = state.pauses.find(({ cause }) => cause === 'outage');
      const pauses = state.pauses.filter((pause) => pause !== outage);
      const held = gate.blockedBy({ ...state, pauses }, 'pull');
      if (held) return { held: held.reason };
      if (!outage) return { isProbe: false };
      if (signal?.aborted) return { held: 'stopping' };
      probeTurns.reserve();
      const isDue = (outage.until_at ?? 0) <= nowMs();
      if (isDue && probeTurns.takeReserved(clock.monotonicMs())) return { isProbe: true };
      if (!waitsForTurn) return { held: `the service is out of reach: ${outage.reason}` };
      await clock.sleep(turnPollMs, signal);
    }
  } finally {
    probeTurns.release();
  }
}
