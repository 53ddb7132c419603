import { expect } from 'chai';
import {
  afterPage,
  beginPasses,
  type PageSeen,
  type PassState,
  type PassVerdict,
} from '../../../src/inbound/invoices/list-proof.js';
import { tellWhole } from '../../../src/words/words.js';

describe('the proof of a list', () => {
  /** Reads pages of the given numbers, each with the total that the service says on it, and whether it is another page. */
  function read(pages: [string[], number | null, boolean?][], maxPasses = 5, limit = 10) {
    let state: PassState = beginPasses(1, limit);
    let verdict: PassVerdict = { kind: 'more' };
    const met = new Map<string, number>();
    for (const [index, [numbers, total, isAnotherPage = false]] of pages.entries()) {
      if (verdict.kind !== 'more') throw new Error(`It ended before page ${index + 1}.`);
      const seen: PageSeen = { rows: numbers.length, fresh: 0, again: 0, total, isAnotherPage };
      for (const number of new Set(numbers)) {
        const last = met.get(number);
        if (last !== state.pass) seen.fresh++;
        if (last !== undefined && last < state.pass) seen.again++;
        met.set(number, state.pass);
      }
      ({ state, verdict } = afterPage(state, seen, maxPasses));
    }
    return { state, verdict };
  }

  it('is given up at once where the service names more than there is room for, also when the total only grows to that', () => {
    const reasonOf = (pages: [number, number][], room: number) => {
      let state = beginPasses(2, 100);
      for (const [rows, total] of pages) {
        const after = afterPage(state, { rows, fresh: rows, again: 0, total, isAnotherPage: false }, 5, room);
        if (after.verdict.kind === 'unproven') return tellWhole(after.verdict.reason);
        state = after.state;
      }
      return null;
    };
    expect(reasonOf([[10, 9e15]], 100))
      .to.contain('9000000000000000 invoices')
      .and.to.contain('room for 100')
      .and.to.contain('invoices.maxListed');
    expect(
      reasonOf(
        [
          [10, 20],
          [10, 101],
        ],
        100,
      ),
    ).to.contain('101 invoices');
    // Both lists of the group.
    expect(
      reasonOf(
        [
          [60, 60],
          [41, 41],
        ],
        100,
      ),
    ).to.contain('101 invoices');
    expect(
      reasonOf(
        [
          [60, 60],
          [40, 40],
        ],
        100,
      ),
    ).to.equal(null);
  });

  it('is two readings that met the same, as many as the service says', () => {
    const twice: [string[], number][] = [
      [['a', 'b'], 3],
      [['c'], 3],
      [['c', 'a'], 3],
      [['b'], 3],
    ];
    expect(read(twice).verdict).to.deep.equal({ kind: 'proven' });
    expect(read(twice.slice(0, 3)).verdict.kind).to.equal('more');
  });

  it('is no single reading, though it met as many as the service says: one was paid, one was added, one never met', () => {
    // b is paid and d added before the second page, and the others move up: c is met by nobody.
    const once: [string[], number][] = [
      [['a', 'b'], 4],
      [['d', 'e'], 4],
    ];
    expect(read(once).verdict.kind).to.equal('more');
  });

  it('takes the total at the turn, not the one at the end', () => {
    // y is there all the time and always moves away. In the end a is paid: two are left, and two were met, twice the same.
    const pages: [string[], number][] = [
      [['a'], 3],
      [['b'], 3],
      [[], 3],
      [[], 3],
      [['a'], 3],
      [['b'], 3],
      [[], 2],
    ];
    const { verdict, state } = read(pages);
    expect(verdict.kind).to.equal('more');
    expect(state.pass).to.equal(3);
  });

  it('leaves out what an earlier reading met that had left before the turn', () => {
    const pages: [string[], number][] = [
      [['a', 'b'], 2],
      [['b'], 1],
      [['b'], 1],
    ];
    expect(read(pages).verdict).to.deep.equal({ kind: 'proven' });
  });

  it('is not given by what nobody met before, although the totals agree', () => {
    const pages: [string[], number][] = [
      [['a', 'b'], 2],
      [['a', 'c'], 2],
    ];
    expect(read(pages, 2).verdict).to.deep.equal({
      kind: 'unproven',
      reason: { code: 'list_kept_changing', readings: 2, doubt: { code: 'invoices_came', count: 1 } },
    });
  });

  it('says what was wrong in the last reading', () => {
    const reason = (pages: [string[], number][]) => {
      const { verdict } = read(pages, 2);
      return 'reason' in verdict ? tellWhole(verdict.reason).replace(/^.*in the last one /, '') : verdict.kind;
    };
    expect(
      reason([
        [['a'], 1],
        [['a'], 2],
        [['b'], 2],
        [[], 2],
      ]),
    ).to.equal('the total went from 1 to 2');
    expect(
      reason([
        [['a'], 2],
        [[], 2],
        [[], 2],
        [['a'], 2],
        [[], 2],
        [[], 2],
      ]),
    ).to.equal(
      '1 of 2 were met, the same in the last two readings, and the pages do not cover the list. Check ' +
        'invoices.paging.firstPage, invoices.paging.page and invoices.paging.limit.',
    );
  });

  it('takes a page twice, and one that is short or empty, for no end', () => {
    const pages: [string[], number][] = [
      [['a', 'b'], 5],
      [['a', 'b'], 5],
      [['c'], 5],
      [[], 5],
      [['d', 'e'], 5],
      [[], 5],
    ];
    expect(read(pages).state).to.deep.include({ pass: 2, page: 0 });
  });

  it('looks behind a last page that is full, and takes nothing there for the end: an empty page, none, another, or a repetition', () => {
    const full: [string[], number] = [['a', 'b'], 2];
    const behind: [string[], number | null, boolean?][] = [
      [[], 2],
      [[], null],
      [['a', 'b'], 2],
      [['c', 'd'], 2, true],
    ];
    for (const one of behind) {
      expect(read([full], 5, 2).verdict.kind, 'one page alone').to.equal('more');
      const { state } = read([full, one], 5, 2);
      expect(state, JSON.stringify(one)).to.deep.include({ pass: 2, page: 0, hasStrayed: false, hasRepeated: false });
      if (!one[2]) expect(read([full, one, full, one], 5, 2).verdict).to.deep.equal({ kind: 'proven' });
    }
  });

  it('looks behind no page that is shorter than was asked for and than those before it, nor behind an empty list', () => {
    const short: [string[], number][] = [
      [['a', 'b'], 3],
      [['c'], 3],
    ];
    expect(read([...short, ...short]).verdict).to.deep.equal({ kind: 'proven' });
    const empty: [string[], number] = [[], 0];
    expect(read([empty, empty], 5, 1).verdict).to.deep.equal({ kind: 'proven' });
  });

  it('reads on where the list grew behind a full page, and proves what it grew to', () => {
    const grown: [string[], number][] = [
      [['a', 'b'], 3],
      [['c'], 3],
    ];
    const { verdict } = read([[['a', 'b'], 2], grown[1] as [string[], number], ...grown], 5, 2);
    expect(verdict).to.deep.equal({ kind: 'proven' });
  });

  const cases: [string, [string[], number][], number][] = [
    [
      'that of one page',
      [
        [['a', 'b'], 2],
        [['c', 'd'], 2],
        [['e'], 1],
      ],
      2,
    ],
    [
      'capped',
      [
        [['a', 'b'], 4],
        [['c', 'd'], 4],
        [['e'], 4],
      ],
      3,
    ],
  ];
  for (const [what, pages, ends] of cases)
    it(`is not given by a total that is ${what}, and the second reading names the setting`, () => {
      const { verdict, state } = read([...pages, ...pages.slice(0, ends)], 5, 2);
      expect(state).to.deep.include({ pass: 2, page: ends });
      if (verdict.kind !== 'unproven') throw new Error(verdict.kind);
      expect(tellWhole(verdict.reason))
        .to.match(/^the service says that there are \d invoices, and \d were met in two readings: the total is smaller/)
        .and.to.contain('Check that invoices.paging.fields.total names the number of all invoices');
    });

  it('takes no total for capped because invoices are paid while it reads', () => {
    const pages: [string[], number][] = [
      [['a', 'b'], 4],
      [['c', 'd'], 4],
      [[], 4],
      [['a', 'b'], 4],
      // a is paid.
      [['d'], 3],
      [['b', 'c'], 3],
      [['d'], 3],
    ];
    expect(read(pages, 5, 2).verdict).to.deep.equal({ kind: 'proven' });
  });

  it('goes on with a state that an older version stored between two pages', () => {
    const stored = JSON.parse(JSON.stringify({ ...beginPasses(1, 2), page: 1, rows: 2, largest: 2 })) as PassState;
    Object.assign(stored.lists[0] as object, { met: 2, totalFirst: 4, totalLast: 4 });
    const after = afterPage(stored, { rows: 2, fresh: 2, again: 0, total: 4, isAnotherPage: false }, 5);
    expect(after.state).to.deep.include({ pass: 1, page: 2 });
    const ended = afterPage(after.state, { rows: 0, fresh: 0, again: 0, total: null, isAnotherPage: false }, 5);
    expect(ended.state).to.deep.include({ pass: 2, page: 0 });
  });

  it('ends a list after two pages without anything new, at a page beyond its end, and when it grows faster than it is read', () => {
    expect(
      read([
        [['a'], 9],
        [['a'], 9],
        [[], 9],
      ]).state.pass,
    ).to.equal(2);
    expect(
      read([
        [['a'], 9],
        [[], null],
      ]).state.pass,
    ).to.equal(2);
    // However small the list was when the pull began: what counts is the first page of the reading itself.
    const later: [string[], number][] = [
      [['a'], 1],
      [[], 1],
    ];
    const grown = [
      ...Array.from({ length: 30 }, (_, i): [string[], number] => [[`n${i}`], 30]),
      [[], 30] as [string[], number],
    ];
    expect(read([...later, ...grown, ...grown], 5, 1).verdict).to.deep.equal({ kind: 'proven' });
    const growing = Array.from({ length: 22 }, (_, i): [string[], number] => [[`n${i}`], 1 + 2 * i]).slice(1);
    expect(read(growing, 5, 1).state.pass).to.equal(2);
  });
});
