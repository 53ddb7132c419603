import type { ReadInvoiceEndpoint } from '../../config/sections/service-endpoints.js';
import type { JobContext } from '../../ops/job-context.js';
import { raiseForbiddenRead } from '../../outbound/deliver/forbidden-reads.js';
import type { PullQuestions } from '../../outbound/deliver/pull-questions.js';
import type { Store } from '../../store/store.js';
import { invoiceQuestion, isAbsent, metInvoice, missedInvoices, type OwnRead } from './own-read.js';
import { type OpenPull, type PullProgress, saveProgress } from './pull-progress.js';
import { stageOwnRead } from './staging.js';

/**
 * Asks for listed invoices that the pull did not meet, one by one by their numbers: whether money is due still, and if not, what
 * became of them. So many a pull; the longest missed come first, and the rest waits for the next pull.
 */
export async function askForMissed(
  { store, settings }: JobContext,
  questions: PullQuestions,
  pull: OpenPull,
): Promise<void> {
  const { states, readsPerPull } = settings.invoices;
  const endpoint = settings.service.endpoints.readInvoice;
  const left = readsPerPull - pull.progress.asked;
  if (!endpoint || left < 1) return;
  const missed = await store.read('look for missed invoices', (tx) => missedInvoices(tx, left));
  const isNeeded = missed.some(({ isOffList }) => !isOffList);
  const absenceCounts = isNeeded && (await findsListed(store, questions, endpoint, states));
  for (const known of missed) {
    const { invoiceNo } = known;
    if (!canStandInPath(invoiceNo)) continue;
    const next: PullProgress = { ...pull.progress, asked: pull.progress.asked + 1, requests: questions.requests + 1 };
    const asked = await questions.ask<OwnRead>({
      ...invoiceQuestion(endpoint, states, known),
      keep: async (tx, said, nowMs) => {
        if ('due' in said) await stageOwnRead(tx, invoiceNo, said.due, null);
        const isBelieved = !isAbsent(said) || known.isOffList || absenceCounts;
        if ('left' in said && isBelieved) await stageOwnRead(tx, invoiceNo, null, said.left);
        await saveProgress(tx, pull.id, next, nowMs);
      },
    });
    if ('noAnswer' in asked && !asked.isRefused) return;
    pull.progress = next;
  }
}

/**
 * Whether an invoice that stands on the list is found by its number. An address that leads elsewhere says of each that there
 * is none, and the list would be emptied by it.
 */
async function findsListed(
  store: Store,
  questions: PullQuestions,
  endpoint: ReadInvoiceEndpoint,
  states: readonly string[],
): Promise<boolean> {
  const listed = await store.read('look for an invoice that was met', (tx) => metInvoice(tx));
  if (listed === null || !canStandInPath(listed.invoiceNo)) return false;
  const asked = await questions.ask<OwnRead>({
    ...invoiceQuestion(endpoint, states, listed),
    keep: async (tx, said, nowMs) => {
      if (!isAbsent(said)) return;
      const reason = 'it says that there is none, though it stands on the list';
      await raiseForbiddenRead(tx, 'read_invoice', reason, { invoiceNo: listed.invoiceNo }, nowMs);
    },
  });
  return 'value' in asked && !('odd' in asked.value) && !isAbsent(asked.value);
}

/** An address with a segment of dots is another address, however they are encoded. */
function canStandInPath(invoiceNo: string): boolean {
  return !/^\.{1,2}$/.test(invoiceNo);
}
