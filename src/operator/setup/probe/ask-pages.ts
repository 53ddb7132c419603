import type { Settings } from '../../../config/settings.js';
import type { ProbeFact } from '../../../model/facts/probe.js';
import type { ProbeRequest } from '../../../service/service-client.js';
import { firstPage, pageSizes, readPage } from './decide-pages.js';
import { type Evidence, isRefused, type PageEvidence } from './evidence.js';
import type { Questions } from './questions.js';

/** The largest page that the settings take. */
const largestPage = 10_000;

/** A page of the list of invoices. */
export function pageRequest({ service, invoices }: Settings, page: number, limit: number): ProbeRequest {
  const { paging, states } = invoices;
  const query = {
    ...paging.query,
    [paging.status]: states[0] as string,
    [paging.limit]: String(limit),
    [paging.page]: String(page),
  };
  return { method: 'GET', path: service.endpoints.listInvoices.path, query };
}

/** The number of the first page of invoices, and the largest page size. */
export async function askForPages(settings: Settings, questions: Questions): Promise<PageEvidence> {
  const page = (what: ProbeFact, number: number, limit: number) =>
    questions.ask(what, pageRequest(settings, number, limit));
  const zero = await page({ code: 'probe_asks_page_0' }, 0, 1);
  const one = await page({ code: 'probe_asks_page_1' }, 1, 1);
  const zeroAgain = await page({ code: 'probe_asks_page_0_again' }, 0, 1);
  const pages: PageEvidence = { zero, one, zeroAgain, sizes: [] };
  const [first = settings.invoices.paging.firstPage] = Object.values(firstPage(pages).settings);
  // If a large page is refused, the largest that is taken lies between two that were asked for.
  for (let limit = largestPage; ; ) {
    const got = await page({ code: 'probe_asks_page', limit }, first as number, limit);
    pages.sizes.push({ limit, page: got });
    const { taken, refused, given } = pageSizes(pages.sizes);
    const isEnough = given !== null || refused === null || refused - taken <= 1;
    if (isEnough || (readPage(got) === null && !isRefused(got))) break;
    limit = taken + Math.floor((refused - taken) / 2);
  }
  const whole = pages.sizes.filter(({ page }) => seemsWhole(page)).at(-1);
  if (whole)
    pages.second = await page({ code: 'probe_asks_next_page', limit: whole.limit }, (first as number) + 1, whole.limit);
  return pages;
}

function seemsWhole(page: Evidence): boolean {
  const read = readPage(page);
  return read !== null && read.entries.length > 0 && read.total === read.entries.length;
}
