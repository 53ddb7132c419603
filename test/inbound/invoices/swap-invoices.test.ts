import { expect } from 'chai';
import { announcedInvoice, applyOwnRead } from '../../../src/inbound/invoices/apply-own-read.js';
import type { PageRow } from '../../../src/inbound/invoices/invoice-page.js';
import {
  listInvoices,
  listLeftInvoices,
  listMalformedInvoices,
  sumListed,
} from '../../../src/inbound/invoices/list-invoices.js';
import type { OwnRead } from '../../../src/inbound/invoices/own-read.js';
import { missedInvoices } from '../../../src/inbound/invoices/own-read.js';
import { clearStaging, endGroup, stageOwnRead, stagePage } from '../../../src/inbound/invoices/staging.js';
import { noteNewStates, swapInvoices } from '../../../src/inbound/invoices/swap-invoices.js';
import { outside } from '../../../src/model/outside.js';
import type { Invoice } from '../../../src/model/record.js';
import { tell } from '../../../src/words/words.js';
import { onEveryStore } from '../../store/stores.js';

const noAmount = { code: 'unusable_invoice_field', place: 'amount', problem: outside('no') } as const;

onEveryStore('the invoice list', (kit) => {
  const invoice = (no: string, more: Partial<Invoice> = {}): Invoice => ({
    invoice_no: no,
    customer_code: 'K1',
    amount: 100,
    due_date: '2026-12-01',
    status: 'unpaid',
    ...more,
  });
  const row = (one: Invoice): PageRow => ({ key: `=${one.invoice_no}`, invoice: one });
  const unpaid = { customer: null, state: 'unpaid' };
  const inStore = <T>(work: Parameters<typeof kit.store.transaction<T>>[1]) => kit.store.transaction('pull', work);
  /** Stages one page and swaps it in. */
  const swapRows = (rows: PageRow[], nowMs: number, isProven = true) =>
    inStore(async (tx) => {
      await stagePage(tx, unpaid, 1, rows);
      await endGroup(tx, null, isProven ? 1 : null);
      const counts = await swapInvoices(tx, nowMs);
      await clearStaging(tx);
      return counts;
    });
  const swap = (invoices: Invoice[], nowMs: number, isProven = true) => swapRows(invoices.map(row), nowMs, isProven);
  const rows = () => kit.rows('SELECT * FROM invoice ORDER BY invoice_no');
  const listed = async () => (await rows()).filter((one) => one.unlisted_at === null).map((one) => one.invoice_no);
  const kept = { unlisted_at: null, missed_at: null, left_status: null, drop_held_at: null };

  it('takes what is new, changes what differs, and writes nothing else', async () => {
    const none = { added: 0, changed: 0, unlisted: 0, missed: 0 };
    expect(await swap([invoice('a'), invoice('b'), invoice('c')], 1)).to.deep.equal({ ...none, added: 3 });
    expect(await swap([invoice('a'), invoice('b'), invoice('c')], 2)).to.deep.equal(none);
    expect((await rows()).map((one) => one.last_listed_at)).to.deep.equal([1, 1, 1]);
    const changed = [
      invoice('a', { amount: 50 }),
      invoice('b', { due_date: '2027-01-01' }),
      invoice('c', { status: 'overdue' }),
    ];
    expect(await swap([...changed, invoice('d')], 3)).to.deep.equal({ ...none, added: 1, changed: 3 });
    const { customer_code: _, ...anonymous } = invoice('d');
    expect(await swap([...changed, anonymous], 4)).to.deep.equal({ ...none, changed: 1 });
    expect(await rows()).to.deep.equal([
      { ...changed[0], first_listed_at: 1, last_listed_at: 3, ...kept },
      { ...changed[1], first_listed_at: 1, last_listed_at: 3, ...kept },
      { ...changed[2], first_listed_at: 1, last_listed_at: 3, ...kept },
      { ...invoice('d'), customer_code: null, first_listed_at: 3, last_listed_at: 4, ...kept },
    ]);
  });

  it('keeps what is no longer listed with the time it left, and takes it back when it returns', async () => {
    await swap([invoice('a'), invoice('b')], 1);
    expect(await swap([invoice('b')], 2)).to.deep.include({ unlisted: 1, missed: 0 });
    expect(await swap([invoice('b')], 3)).to.deep.include({ unlisted: 0 });
    expect((await rows())[0]).to.deep.include({ invoice_no: 'a', unlisted_at: 2, left_status: null, status: 'unpaid' });
    expect(await swap([invoice('a'), invoice('b')], 4)).to.deep.include({ changed: 1 });
    expect((await rows())[0]).to.deep.include({ invoice_no: 'a', unlisted_at: null, first_listed_at: 1 });
    expect(await swap([], 5)).to.deep.include({ unlisted: 2 });
  });

  it('takes nothing off without proof, remembers since when it is missed, and forgets that when it is met', async () => {
    await swap([invoice('a'), invoice('b')], 1);
    expect(await swap([invoice('b'), invoice('c')], 2, false)).to.deep.equal({
      added: 1,
      changed: 0,
      unlisted: 0,
      missed: 1,
    });
    expect(await swap([invoice('b')], 3, false)).to.deep.include({ unlisted: 0, missed: 2 });
    expect((await rows()).map((one) => one.missed_at)).to.deep.equal([2, null, 3]);
    expect(await inStore((tx) => missedInvoices(tx, 10))).to.deep.equal(
      ['a', 'c', 'b'].map((invoiceNo) => ({ invoiceNo, customerCode: 'K1', status: 'unpaid', isOffList: false })),
    );
    expect(await swap([invoice('a'), invoice('b')], 4)).to.deep.equal({ added: 0, changed: 1, unlisted: 1, missed: 0 });
  });

  it('takes off what its own read says has left, with the words of the service, and keeps what it says is due', async () => {
    await swap([invoice('a'), invoice('b'), invoice('c'), invoice('d')], 1);
    const counts = await inStore(async (tx) => {
      await stagePage(tx, unpaid, 1, [row(invoice('d'))]);
      await endGroup(tx, null, null);
      await stageOwnRead(tx, 'a', null, 'paid');
      await stageOwnRead(tx, 'b', null, null);
      await stageOwnRead(tx, 'c', invoice('c', { status: 'overdue' }), null);
      const swapped = await swapInvoices(tx, 2);
      await clearStaging(tx);
      return swapped;
    });
    expect(counts).to.deep.equal({ added: 0, changed: 1, unlisted: 2, missed: 0 });
    expect(await listed()).to.deep.equal(['c', 'd']);
    const left = await kit.store.read('look', (tx) => listLeftInvoices(tx, 10));
    expect(left.map((one) => [one.invoice_no, one.unlisted_at, one.left_status])).to.deep.equal([
      ['a', 2, 'paid'],
      ['b', 2, null],
    ]);
  });

  it('believes no own read that money is due where the list has learnt more since it was asked for', async () => {
    await swap([invoice('a'), invoice('b')], 1);
    const late = (number: string, said: OwnRead, sentAtMs: number) =>
      inStore(async (tx) => applyOwnRead(tx, await announcedInvoice(tx, number), said, sentAtMs, 9));
    await swap([invoice('b', { amount: 7 })], 5);
    for (const number of ['a', 'b'])
      expect(await late(number, { due: invoice(number, { amount: 1 }) }, 4)).to.equal(null);
    expect(await listed()).to.deep.equal(['b']);
    expect((await rows()).map(({ amount }) => amount)).to.include(7);
    expect(await kit.rows('SELECT row_key FROM invoice_staging')).to.deep.equal([]);
    expect(await late('a', { due: invoice('a') }, 6)).to.deep.equal({
      code: 'invoice_listed',
      state: outside('unpaid'),
    });
    expect(await late('a', { left: 'paid' }, 4)).to.deep.equal({ code: 'invoice_unlisted', state: outside('paid') });
    // A pull may be under way, which begins the list anew.
    expect(await late('a', { due: invoice('a') }, 10)).to.deep.equal({
      code: 'invoice_listed',
      state: outside('unpaid'),
    });
    const staged = await kit.rows("SELECT has_left FROM invoice_staging WHERE row_key='=a'");
    expect(staged).to.deep.equal([{ has_left: 1 }]);
    await inStore(clearStaging);
  });

  it('of a proven list takes only what its last reading met, of an unproven one whatever any of them met', async () => {
    for (const [isProven, expected] of [
      [false, ['early', 'late']],
      [true, ['late']],
    ] as const) {
      await inStore(async (tx) => {
        await tx.run('DELETE FROM invoice');
        expect(await stagePage(tx, unpaid, 1, [row(invoice('early')), row(invoice('late'))])).to.deep.equal({
          fresh: 2,
          again: 0,
        });
        expect(await stagePage(tx, unpaid, 2, [row(invoice('late'))])).to.deep.equal({ fresh: 1, again: 1 });
        await endGroup(tx, null, isProven ? 2 : null);
        await swapInvoices(tx, 1);
        await clearStaging(tx);
      });
      expect(await listed()).to.deep.equal(expected);
    }
  });

  it('takes off by the proof of a customer only what is that customer’s', async () => {
    await swap(
      ['K1', 'K2', 'K3'].map((code) => invoice(`of ${code}`, { customer_code: code })),
      1,
    );
    const counts = await inStore(async (tx) => {
      await endGroup(tx, 'K1', 1);
      await endGroup(tx, 'K2', null);
      const swapped = await swapInvoices(tx, 2);
      await clearStaging(tx);
      return swapped;
    });
    expect(counts).to.deep.include({ unlisted: 1, missed: 2 });
    expect(await listed()).to.deep.equal(['of K2', 'of K3']);
  });

  it('counts an invoice that is met twice in a reading once, and takes it in its latest form', async () => {
    await inStore(async (tx) => {
      expect(await stagePage(tx, unpaid, 1, [row(invoice('a')), row(invoice('b')), row(invoice('a'))])).to.deep.equal({
        fresh: 2,
        again: 0,
      });
      expect(await stagePage(tx, unpaid, 1, [row(invoice('b', { amount: 7 })), row(invoice('c'))])).to.deep.equal({
        fresh: 1,
        again: 0,
      });
      expect(await stagePage(tx, unpaid, 1, [])).to.deep.equal({ fresh: 0, again: 0 });
      await endGroup(tx, null, 1);
      await swapInvoices(tx, 1);
      await clearStaging(tx);
    });
    expect((await rows()).map((one) => one.amount)).to.deep.equal([100, 7, 100]);
    expect(await kit.rows('SELECT * FROM invoice_staging')).to.deep.equal([]);
  });

  it('takes an invoice that stands on the lists of two states as it was read last', async () => {
    const overdue = { customer: null, state: 'overdue' };
    for (const [first, second, expected] of [
      [unpaid, overdue, 'overdue'],
      [overdue, unpaid, 'unpaid'],
    ] as const) {
      await inStore(async (tx) => {
        await stagePage(tx, first, 1, [row(invoice('a', { status: first.state }))]);
        await stagePage(tx, second, 1, [row(invoice('a', { status: second.state }))]);
        await endGroup(tx, null, 1);
        await swapInvoices(tx, 1);
        await clearStaging(tx);
      });
      expect((await rows()).map((one) => one.status)).to.deep.equal([expected]);
    }
  });

  it('keeps what makes no sense apart, with the reason and since when, until it makes sense or is gone', async () => {
    const odd = (key: string, invoiceNo: string | null): PageRow => ({ key, malformed: noAmount, invoiceNo });
    const set = async () =>
      (await kit.store.read('look', (tx) => listMalformedInvoices(tx, 10))).map((one) => [
        one.invoice_no,
        tell(one.reason),
        one.since_at,
      ]);
    await swap([invoice('a')], 1);
    await swapRows([odd('=a', 'a'), odd('?1', null)], 2);
    expect(await set()).to.deep.equal([
      [null, 'amount: no', 2],
      ['a', 'amount: no', 2],
    ]);
    // It is on the service's list, so that it has not left ours.
    expect(await listed()).to.deep.equal(['a']);
    await swapRows([], 3, false);
    expect(await set()).to.have.length(2);
    await swapRows([row(invoice('a'))], 4, false);
    expect(await set()).to.deep.equal([[null, 'amount: no', 2]]);
    await swapRows([row(invoice('a'))], 5);
    expect(await set()).to.deep.equal([]);
  });

  it('takes an invoice from the list where it makes sense, whatever another list shows of it', async () => {
    const odd: PageRow = { key: '=a', malformed: noAmount, invoiceNo: 'a' };
    await inStore(async (tx) => {
      await stagePage(tx, unpaid, 1, [row(invoice('a', { amount: 5 }))]);
      await stagePage(tx, { ...unpaid, state: 'overdue' }, 1, [odd]);
      await endGroup(tx, null, 1);
      expect(await swapInvoices(tx, 1)).to.deep.include({ added: 1 });
      await clearStaging(tx);
    });
    expect((await rows()).map((one) => [one.invoice_no, one.amount])).to.deep.equal([['a', 5]]);
  });

  it('reports a state that nobody named once', async () => {
    const note = (status: string) =>
      inStore(async (tx) => {
        await stagePage(tx, unpaid, 1, [row(invoice('a')), row(invoice('b', { status }))]);
        const found = await noteNewStates(tx, ['unpaid', 'overdue'], 1);
        await clearStaging(tx);
        return found;
      });
    expect(await note('Reminded')).to.deep.equal([{ status: 'Reminded', invoiceNo: 'b' }]);
    expect(await note('Reminded')).to.deep.equal([]);
    expect(await note('overdue')).to.deep.equal([]);
    expect(await note('reminded')).to.have.length(1);
  });

  it('takes many, sums them exactly, and keeps credit notes apart', async () => {
    const many = Array.from({ length: 2_500 }, (_, i) => invoice(`n${i}`, { amount: 9_007_199_254_740 }));
    const credits = [invoice('credit-1', { amount: -1 }), invoice('credit-2', { amount: -2 })];
    expect((await swap([...many, ...credits], 1)).added).to.equal(2_502);
    const list = await kit.store.read('list', (tx) => listInvoices(tx, 3));
    expect(list).to.deep.include({ count: 2_500, sum: '22517998136850000' });
    expect(list.rows).to.have.length(3);
    expect(list.creditNotes).to.deep.include({ count: 2, sum: '-3' });
    expect(list.creditNotes.rows.map((one) => one.invoice_no)).to.deep.equal(['credit-1', 'credit-2']);
  });

  it('sums exactly what fits into no number of the database', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const many = Array.from({ length: 1_100 }, (_, i) => invoice(`n${i}`, { amount: most - i }));
    const credits = Array.from({ length: 1_100 }, (_, i) => invoice(`credit-${i}`, { amount: i - most }));
    await swap([...many, ...credits], 1);
    const sum = many.reduce((all, { amount }) => all + BigInt(amount), 0n);
    expect(sum > 2n ** 63n).to.equal(true);
    const { due, credit, months } = await kit.store.read('sum', sumListed);
    expect([due, credit]).to.deep.equal([
      { count: 1_100, sum: String(sum) },
      { count: 1_100, sum: String(-sum) },
    ]);
    expect(months.map((month) => month.sum)).to.deep.equal([String(sum)]);
    const list = await kit.store.read('list', (tx) => listInvoices(tx, 1));
    expect([list.sum, list.creditNotes.sum]).to.deep.equal([String(sum), String(-sum)]);
    await swap([], 2);
    expect((await kit.store.read('list', (tx) => listInvoices(tx, 1))).sum).to.equal('0');
  });

  it('lists by due date, and not what has left', async () => {
    const early = { due_date: '2026-11-02' };
    await swap([invoice('b', early), invoice('a', early), invoice('c'), invoice('d', { due_date: '2026-01-01' })], 1);
    await swap([invoice('b', early), invoice('a', early), invoice('c')], 2);
    const list = await kit.store.read('list', (tx) => listInvoices(tx, 10));
    expect(list.rows.map((one) => one.invoice_no)).to.deep.equal(['a', 'b', 'c']);
    expect(list).to.deep.include({ count: 3, sum: '300' });
  });
});
