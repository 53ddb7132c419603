import { expect } from 'chai';
import fc from 'fast-check';
import { readInvoicePage } from '../../../src/inbound/invoices/invoice-page.js';
import { afterPage, beginPasses } from '../../../src/inbound/invoices/list-proof.js';
import { isWorthAnAlert, setAsideSharedNumbers } from '../../../src/inbound/invoices/set-aside.js';
import { clearStaging, endGroup, stagePage } from '../../../src/inbound/invoices/staging.js';
import { swapInvoices } from '../../../src/inbound/invoices/swap-invoices.js';
import { Unusable } from '../../../src/model/verdict.js';
import { openAlerts } from '../../../src/store/alerts.js';
import { tell, tellWhole } from '../../../src/words/words.js';
import { type HistoryStore, openHistoryStore } from '../../histories/history-store.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';
import { said, toldRows } from '../../support/told-rows.js';

const dated = { due_date: '2026-12-01' };

interface ServiceRow {
  invoice_no: string;
  customer_code: string;
  amount: number;
  due_date: string;
  status: string;
}

/** Lists whose numbers may be shared, as a service would have them: each row stands in one state. */
const serviceRows = fc.array(
  fc.record<ServiceRow>({
    invoice_no: fc.constantFrom('1', '2', '3', '4'),
    customer_code: fc.constantFrom('K1', 'K1', 'K2'),
    amount: fc.constantFrom(500, 700, -700),
    due_date: fc.constantFrom('2026-12-01', '2027-01-01'),
    status: fc.constantFrom('unpaid', 'overdue'),
  }),
  { maxLength: 9 },
);

const content = ({ invoice_no, customer_code, amount, due_date }: ServiceRow) =>
  JSON.stringify([invoice_no, customer_code, amount, due_date]);

describe('invoices that share a number', function () {
  this.timeout(120_000);
  let store: HistoryStore;
  before(async () => {
    store = await openHistoryStore();
  });
  after(() => store.store.close());

  it('are set aside in whatever order and on whatever pages they come, and all others are listed as the service has them', () =>
    fc.assert(
      fc.asyncProperty(serviceRows, fc.integer({ min: 1, max: 4 }), async (given, size) => {
        // A service does not list one invoice twice.
        const rows = [...new Map(given.map((row) => [`${content(row)}${row.status}`, row])).values()];
        const states = ['unpaid', 'overdue'];
        let state = beginPasses(states.length, size);
        await store.store.transaction('pull', async (tx) => {
          await tx.run('DELETE FROM invoice');
          await tx.run('DELETE FROM invoice_malformed');
          await clearStaging(tx);
          for (;;) {
            const status = states[state.list] as string;
            const all = rows.filter((row) => row.status === status);
            const data = all.slice(state.page * size, (state.page + 1) * size);
            const terms = {
              fields: { invoices: 'data', total: 'total', page: 'page' },
              currency: 'EUR',
              customer: null,
            };
            const page = readInvoicePage({ data, total: all.length }, terms);
            if (page instanceof Unusable) throw new Error(tell(page.problem));
            const counts = await stagePage(tx, { customer: null, state: status }, state.pass, page.rows);
            const seen = { rows: data.length, ...counts, total: all.length, isAnotherPage: false };
            const after = afterPage(state, seen, 5);
            state = after.state;
            if (after.verdict.kind === 'more') continue;
            expect(after.verdict.kind).to.equal('proven');
            await endGroup(tx, null, state.pass);
            await setAsideSharedNumbers(tx);
            await swapInvoices(tx, 1);
            break;
          }
        });
        const ofNumber = (number: string) => new Set(rows.filter((row) => row.invoice_no === number).map(content));
        const numbers = [...new Set(rows.map((row) => row.invoice_no))].sort();
        const listed = store.rows<ServiceRow>(
          'SELECT invoice_no, customer_code, amount, due_date, status FROM invoice ORDER BY invoice_no',
        );
        expect(listed.map(content)).to.deep.equal(
          numbers.flatMap((number) => (ofNumber(number).size === 1 ? [...ofNumber(number)] : [])),
        );
        const aside = store.rows<{ invoice_no: string }>(
          'SELECT DISTINCT invoice_no FROM invoice_malformed ORDER BY 1',
        );
        expect(aside.map((row) => row.invoice_no)).to.deep.equal(numbers.filter((number) => ofNumber(number).size > 1));
      }),
      { numRuns: 300 },
    ));
});

describe('rows that are set aside', () => {
  it('are told of from the first that is listed on, and of others where they are more than one in twenty', () => {
    for (const [aside, understood, known, expected] of [
      [0, 0, 0, false],
      [0, 100, 0, false],
      [1, 0, 0, true],
      [1, 19, 0, false],
      [1, 18, 0, true],
      [1, 100_000, 1, true],
      [5_000, 100_000, 0, false],
    ] as const)
      expect(isWorthAnAlert({ aside, understood, known }), `${aside} ${understood} ${known}`).to.equal(expected);
  });
});

