import { expect } from 'chai';
import { decideChanges } from '../../../../src/operator/setup/probe/decide-changes.js';
import { decidePages, pagePlaces, pageSizes } from '../../../../src/operator/setup/probe/decide-pages.js';
import type { ChangeTrial, Evidence } from '../../../../src/operator/setup/probe/evidence.js';
import { answered } from './evidence-of.js';

const page = (numbers: readonly number[], total = 40) => answered(200, { data: numbers.map((no) => ({ no })), total });
const no = answered(400, { message: 'No' });

describe('what a probe finds out about pages', () => {
  const first = (zero: Evidence, one: Evidence, zeroAgain = zero) =>
    decidePages({ zero, one, zeroAgain, sizes: [] })[0]?.settings['invoices.paging.firstPage'];
  const cases: [string, number | undefined, number | undefined][] = [
    ['page 0 is refused', first(no, page([1])), 1],
    ['page 0 is empty', first(page([]), page([1])), 1],
    ['page 0 is page 1', first(page([1]), page([1])), 1],
    ['page 1 holds another', first(page([1]), page([2])), 0],
    ['there is one alone, on page 0', first(page([1], 1), page([], 1)), 0],
    ['the list is empty', first(page([], 0), page([], 0)), undefined],
    ['the list moved meanwhile', first(page([1]), page([2]), page([3])), undefined],
    ['nothing can be read', first(no, no), undefined],
  ] as [string, number | undefined, number | undefined][];
  for (const [name, found, expected] of cases)
    it(`the first page, where ${name}: ${expected ?? 'to be asked'}`, () => {
      expect(found).to.equal(expected);
    });

  const sizes = (...asked: [number, Evidence][]) => pageSizes(asked.map(([limit, got]) => ({ limit, page: got })));
  const many = (count: number, total: number) =>
    page(
      Array.from({ length: count }, (_, n) => n),
      total,
    );

  it('a page that is cut shows the largest', () => {
    expect(sizes([10_000, many(7, 40)]).given).to.equal(7);
  });

  it('a list that fits on one page shows nothing', () => {
    expect(sizes([10_000, many(40, 40)])).to.deep.equal({ taken: 10_000, refused: null, given: null });
  });

  it('refusals bound it from above, and pages from below', () => {
    expect(sizes([10_000, no], [5_000, no], [100, many(40, 40)])).to.deep.equal({
      taken: 100,
      refused: 5_000,
      given: null,
    });
  });

  it('the longest list is that of the invoices, and a total is a number by its name', () => {
    const body = { warnings: [], result: { rows: [{ no: 1 }], count: 7, page: 2, version: 3 } };
    expect(pagePlaces(body)).to.deep.equal({ invoices: 'result.rows', total: 'result.count', page: 'result.page' });
    expect(pagePlaces({ error: 'x' })).to.equal(null);
  });

  it('a name that means all comes before one that may mean those on the page, wherever it stands', () => {
    const total = (more: object) => pagePlaces({ ...more, data: [] })?.total;
    expect(total({ count: 100, total: 250, page: 1 })).to.equal('total');
    expect(total({ count: 100, meta: { total_count: 250 } })).to.equal('meta.total_count');
    expect(total({ count: 100, totalItems: 250 })).to.equal('totalItems');
    expect(total({ count: 100, page: 1 })).to.equal('count');
  });

  /** The field of the total, by a list of so many invoices whose pages hold at most 50. */
  const totalField = (all: number, counts: (rows: number) => object) => {
    const at = (number: number, limit: number) => {
      const rows = Array.from({ length: all }, (_, no) => ({ no })).slice((number - 1) * limit, number * limit);
      return answered(200, { ...counts(rows.length), data: rows });
    };
    const sizes = [{ limit: 10_000, page: at(1, 50) }];
    const finding = decidePages({ zero: no, one: at(1, 1), zeroAgain: no, sizes, second: at(2, 50) })[2];
    const asked = finding?.ask ?? null;
    const field = finding?.settings['invoices.paging.fields.total'] ?? null;
    expect(asked === null, 'is either found or asked for').to.equal(field !== null);
    return field;
  };

  it('a number that counts the rows of a page, or less than were seen, is no total', () => {
    for (const all of [2, 50, 80]) {
      expect(totalField(all, (rows) => ({ count: rows }))).to.equal(null);
      expect(totalField(all, (rows) => ({ total: rows }))).to.equal(null);
      expect(totalField(all, (rows) => ({ total: rows, count: all }))).to.equal('count');
      expect(totalField(all, () => ({ count: all }))).to.equal('count');
    }
    expect(totalField(80, () => ({ total: 60 }))).to.equal(null);
    // One invoice alone tells nothing.
    expect(totalField(1, (rows) => ({ total: rows }))).to.equal('total');
  });

  it('a page that is as long whatever is asked for is told from a list by the one behind it', () => {
    const half = (from: number) => answered(200, { count: 2, data: [{ no: from }, { no: from + 1 }] });
    const pages = { zero: no, one: half(1), zeroAgain: no, sizes: [{ limit: 10_000, page: half(1) }] };
    const field = (second: Evidence) => decidePages({ ...pages, second })[2]?.settings['invoices.paging.fields.total'];
    expect(field(half(3))).to.equal(undefined);
    for (const end of [half(1), answered(200, { count: 0, data: [] }), answered(404, '')])
      expect(field(end)).to.equal('count');
  });
});

describe('what a probe finds out about changes', () => {
  const order = (note: string, more: object = { customer_code: 'P-1' }) => answered(200, { data: { ...more, note } });
  const method = (trial: Pick<ChangeTrial, 'patch' | 'put'>) => {
    const changes = [{ entity: 'order', changed: 'new', kept: 'P-1', ...trial } as const];
    const base = { own: [], trials: [], atOnce: [], reads: [], removals: [], throttled: [] };
    const [finding] = decideChanges({ ...base, changes });
    return finding?.settings['service.endpoints.updateOrder.method'];
  };
  const done = answered(200, {});

  it('PATCH where it keeps the other fields', () => {
    expect(method({ patch: { done, read: order('new') } })).to.equal('PATCH');
  });

  it('PUT where PATCH is refused, clears other fields, or can not be seen through', () => {
    const put = { done, read: order('new') };
    expect(method({ patch: { done: answered(405, '') }, put })).to.equal('PUT');
    expect(method({ patch: { done, read: order('new', {}) }, put })).to.equal('PUT');
    expect(method({ patch: { done, read: answered(404, '') }, put })).to.equal('PUT');
  });

  it('nothing where PATCH was taken and did nothing, and PUT is refused', () => {
    expect(method({ patch: { done, read: order('old') }, put: { done: answered(405, '') } })).to.equal(undefined);
  });
});
