import { expect } from 'chai';
import fc from 'fast-check';
import { afterPage, beginPasses, type PassVerdict } from '../../../src/inbound/invoices/list-proof.js';
import { isFullMatrix } from '../../store/stores.js';
import { type Change, ChangingList, changes, isSame } from './changing-list.js';

/** `WAYBILL_PULL_HISTORIES=200000` tells as many. */
const numRuns = Number(process.env.WAYBILL_PULL_HISTORIES ?? (isFullMatrix ? 20_000 : 4_000));

interface History {
  count: number;
  /** The most rows that the service gives on a page; it skips that many for a page, too, or as many as it was asked for. */
  gives: number;
  skipsByLimit: boolean;
  limit: number;
  maxPasses: number;
  changes: Change[][];
  /** The changes begin anew when they are through: the list never holds still. */
  forEver: boolean;
  canBeRead: boolean;
  /** Beyond the end of the list the service gives its last page again, and may say so. */
  repeatsLast?: 'silently' | 'by its number' | undefined;
  /** The total in place of the true one: the rows of the page, or no more than a maximum. */
  counts?: 'page' | number | undefined;
}

const history = fc.record<History>({
  count: fc.nat({ max: 9 }),
  gives: fc.integer({ min: 1, max: 5 }),
  skipsByLimit: fc.boolean(),
  limit: fc.integer({ min: 1, max: 6 }),
  maxPasses: fc.integer({ min: 2, max: 6 }),
  changes,
  forEver: fc.boolean(),
  canBeRead: fc.boolean(),
  repeatsLast: fc.constantFrom(undefined, undefined, 'silently', 'by its number'),
});

/** The result of a pull, with the invoices that were due at every moment from its first request to its last. */
interface Found {
  verdict: Exclude<PassVerdict, { kind: 'more' }>;
  met: Set<string>;
  moments: Set<string>[];
  requests: number;
}

class Teller {
  readonly list: ChangingList;
  #at = 0;

  constructor(
    readonly told: History,
    readonly states: readonly string[],
  ) {
    this.list = new ChangingList(told.count, states);
  }

  /** The changes before the next request. */
  between(): void {
    const { changes: all, forEver } = this.told;
    const now = all.length === 0 ? [] : (all[forEver ? this.#at % all.length : this.#at] ?? []);
    this.#at++;
    for (const change of now) this.list.change(change);
  }

  #page(state: string, page: number, skips: number, size: number) {
    const { counts, repeatsLast } = this.told;
    const all = this.list.page(state, 0, 0).total;
    const last = Math.max(0, Math.ceil(all / skips) - 1);
    const given = repeatsLast ? Math.min(page, last) : page;
    const { numbers } = this.list.page(state, given * skips, size);
    const total = counts === 'page' ? numbers.length : Math.min(all, counts ?? all);
    return { numbers, total, isAnotherPage: repeatsLast === 'by its number' && given !== page };
  }

  pull(): Found {
    const { told, states, list } = this;
    let state = beginPasses(states.length, told.limit);
    const staged = new Map<string, { first: number; last: number }>();
    let requests = 0;
    for (;;) {
      this.between();
      if (requests++ === 0) list.begin();
      const name = states[state.list] as string;
      const size = Math.min(told.gives, state.limit);
      const { numbers, total, isAnotherPage } = this.#page(
        name,
        state.page,
        told.skipsByLimit ? state.limit : size,
        size,
      );
      const counts = { fresh: 0, again: 0 };
      for (const number of numbers) {
        const known = staged.get(`${name} ${number}`);
        if (known?.last !== state.pass) counts.fresh++;
        if (known && known.last < state.pass) counts.again++;
        staged.set(`${name} ${number}`, { first: known?.first ?? state.pass, last: state.pass });
      }
      const seen = { rows: numbers.length, ...counts, total, isAnotherPage };
      const after = afterPage(state, seen, told.maxPasses);
      state = after.state;
      const { verdict } = after;
      if (verdict.kind === 'more') continue;
      const met = [...staged].filter(([, { last }]) => verdict.kind === 'unproven' || last === state.pass);
      return {
        verdict,
        met: new Set(met.map(([key]) => key.split(' ')[1] as string)),
        moments: list.moments.slice(),
        requests,
      };
    }
  }
}

/** The list after a pull without a proof: own reads alone take something off. */
function afterUnproven(
  teller: Teller,
  { canBeRead }: History,
  before: ReadonlySet<string>,
  met: ReadonlySet<string>,
): Set<string> {
  const listed = new Set([...before, ...met]);
  for (const number of canBeRead ? [...listed].filter((one) => !met.has(one)) : []) {
    teller.between();
    if (!teller.list.is(number)) listed.delete(number);
  }
  for (const number of before)
    if (!listed.has(number) && teller.list.is(number)) throw new Error(`${number} is due and was taken off`);
  return listed;
}