onAnyLab('a list of which rows are set aside', (kit) => {
  const start = async () =>
    kit.start({ customers: 1, orders: 1, settings: { invoices: { states: ['unpaid', 'overdue'] } } });
  const show = (lab: Awaited<ReturnType<typeof start>>, unpaid: object[], overdue: object[] = []) =>
    lab.sandbox.setFaults(
      Object.entries({ unpaid, overdue }).map(([status, rows]) => ({
        kind: 'status' as const,
        status: 200,
        body: { data: rows.map((row) => ({ ...dated, status, ...row })), total: rows.length, page: 1 },
        match: { path: { regex: `status=${status}` } },
      })),
    );
  const alerts = async () =>
    (await kit.store.read('look', openAlerts)).map(({ cause, message }) => `${cause}: ${tellWhole(message)}`);
  const listed = async () =>
    (await kit.rows('SELECT invoice_no, amount FROM invoice WHERE unlisted_at IS NULL ORDER BY invoice_no')).map(
      (row) => [row.invoice_no, row.amount],
    );
  const reasons = async () =>
    toldRows(
      await kit.rows('SELECT invoice_no, reason_code, reason_data FROM invoice_malformed ORDER BY list_state, row_key'),
    ).map((row) => `${row.invoice_no}: ${row.reason}`);
  const fine = { invoice_no: 'B', customer_code: 'K1', amount: 100 };

  it('keeps the number of two customers apart, on one page and in two states, and names it', async () => {
    const ofTwo = [
      { invoice_no: '1', customer_code: 'K1', amount: 50_000 },
      { invoice_no: '1', customer_code: 'K2', amount: 700 },
    ] as const;
    for (const [unpaid, overdue] of [
      [[...ofTwo, fine], []],
      [[ofTwo[0], fine], [ofTwo[1]]],
    ] as const) {
      const lab = await start();
      show(lab, [...unpaid], [...overdue]);
      expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 1, malformed: 2 });
      expect(await listed()).to.deep.equal([['B', 100]]);
      expect(new Set(await reasons())).to.deep.equal(
        new Set(['1: invoice_no: the service lists invoices of K1 and K2 with this number']),
      );
      expect(await alerts()).to.have.length(1);
    }
  });

  it('keeps two instalments of one number apart, and a known invoice as it was', async () => {
    const lab = await start();
    show(lab, [{ ...fine, invoice_no: 'T', amount: 5_000 }, fine]);
    await lab.pull();
    expect(await alerts()).to.deep.equal([]);
    const second = { ...fine, invoice_no: 'T', amount: 7_000, due_date: '2027-01-01' };
    show(lab, [{ ...fine, invoice_no: 'T', amount: 5_000 }, second, fine]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 1, malformed: 2, unlisted: 0 });
    expect(await listed()).to.deep.equal([
      ['B', 100],
      ['T', 5_000],
    ]);
    expect(await alerts()).to.have.length(1);
  });

  it('tells a person when known invoices are not understood any more, and ends that when they are', async () => {
    const lab = await start();
    const rows = ['A', 'B', 'C'].map((no) => ({ ...fine, invoice_no: no }));
    show(lab, rows);
    await lab.pull();
    show(
      lab,
      rows.map((row) => ({ ...row, amount: '901' })),
    );
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 0, malformed: 3, unlisted: 0 });
    expect(await alerts()).to.deep.equal([
      "invoices.set_aside: 3 of 3 invoices on the service's list are invalid and not listed here, such as A: amount: is no whole number of the smallest unit. 3 listed invoices keep their older values. See them with `waybill invoices --malformed`, and have them corrected at the service.",
    ]);
    show(lab, rows);
    await lab.pull();
    expect(await alerts()).to.deep.equal([]);
  });

  it('takes nothing off by a list whose rows have no number', async () => {
    const lab = await start();
    show(lab, [fine]);
    await lab.pull();
    const { invoice_no: number, ...nameless } = fine;
    show(lab, [{ ...nameless, number }]);
    const result = await lab.pull();
    expect(result).to.deep.include({ outcome: 'unproven', unlisted: 0 });
    expect(said(result.reason)).to.match(/^1 row has no invoice number, /);
    expect(await listed()).to.deep.equal([['B', 100]]);
    expect(await alerts()).to.have.length(1);
  });

  it('lists and takes off nothing by a row that names another currency', async () => {
    const lab = await start();
    show(lab, [fine, { ...fine, invoice_no: 'Y', currency: 'JPY' }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unpaid: 1, malformed: 1 });
    expect(await listed()).to.deep.equal([['B', 100]]);
    expect(await reasons()).to.deep.equal(['Y: currency: JPY, and amounts.currency is EUR']);
  });
});
