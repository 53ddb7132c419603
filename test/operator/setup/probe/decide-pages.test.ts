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
