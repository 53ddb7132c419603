import { appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import type { ListFact } from '../../model/facts/lists.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { SendGate } from '../../outbound/deliver/send-gate.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { ServiceReads } from '../../outbound/deliver/service-reads.js';
import type { ServiceClient } from '../../service/service-client.js';
import type { Tx } from '../../store/store.js';
import { askForMissed } from './own-read.js';
import { endPull, failPull, type OpenPull, openPull } from './pull-record.js';
import { readLists } from './read-lists.js';
import { endDropAlert, judgeDrop } from './safety-limit.js';
import { noteSetAside, setAsideSharedNumbers } from './set-aside.js';
import { countStaged } from './staging.js';
import { noteNewStates, type Swapped, swapInvoices } from './swap-invoices.js';

const turnPollMs = 50;

/**
 * When this pull may begin. While the service is down, delivery looks every few seconds whether it is back; then the pull
 * takes one of these turns, and its first page is the probe.
 */
async function pullTurn(
  context: JobContext,
  lease: ServiceLease,
  { waitsForTurn, signal }: PullOptions,
): Promise<{ isProbe: boolean } | { held: Fact }> {
  const { nowMs, clock } = context;
  const { probeTurns } = lease;
  const gate = new SendGate(context, lease, null);
  try {
    for (;;) {
      const state = await gate.state();
      const outage = state.pauses.find(({ cause }) => cause === 'outage');
      const pauses = state.pauses.filter((pause) => pause !== outage);
      const held = gate.blockedBy({ ...state, pauses }, 'pull');
      if (held) return { held: held.reason };
      if (!outage) return { isProbe: false };
      if (signal?.aborted) return { held: { code: 'stopping' } };
      probeTurns.reserve();
      const isDue = (outage.until_at ?? 0) <= nowMs();
      if (isDue && probeTurns.takeReserved(clock.monotonicMs())) return { isProbe: true };
      if (!waitsForTurn) return { held: { code: 'outage', reason: outage.reason } };
      await clock.sleep(turnPollMs, signal);
    }
  } finally {
    probeTurns.release();
  }
}

export interface PullResult {
  /**
   * `proven`: the list is the service's list of one moment of this pull. `unproven`: it took what it met. `held`: the list stays
   * as it was; a pause kept the pull from running, or a hold what it read from being swapped in.
   */
  outcome: 'proven' | 'unproven' | 'failed' | 'held';
  reason: Fact | null;
  pages: number;
  /** The number of readings of the list. */
  passes: number;
  unpaid: number;
  added: number;
  changed: number;
  unlisted: number;
  /** Listed still, although it did not meet them. */
  missed: number;
  /** Kept on the list by a hold, until a person confirms that they have left. */
  leaving: number;
  malformed: number;
  /** Asked for by their numbers. */
  asked: number;
}

export interface PullOptions {
  /** While the service is down: waits for a turn of the probes, instead of leaving it to them. */
  waitsForTurn?: boolean;
  signal?: AbortSignal | undefined;
  onProgress?: (progress: { staged: number; total: number }) => void;
  /** Swaps the list in, and may look before and after it, in the same transaction. */
  aroundSwap?: (tx: Tx, nowMs: number, swap: () => Promise<Swapped>) => Promise<Swapped>;
}

const swapped = { added: 0, changed: 0, unlisted: 0, missed: 0 };
const nothing = { ...swapped, leaving: 0, pages: 0, passes: 0, unpaid: 0, malformed: 0, asked: 0 };

/**
 * Reads the invoices that are due into staging until they are proven, and swaps the list in one transaction. Two pulls of a
 * process, such as the schedule's and a comparison's, have one staging: the second begins when the first has ended.
 */
export function pull(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  options: PullOptions = {},
): Promise<PullResult> {
  return lease.pulls.add(() => pullAlone(context, client, lease, options));
}

async function pullAlone(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  options: PullOptions,
): Promise<PullResult> {
  const { settings, nowMs, actor } = context;
  const { signal, onProgress } = options;
  const turn = await pullTurn(context, lease, options);
  if ('held' in turn) return { ...nothing, outcome: 'held', reason: turn.held };
  const open = await lease.write('begin a pull', (tx) => openPull(tx, settings, nowMs()));
  const { requests } = open.progress;
  const questions = new ServiceReads(context, client, lease, { signal, pull: { id: open.id, requests, ...turn } });
  const reason = await context.thread.unhurried(() => readLists(context, lease, questions, open, onProgress));
  if (reason === null) {
    await askForMissed(context, lease, questions, open);
    return swapIn(context, lease, open, options.aroundSwap);
  }
  await lease.write('end a pull', async (tx) => {
    await failPull(tx, open, reason, nowMs());
    await appendAudit(tx, [{ event: 'pull', outcome: 'failed', actor, detail: { pullId: open.id, reason } }], nowMs());
  });
  return { ...nothing, outcome: 'failed', reason, pages: open.progress.pages, passes: open.progress.passes.pass };
}

function missedFact(kept: number, missed: number): ListFact | null {
  if (kept > 0) return { code: 'invoices_wait_for_person', count: kept };
  return missed > 0 ? { code: 'invoices_of_unproven_lists', count: missed } : null;
}

async function swapIn(
  { settings, nowMs, actor, log }: JobContext,
  lease: ServiceLease,
  open: OpenPull,
  around: NonNullable<PullOptions['aroundSwap']> = (_tx, _nowMs, swap) => swap(),
): Promise<PullResult> {
  const { id: pullId } = open;
  const { ended, newStates, aside } = await lease.write('end a pull', async (tx) => {
    const at = nowMs();
    await setAsideSharedNumbers(tx);
    const staged = await countStaged(tx);
    const states = await noteNewStates(tx, settings.invoices.states, at);
    const { kept, held } = await judgeDrop(tx, settings.invoices, at);
    const swap = await around(tx, at, () => swapInvoices(tx, at, held !== null));
    await endDropAlert(tx, at);
    const setAside = held === null ? await noteSetAside(tx, staged.listed, at) : null;
    const { pages, mostPasses: passes, asked, serviceTotal } = open.progress;
    const doubt = open.progress.doubt ?? missedFact(kept, swap.missed);
    const { outcome, reason } = await endPull(tx, open, { doubt, held, counts: { ...staged, ...swap } }, at);
    const detail = { pullId, reason, pages, passes, asked, serviceTotal, ...staged, ...swap };
    await appendAudit(
      tx,
      [
        { event: 'pull', outcome, actor, detail },
        ...states.map((state) => {
          return { event: 'pull', outcome: 'new_state', actor, detail: { pullId, ...state } } as const;
        }),
      ],
      at,
    );
    killPoint('before-pull-swap');
    const { listed: unpaid, malformed } = staged;
    const result: PullResult = { outcome, reason, pages, passes, unpaid, ...swap, leaving: kept, malformed, asked };
    return { ended: result, newStates: states, aside: setAside };
  });
  killPoint('after-pull-swap');
  for (const { status, invoiceNo } of newStates)
    log.warn(`The service lists invoices as "${status}", a state that invoices.states does not name`, { invoiceNo });
  if (aside?.code === 'invoices_set_aside')
    log.warn("Rows of the service's list of invoices are set aside", { rows: aside.aside, invoiceNo: aside.invoiceNo });
  return ended;
}
