import type { ListFact } from '../../model/facts/lists.js';

/**
 * Reads a list that changes while it is read, until it is proven. Pure: answers go in, the next request or the verdict comes
 * out.
 *
 * A pull reads all pages again and again. An invoice that one pass met and the next pass met again was listed at the turn
 * between the two, because an invoice that has left the list never comes back. If these are exactly as many as the service
 * counts on the last page before the turn and on the first one after it, they are the whole list of that moment.
 */
export interface PassState {
  /** Which pass this is, from 1. */
  pass: number;
  /** Which of the lists (one for each state) is being read. */
  list: number;
  /** The next page of it, counted from 0. */
  page: number;
  /** The number of rows that a request asks for; learned where the service gives fewer. */
  limit: number;
  /** Rows that this pass got from the list so far, with repetitions. */
  rows: number;
  /** Pages in a row that brought nothing that this pass had not met. */
  barren: number;
  /** Rows on the largest page of this pass that was not the last of its list. */
  largest: number;
  /** In this pass the service gave another page than the one asked for. */
  hasStrayed: boolean;
  /** In this pass a page brought rows, and none that an earlier page had not brought. */
  hasRepeated: boolean;
  lists: ListState[];
}

interface ListState {
  /** Different invoices that this pass met. */
  met: number;
  /** Those among them that an earlier pass had met. */
  again: number;
  /** The totals that the service named: on the last page of the pass before, and on the first and the last one of this pass. */
  totalBefore: number | null;
  totalFirst: number | null;
  totalLast: number | null;
}

/** The content of a page. */
export interface PageSeen {
  /** Rows on the page. */
  rows: number;
  /** Different ones that this pass had not met. */
  fresh: number;
  /** Those among them that an earlier pass had met. */
  again: number;
  /** The total that the service names; null if the page lies beyond the end of the list. */
  total: number | null;
  /** The service gave another page than the one asked for. */
  isAnotherPage: boolean;
  /** The page says that another one follows. */
  namesNext?: boolean;
}

export type PassVerdict = { kind: 'more' } | { kind: 'proven' } | { kind: 'unproven'; reason: ListFact };

/** This many pages in a row without news end a list: one alone may be a repetition, or short. */
const maxBarren = 2;

const unread: ListState = { met: 0, again: 0, totalBefore: null, totalFirst: null, totalLast: null };

export function beginPasses(lists: number, limit: number): PassState {
  return {
    pass: 1,
    list: 0,
    page: 0,
    limit,
    rows: 0,
    barren: 0,
    largest: 0,
    hasStrayed: false,
    hasRepeated: false,
    lists: Array.from({ length: lists }, () => ({ ...unread })),
  };
}

/**
 * The conclusions from a page. `state` stays as it is.
 * @param room so many invoices may these lists hold: a service that names a larger total could have them read for ever
 */
export function afterPage(
  state: PassState,
  seen: PageSeen,
  maxPasses: number,
  room = Number.POSITIVE_INFINITY,
): { state: PassState; verdict: PassVerdict } {
  const isBehind = isBehindEnd(state);
  const next: PassState = {
    ...state,
    page: state.page + 1,
    rows: state.rows + seen.rows,
    barren: seen.fresh > 0 ? 0 : state.barren + 1,
    hasStrayed: state.hasStrayed || (seen.isAnotherPage && !isBehind),
    hasRepeated: state.hasRepeated || (seen.rows > 0 && seen.fresh === 0 && !isBehind),
    lists: state.lists.map((one) => ({ ...one })),
  };
  const list = next.lists[next.list] as ListState;
  list.met += seen.fresh;
  list.again += seen.again;
  if (seen.total !== null) list.totalLast = seen.total;
  if (state.page === 0) list.totalFirst = seen.total;
  const total = next.lists.reduce((sum, { totalLast }) => sum + (totalLast ?? 0), 0);
  if (total > room) {
    return { state: next, verdict: { kind: 'unproven', reason: { code: 'total_beyond_room', total, room } } };
  }
  const small = smallTotal(list);
  if (small !== null) return { state: next, verdict: { kind: 'unproven', reason: small } };
  if (!isListOver(next, seen)) {
    next.largest = Math.max(next.largest, seen.rows);
    return { state: next, verdict: { kind: 'more' } };
  }
  Object.assign(next, { page: 0, rows: 0, barren: 0, list: next.list + 1 });
  if (next.list < next.lists.length) return { state: next, verdict: { kind: 'more' } };
  return turn(next, maxPasses);
}

