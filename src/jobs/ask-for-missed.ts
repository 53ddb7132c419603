import { parseJson } from '../delivery/parse-json.js';
import { missedInvoices } from '../invoices/missed-invoices.js';
import { type OwnRead, readOwnInvoice } from '../invoices/own-read.js';
import { type OpenPull, type PullProgress, saveProgress } from '../invoices/pull-progress.js';
import { stageOwnRead } from '../invoices/staging.js';
import type { JobContext } from './job-context.js';
import type { PullQuestions } from './pull-questions.js';

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
  for (const known of missed) {
    const { invoiceNo } = known;
    // An address with a segment of dots is another address, however they are encoded.
    if (/^\.{1,2}$/.test(invoiceNo)) continue;
    const next: PullProgress = { ...pull.progress, asked: pull.progress.asked + 1, requests: questions.requests + 1 };
    const asked = await questions.ask<OwnRead>({
      purpose: 'read_invoice',
      path: endpoint.path.replaceAll('{invoice_no}', () => encodeURIComponent(invoiceNo)),
      query: {},
      answers: [endpoint.successStatus, endpoint.absentStatus],
      read: (status, body) => readOwnInvoice(endpoint, states, known, status, parseJson(body)),
      keep: async (tx, said, nowMs) => {
        if ('due' in said) await stageOwnRead(tx, invoiceNo, said.due, null);
        if ('left' in said) await stageOwnRead(tx, invoiceNo, null, said.left);
        await saveProgress(tx, pull.id, next, nowMs);
      },
      detail: { invoiceNo },
    });
    if ('noAnswer' in asked && !asked.isRefused) return;
    pull.progress = next;
  }
}
