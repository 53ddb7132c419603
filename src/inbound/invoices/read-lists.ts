import type { Fact } from '../../model/facts/fact.js';
import type { ListFact } from '../../model/facts/lists.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import type { ServiceReads } from '../../outbound/deliver/service-reads.js';
import type { Tx } from '../../store/store.js';
import { type InvoicePage, invoicePagePlaces, isPageBehindEnd, readInvoicePage } from './invoice-page.js';
import { afterPage, beginPasses, isBehindEnd } from './list-proof.js';
import { nextCustomer, type OpenPull, type PullProgress, saveProgress } from './pull-record.js';
import { endGroup, forgetDueReads, stagePage } from './staging.js';

/** Some services know no page beyond the end of a list. `refusal`: nothing says that it is the end. */
type Answered = InvoicePage | { isBeyondEnd: true; refusal?: Fact };

/**
 * Reads the lists of a pull, page by page, from where it is until all of them are proven or given up. Every page is stored with
 * the progress in one transaction. A customer whose list the service refuses stays unproven, and the others are still read.
 * @returns why a page could not be had, or null
 */
export async function readLists(
  { settings, nowMs }: JobContext,
  { lease }: ServiceLease,
  questions: ServiceReads,
  pull: OpenPull,
  onProgress?: (progress: { staged: number; total: number }) => void,
): Promise<Fact | null> {
  const { states, scope, pageSize, maxPasses, maxListed, paging } = settings.invoices;
  const terms = { fields: paging.fields, currency: settings.amounts.currency };
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
        ...(customer === null ? {} : { [paging.customer]: customer }),
        [paging.limit]: String(passes.limit),
        [paging.page]: String(page),
      },
      answers: passes.page > 0 ? [successStatus, 204, 404] : [successStatus],
      places: invoicePagePlaces(paging.fields),
      read: (status, json) => {
        if (status !== successStatus) return { isBeyondEnd: true };
        if (isBehindEnd(passes) && isPageBehindEnd(json, paging.fields)) return { isBeyondEnd: true };
        return readInvoicePage(json, { ...terms, customer });
      },
      keep: async (tx, answer, nowMs) => {
        kept = await keepPage(tx, answer, nowMs);
        killPoint('before-pull-page');
      },
      detail: { state, page, pass: passes.pass, ...(customer === null ? {} : { customer }) },
    });
    if ('noAnswer' in asked) {
      const reason = { code: 'page_not_read', page, state, reason: asked.noAnswer, atEnd: false } as const;
      if (asked.isRefused && isBehindEnd(passes)) {
        const refusal = { ...reason, atEnd: true };
        pull.progress = await lease.write('end a list at a refusal', (tx) =>
          keepPage(tx, { isBeyondEnd: true, refusal }, nowMs()),
        );
        continue;
      }
      if (!asked.isRefused || customer === null || passes.page > 0) return reason;
      kept = await lease.write('leave out a customer', async (tx) => {
        const next = await endCustomer(tx, { ...progress, requests: questions.requests }, reason);
        // If every customer is refused, the customers are not the cause.
        if (next.phase === 'reading' || next.pages > 0) await saveProgress(tx, pull, next, nowMs());
        return next;
      });
      if (kept.phase === 'asking' && kept.pages === 0) return reason;
      pull.progress = kept;
      continue;
    }
    killPoint('after-pull-page');
    pull.progress = kept;
    const { lists } = kept.passes;
    onProgress?.({
      staged: lists.reduce((sum, { met }) => sum + met, 0),
      total: lists.reduce((sum, { totalLast, totalBefore }) => sum + (totalLast ?? totalBefore ?? 0), 0),
    });

    async function keepPage(tx: Tx, answer: Answered, nowMs: number): Promise<PullProgress> {
      const isPage = 'rows' in answer;
      const rows = isPage ? answer.rows : [];
      const seen = {
        ...(await stagePage(tx, { customer, state }, passes.pass, rows)),
        rows: rows.length,
        total: isPage ? answer.total : null,
        isAnotherPage: isPage && answer.page !== null && answer.page !== page,
        namesNext: isPage && answer.namesNext,
      };
      const after = afterPage(passes, seen, maxPasses, Math.max(0, maxListed - progress.listed));
      const { requests } = questions;
      const next: PullProgress = { ...progress, passes: after.state, pages: progress.pages + 1, requests };
      if (after.state.pass > passes.pass) await forgetDueReads(tx, customer);
      const isOver = after.verdict.kind !== 'more' || after.state.page === 0;
      const unread: ListFact | null =
        isOver && seen.rows > 0 && seen.namesNext ? { code: 'next_page_not_read', page } : null;
      const groupDoubt = isPage ? (answer.doubt ?? unread) : answer.refusal;
      if (groupDoubt) next.groupDoubt ??= groupDoubt;
      if (after.verdict.kind === 'more') {
        await saveProgress(tx, pull, next, nowMs);
        return next;
      }
      next.mostPasses = Math.max(next.mostPasses, after.state.pass);
      next.listed += after.state.lists.reduce((sum, { met }) => sum + met, 0);
      const serviceTotal = after.state.lists.reduce(
        (sum, { totalFirst }) => sum + (totalFirst ?? 0),
        next.serviceTotal,
      );
      next.serviceTotal = Math.min(serviceTotal, Number.MAX_SAFE_INTEGER);
      const doubt = after.verdict.kind === 'unproven' ? after.verdict.reason : (next.groupDoubt ?? null);
      const ended = await endCustomer(tx, next, doubt);
      await saveProgress(tx, pull, ended, nowMs);
      return ended;
    }
  }
  return null;

  /** Ends the group of lists that was read. @param doubt why it is not proven; null: it is */
  async function endCustomer(tx: Tx, progress: PullProgress, doubt: Fact | null): Promise<PullProgress> {
    const { customer, passes, groupDoubt: _, ...more } = progress;
    await endGroup(tx, customer, doubt === null ? passes.pass : null);
    const next: PullProgress = { ...more, customer, passes };
    if (doubt !== null)
      next.doubt ??= customer === null ? doubt : { code: 'customer_list_unproven', customer, reason: doubt };
    const following = scope === 'all' ? null : await nextCustomer(tx, customer);
    if (following === null) next.phase = 'asking';
    else Object.assign(next, { customer: following, passes: beginPasses(states.length, pageSize) });
    return next;
  }
}
