import { parseJson } from '../delivery/parse-json.js';
import { type InvoicePage, readInvoicePage } from '../invoices/invoice-page.js';
import { afterPage, beginPasses } from '../invoices/pass.js';
import { type OpenPull, type PullProgress, saveProgress } from '../invoices/pull-progress.js';
import { endGroup, forgetDueReads, stagePage } from '../invoices/staging.js';
import { nextBoundCustomer } from '../outbox/next-bound-customer.js';
import type { Tx } from '../store/store.js';
import type { JobContext } from './job-context.js';
import { killPoint } from './kill-point.js';
import type { PullQuestions } from './pull-questions.js';

/** Some services know no page beyond the end of a list. */
type Answered = InvoicePage | { isBeyondEnd: true };

/**
 * Reads the lists of a pull, page by page, from where it is until all of them are proven or given up. Every page is kept with
 * the progress in one transaction.
 * @returns why a page could not be had, or null
 */
export async function readLists(
  { settings }: JobContext,
  questions: PullQuestions,
  pull: OpenPull,
  onProgress?: (progress: { staged: number; total: number }) => void,
): Promise<string | null> {
  const { states, scope, pageSize, maxPasses, paging } = settings.invoices;
  const { path, successStatus } = settings.service.endpoints.listInvoices;
  while (pull.progress.phase === 'reading') {
    const { progress } = pull;
    const { passes, customer } = progress;
    const state = states[passes.list] as string;
    const page = paging.firstPage + passes.page;
    let kept = progress;
    const asked = await questions.ask<Answered>({
      purpose: 'list_invoices',
      path,
      query: {
        ...paging.query,
        [paging.status]: state,
        ...(customer === '' ? {} : { [paging.customer]: customer }),
        [paging.limit]: String(passes.limit),
        [paging.page]: String(page),
      },
      answers: passes.page > 0 ? [successStatus, 404] : [successStatus],
      read: (status, body) =>
        status === successStatus
          ? readInvoicePage(parseJson(body), paging.fields, customer === '' ? null : customer)
          : { isBeyondEnd: true },
      keep: async (tx, answer, nowMs) => {
        kept = await keepPage(tx, answer, nowMs);
        killPoint('before-pull-page');
      },
      detail: { state, page, pass: passes.pass, ...(customer === '' ? {} : { customer }) },
    });
    if ('noAnswer' in asked) return `page ${page} of ${state} could not be read: ${asked.noAnswer}`;
    killPoint('after-pull-page');
    pull.progress = kept;
    const { lists } = kept.passes;
    onProgress?.({
      staged: lists.reduce((sum, { met }) => sum + met, 0),
      total: lists.reduce((sum, { totalLast, totalBefore }) => sum + (totalLast ?? totalBefore ?? 0), 0),
    });

    async function keepPage(tx: Tx, answer: Answered, nowMs: number): Promise<PullProgress> {
      const isPage = 'rows' in answer;
      const counts = isPage
        ? await stagePage(tx, { customer, state }, passes.pass, answer.rows)
        : { fresh: 0, again: 0 };
      const seen = {
        ...counts,
        rows: isPage ? answer.rows.length : 0,
        total: isPage ? answer.total : null,
        isAnotherPage: isPage && answer.page !== null && answer.page !== page,
      };
      const after = afterPage(passes, seen, maxPasses);
      const next: PullProgress = {
        ...progress,
        passes: after.state,
        pages: progress.pages + 1,
        requests: questions.requests,
      };
      if (after.state.pass > passes.pass) await forgetDueReads(tx, customer);
      if (after.verdict.kind !== 'more') {
        const isProven = after.verdict.kind === 'proven';
        await endGroup(tx, customer, isProven ? after.state.pass : null);
        next.mostPasses = Math.max(next.mostPasses, after.state.pass);
        next.serviceTotal += after.state.lists.reduce((sum, { totalFirst }) => sum + (totalFirst ?? 0), 0);
        if (after.verdict.kind === 'unproven')
          next.doubt ??= `${customer === '' ? '' : `customer ${customer}: `}${after.verdict.reason}`;
        const following = scope === 'all' ? null : await nextBoundCustomer(tx, customer);
        if (following === null) next.phase = 'asking';
        else Object.assign(next, { customer: following, passes: beginPasses(states.length, pageSize) });
      }
      await saveProgress(tx, pull.id, next, nowMs);
      return next;
    }
  }
  return null;
}
