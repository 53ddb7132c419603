import type { ProbeFact } from '../../../model/facts/probe.js';
import type { JsonValue } from '../../../model/record.js';
import { valueAt } from '../../../model/record.js';
import {
  type Evidence,
  type Finding,
  inShort,
  isDone,
  isRefused,
  jsonOf,
  lastName,
  leavesOf,
  type PageEvidence,
} from './evidence.js';

/** A page as it was read. */
interface Page {
  entries: readonly unknown[];
  total: number | null;
}

export interface PagePlaces {
  invoices: string;
  total: string | null;
  page: string | null;
}

/** Names of the number of all invoices; the first ones mean it, the last ones may mean those on the page. */
const totalNames = [/^total$/i, /^total_?(count|items|records|results)$/i, /^records$/i, /^count$/i];

/**
 * The places of a page's list, the number of all, and its own number. Pure.
 * @param isTotal whether a place may hold the number of all, by what else was read
 * @returns null where it holds no list
 */
export function pagePlaces(body: unknown, isTotal: (place: string) => boolean = () => true): PagePlaces | null {
  const leaves = leavesOf(body);
  const lists = leaves.filter((leaf): leaf is { place: string; value: unknown[] } => Array.isArray(leaf.value));
  const [list] = lists.sort((a, b) => b.value.length - a.value.length);
  if (!list) return null;
  const numbers = (name: RegExp) =>
    leaves
      .filter(({ place, value }) => Number.isSafeInteger(value) && name.test(lastName(place)))
      .map(({ place }) => place);
  return {
    invoices: list.place,
    total: totalNames.flatMap(numbers).find(isTotal) ?? null,
    page: numbers(/^(page|current_?page|number)$/i)[0] ?? null,
  };
}

/** Which places do not name fewer invoices than the pages showed: those that do count one page, or are capped. */
function totalOf({ zero, one, zeroAgain, sizes, second }: PageEvidence): (place: string) => boolean {
  const all = [zero, one, zeroAgain, ...sizes.map(({ page }) => page), ...(second ? [second] : [])];
  const read = all.flatMap((each) => {
    const page = readPage(each);
    return page && page.entries.length > 0 ? [{ body: jsonOf(each), entries: page.entries }] : [];
  });
  const different = new Set(read.flatMap(({ entries }) => entries.map((entry) => JSON.stringify(entry)))).size;
  return (place) => read.every(({ body }) => (valueAt(body, place) as number) >= different);
}

export function readPage(one: Evidence): Page | null {
  if (!isDone(one)) return null;
  const body = jsonOf(one);
  const places = pagePlaces(body);
  if (!places) return null;
  const total = places.total === null ? null : (valueAt(body, places.total) as number);
  return { entries: valueAt(body, places.invoices) as unknown[], total };
}

/** A page in short, without its invoices: they may be other people's. */
function shown(one: Evidence): ProbeFact {
  const page = readPage(one);
  const seen: ProbeFact = page
    ? { code: 'probe_page_shown', entries: page.entries.length, total: page.total }
    : { code: 'probe_no_list' };
  return inShort(one, isDone(one) ? seen : undefined);
}

/** The paging of the list of invoices. */
export function decidePages(pages: PageEvidence | undefined): Finding[] {
  if (!pages) {
    const found = { code: 'probe_not_tried' } as const;
    return [{ point: { code: 'probe_of_pages' }, found, settings: {}, ask: { code: 'probe_ask_pages' }, evidence: [] }];
  }
  return [firstPage(pages), largest(pages), places(pages)];
}

export function firstPage({ zero, one, zeroAgain }: PageEvidence): Finding {
  const point = { code: 'probe_of_first_page' } as const;
  const evidence = [zero, one].map(shown);
  const known = (number: 0 | 1, found: ProbeFact): Finding => {
    return { point, found, settings: { 'invoices.paging.firstPage': number }, ask: null, evidence };
  };
  const [a, b, again] = [zero, one, zeroAgain].map((page) => readPage(page)?.entries[0]);
  const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);
  if (b !== undefined && isRefused(zero)) return known(1, { code: 'probe_page_0_refused' });
  if (b !== undefined && a === undefined && readPage(zero)) return known(1, { code: 'probe_page_0_empty' });
  if (a !== undefined && b !== undefined && same(a, again))
    return same(a, b) ? known(1, { code: 'probe_page_0_is_1' }) : known(0, { code: 'probe_page_1_other' });
  if (a !== undefined && readPage(one)?.entries.length === 0 && readPage(zero)?.total === 1)
    return known(0, { code: 'probe_page_1_empty' });
  return {
    point,
    found: { code: 'probe_list_unclear' },
    settings: {},
    ask: { code: 'probe_ask_first_page' },
    evidence,
  };
}

/**
 * The bounds of the largest page: it takes `taken`, not `refused`, and gave no more than `given` where more were to be
 * had. Pure.
 */
export function pageSizes(sizes: PageEvidence['sizes']): {
  taken: number;
  refused: number | null;
  given: number | null;
} {
  const taken = Math.max(0, ...sizes.filter(({ page }) => readPage(page)).map(({ limit }) => limit));
  const refusals = sizes.filter(({ page }) => isRefused(page)).map(({ limit }) => limit);
  const cut = sizes.flatMap(({ limit, page }) => {
    const read = readPage(page);
    return read && read.total !== null && read.entries.length < Math.min(limit, read.total)
      ? [read.entries.length]
      : [];
  });
  return {
    taken,
    refused: refusals.length === 0 ? null : Math.min(...refusals),
    given: cut.length === 0 ? null : Math.max(...cut),
  };
}

function largest({ sizes }: PageEvidence): Finding {
  const point = { code: 'probe_of_page_size' } as const;
  const { taken, refused, given } = pageSizes(sizes);
  const evidence = sizes.slice(-3).map(({ page }) => shown(page));
  const known = (size: number, found: ProbeFact): Finding => {
    return { point, found, settings: { 'invoices.pageSize': size }, ask: null, evidence };
  };
  if (given !== null && given > 0) return known(given, { code: 'probe_pages_cut', most: given });
  if (refused !== null && taken === refused - 1)
    return known(taken, { code: 'probe_pages_refused', most: taken, refused });
  return {
    point,
    found: taken > 0 ? { code: 'probe_list_too_short' } : { code: 'probe_no_page_read' },
    settings: {},
    ask: { code: 'probe_ask_page_size' },
    evidence,
  };
}

function places(pages: PageEvidence): Finding {
  const { zero, one } = pages;
  const point = { code: 'probe_of_page_fields' } as const;
  const page = [one, zero].find((each) => readPage(each) !== null);
  const found = page && pagePlaces(jsonOf(page), totalOf(pages));
  const ask = { code: 'probe_ask_page_fields' } as const;
  if (!page || !found)
    return { point, found: { code: 'probe_no_page_read' }, settings: {}, ask, evidence: [shown(one)] };
  const settings: Record<string, JsonValue> = { 'invoices.paging.fields.invoices': found.invoices };
  if (found.total) settings['invoices.paging.fields.total'] = found.total;
  if (found.page) settings['invoices.paging.fields.page'] = found.page;
  return {
    point,
    found: { code: 'probe_page_places', invoices: found.invoices, total: found.total },
    settings,
    ask: found.total ? null : { code: 'probe_ask_total' },
    evidence: [shown(page)],
  };
}