/** Forgets invoices that are listed no more. @throws when one has outlived three pulls that could have asked for it */
function refuseOutlived(outlived: Map<string, number>, listed: ReadonlySet<string>, { canBeRead }: History): void {
  for (const [number, pulls] of outlived) {
    if (!listed.has(number)) outlived.delete(number);
    else if (canBeRead && pulls >= 3) throw new Error(`${number} has left, and is listed after ${pulls} pulls`);
  }
}

describe('reading a list that changes', () => {
  const check = (run: (told: History) => void) => fc.assert(fc.property(history, run), { numRuns });
  const tally = { proven: 0, unproven: 0 };

  it('proves only what was the list of one moment, takes off nothing without a proof of its own, and ends', function () {
    this.timeout(60_000 + numRuns * 5);
    check((told) => {
      const teller = new Teller(told, ['unpaid']);
      let listed = new Set<string>();
      /** The number of pulls that each invoice has outlived, if it left before they began. */
      const outlived = new Map<string, number>();
      for (let pull = 1; pull <= 4; pull++) {
        const dueBefore = teller.list.due;
        for (const number of listed) if (!dueBefore.has(number)) outlived.set(number, (outlived.get(number) ?? 0) + 1);
        const { verdict, met, moments, requests } = teller.pull();
        expect(requests).to.be.below(told.maxPasses * 150);
        tally[verdict.kind]++;
        if (verdict.kind === 'unproven') expect(verdict.reason.code).not.to.equal('total_too_small');
        if (verdict.kind === 'proven') {
          if (!moments.some((due) => isSame(due, met))) throw new Error(`${[...met]} was the list at no moment`);
          listed = met;
        } else {
          listed = afterUnproven(teller, told, listed, met);
        }
        refuseOutlived(outlived, listed, told);
      }
    });
    // A suite in which one of the two hardly comes about shows little.
    expect(Math.min(tally.proven, tally.unproven), JSON.stringify(tally)).to.be.above(numRuns / 10);
  });

  it('proves a list that holds still in two readings, however the service cuts its pages', () => {
    const still = fc.record({
      count: fc.nat({ max: 30 }),
      gives: fc.integer({ min: 1, max: 9 }),
      limit: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(still, (told) => {
        const more = { maxPasses: 2, changes: [], forEver: false, canBeRead: false, skipsByLimit: false };
        const teller = new Teller({ ...told, ...more }, ['unpaid']);
        const { verdict, met } = teller.pull();
        expect(verdict.kind).to.equal('proven');
        expect(isSame(met, teller.list.due)).to.equal(true);
      }),
    );
  });

  it('proves no list by a total that is capped, or that of one page, unless it met all of it', () => {
    const still = fc
      .record({
        count: fc.nat({ max: 30 }),
        gives: fc.integer({ min: 1, max: 9 }),
        limit: fc.integer({ min: 1, max: 12 }),
        maxPasses: fc.integer({ min: 2, max: 6 }),
        skipsByLimit: fc.boolean(),
        repeatsLast: fc.constantFrom(undefined, 'silently' as const, 'by its number' as const),
        counts: fc.oneof(fc.constant('page' as const), fc.nat({ max: 30 })),
      })
      // Nothing tells a single page that is shorter than was asked for from a whole list.
      .filter(({ gives, limit, counts }) => gives >= limit || (counts !== 'page' && counts > gives));
    const tally = { proven: 0, small: 0 };
    fc.assert(
      fc.property(still, (told) => {
        const teller = new Teller({ ...told, changes: [], forEver: false, canBeRead: false }, ['unpaid', 'overdue']);
        const { verdict, met } = teller.pull();
        if (verdict.kind === 'unproven') tally.small += Number(verdict.reason.code === 'total_too_small');
        else {
          tally.proven++;
          expect(isSame(met, teller.list.due)).to.equal(true);
        }
      }),
      { numRuns },
    );
    expect(Math.min(tally.proven, tally.small), JSON.stringify(tally)).to.be.above(numRuns / 10);
  });

  it('learns what a service gives that skips what it was asked for', () => {
    const more = { maxPasses: 3, changes: [], forEver: false, canBeRead: false, skipsByLimit: true };
    const teller = new Teller({ count: 30, gives: 4, limit: 12, ...more }, ['unpaid']);
    const { verdict, met } = teller.pull();
    expect(verdict.kind).to.equal('proven');
    expect(met.size).to.equal(30);
  });

  it('of several states lists nothing that was not due, and misses only what came and left while it read', function () {
    this.timeout(60_000 + numRuns * 5);
    let proven = 0;
    check((told) => {
      const teller = new Teller(told, ['unpaid', 'overdue', 'dunned']);
      const { verdict, met, moments } = teller.pull();
      if (verdict.kind !== 'proven') return;
      proven++;
      const passing = (number: string) => !moments[0]?.has(number) && !moments.at(-1)?.has(number);
      const fits = (due: Set<string>) =>
        [...met].every((number) => due.has(number)) && [...due].every((number) => met.has(number) || passing(number));
      if (!moments.some(fits)) throw new Error(`${[...met]} fits no moment`);
    });
    expect(proven).to.be.above(numRuns / 10);
  });
});