/** True if the next page is asked for only because the last one was full: all that `total` counts were met. */
export function isBehindEnd({ page, list, lists }: PassState): boolean {
  const { met, totalLast } = lists[list] as ListState;
  return page > 0 && totalLast !== null && met >= totalLast;
}

/** `total` decides. A short page proves nothing: the service may give fewer than were asked for, or hide some of them. */
function isListOver(state: PassState, { rows, fresh, total, isAnotherPage, namesNext = false }: PageSeen): boolean {
  const { met, totalFirst } = state.lists[state.list] as ListState;
  if (total === null) return true;
  // The total may be that of one page, or capped. A full page is therefore the last one only if the next one brings
  // nothing.
  const isFull = rows >= state.limit || (state.largest > 0 && rows >= state.largest);
  if (met >= total && (fresh === 0 || !(isFull || namesNext))) return true;
  // A service that knows no such page gives its last one, or its first, for ever.
  if (isAnotherPage || state.barren >= maxBarren) return true;
  // A list that grows faster than it is read has no end. The measure is this reading's own first page: between two
  // readings, or while the pull was cut short, the list may have grown to any size.
  return state.rows >= 2 * (totalFirst ?? 0) + 10 * state.limit;
}

/**
 * A row that a reading met again was listed when its first page was given, because nothing comes back: a total below
 * that counts something else. @returns the total to check; null: the total may be right
 */
function smallTotal({ again, totalFirst, totalLast }: ListState): ListFact | null {
  const total = Math.max(totalFirst ?? again, totalLast ?? again);
  if (again <= total) return null;
  return { code: 'total_too_small', total, again };
}

function turn(state: PassState, maxPasses: number): { state: PassState; verdict: PassVerdict } {
  const doubt = state.pass === 1 ? null : doubtOf(state);
  if (state.pass > 1 && doubt === null) return { state, verdict: { kind: 'proven' } };
  if (state.pass >= maxPasses) {
    const reason = pagingProblem(state) ?? ({ code: 'list_kept_changing', readings: state.pass, doubt } as const);
    return { state, verdict: { kind: 'unproven', reason } };
  }
  const next: PassState = {
    ...state,
    pass: state.pass + 1,
    list: 0,
    largest: 0,
    hasStrayed: false,
    hasRepeated: false,
    limit: learnedLimit(state),
    lists: state.lists.map(({ totalLast }) => ({ ...unread, totalBefore: totalLast })),
  };
  return { state: next, verdict: { kind: 'more' } };
}

/**
 * If the service gives fewer rows than it is asked for, ask for as many as it gives, so that it skips as many for a
 * page as it gave on one. A page that is far too short was cut for another reason.
 */
function learnedLimit({ limit, largest }: PassState): number {
  return largest === 0 ? limit : Math.min(limit, Math.max(largest, Math.ceil(limit / 20)));
}

/**
 * Readings that meet the same invoices under the same total, and fewer than that total, saw no change of the list: the service
 * counts its pages in another way than the settings say, or hides some. @returns what to check; null: the list changed
 */
function pagingProblem({ lists, hasStrayed, hasRepeated }: PassState): ListFact | null {
  const isSame = lists.every(
    ({ met, again, totalBefore, totalFirst }) =>
      totalBefore === totalFirst && again === met && met <= (totalFirst ?? 0),
  );
  const short = lists.find(({ met, totalFirst }) => met !== totalFirst);
  if (!isSame || !short) return null;
  const { met, totalFirst: total } = short;
  return { code: 'pages_miss_invoices', met, total, strayed: hasStrayed, repeated: hasRepeated };
}

/** Why the pass that just ended does not prove the list as it was when the pass began; null: it does. */
function doubtOf({ lists, hasStrayed }: PassState): ListFact | null {
  for (const { met, again, totalBefore, totalFirst } of lists) {
    if (totalBefore !== totalFirst) return { code: 'total_changed', before: totalBefore, first: totalFirst };
    if (again !== met) return { code: 'invoices_came', count: met - again };
    if (met !== totalFirst) return { code: 'invoices_not_met', met, total: totalFirst, strayed: hasStrayed };
  }
  return null;
}
