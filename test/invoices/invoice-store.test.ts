import { expect } from 'chai';
import {
  endPull,
  listInvoices,
  stagedCount,
  stageInvoices,
  startPull,
  swapInvoices,
} from '../../src/invoices/invoice-store.js';
import type { Invoice } from '../../src/model/invoice.js';
import { onBothStores } from '../store/both-stores.js';

onBothStores('the invoice list', (kit) => {
  const invoice = (no: string, more: Partial<Invoice> = {}): Invoice => ({
    invoice_no: no,
    customer_code: 'K1',
    amount: 100,
    due_date: '2026-12-01',
    status: 'unpaid',
    ...more,
  });
  const swap = (invoices: Invoice[], nowMs: number, isComplete = true) =>
    kit.store.transaction('pull', async (tx) => {
      const pullId = await startPull(tx, 'unpaid', nowMs);
      await stageInvoices(tx, pullId, invoices);
      const counts = await swapInvoices(tx, pullId, nowMs, isComplete);
      await endPull(
        tx,
        pullId,
        'complete',
        null,
        { pages: 1, listed: invoices.length, serviceTotal: 1, malformed: 0 },
        counts,
        nowMs,
      );
      return counts;
    });
  const rows = () => kit.rows('SELECT * FROM invoice ORDER BY invoice_no');

  it('calls nothing "no longer listed" when some invoices could not be read', async () => {
    await swap([invoice('kept-1'), invoice('kept-2')], 1);
    expect(await swap([invoice('kept-1')], 2, false)).to.deep.include({ unlisted: 0 });
    expect(await swap([invoice('kept-1')], 3)).to.deep.include({ unlisted: 1 });
    await kit.store.transaction('tidy up', (tx) => tx.run('DELETE FROM invoice'));
  });

  it('takes what is new, changes what differs, and writes nothing else', async () => {
    expect(await swap([invoice('a'), invoice('b'), invoice('c')], 1)).to.deep.equal({
      added: 3,
      changed: 0,
      unlisted: 0,
    });
    expect(await swap([invoice('a'), invoice('b'), invoice('c')], 2)).to.deep.equal({
      added: 0,
      changed: 0,
      unlisted: 0,
    });
    expect((await rows()).map((row) => row.last_listed_at)).to.deep.equal([1, 1, 1]);
    const changed = [
      invoice('a', { amount: 50 }),
      invoice('b', { due_date: '2027-01-01' }),
      invoice('c', { status: 'overdue' }),
    ];
    expect(await swap([...changed, invoice('d')], 3)).to.deep.equal({ added: 1, changed: 3, unlisted: 0 });
    const { customer_code: _, ...anonymous } = invoice('d');
    expect(await swap([...changed, anonymous], 4)).to.deep.equal({ added: 0, changed: 1, unlisted: 0 });
    expect(await rows()).to.deep.equal([
      { ...changed[0], first_listed_at: 1, last_listed_at: 3, unlisted_at: null },
      { ...changed[1], first_listed_at: 1, last_listed_at: 3, unlisted_at: null },
      { ...changed[2], first_listed_at: 1, last_listed_at: 3, unlisted_at: null },
      { ...invoice('d'), customer_code: null, first_listed_at: 3, last_listed_at: 4, unlisted_at: null },
    ]);
  });

  it('keeps what is no longer listed with the time it left, and takes it back when it returns', async () => {
    await swap([invoice('a'), invoice('b')], 1);
    expect(await swap([invoice('b')], 2)).to.deep.equal({ added: 0, changed: 0, unlisted: 1 });
    expect(await swap([invoice('b')], 3)).to.deep.equal({ added: 0, changed: 0, unlisted: 0 });
    expect((await rows())[0]).to.deep.include({ invoice_no: 'a', unlisted_at: 2 });
    expect(await swap([invoice('a'), invoice('b')], 4)).to.deep.equal({ added: 0, changed: 1, unlisted: 0 });
    expect((await rows())[0]).to.deep.include({ invoice_no: 'a', unlisted_at: null, first_listed_at: 1 });
    expect(await swap([], 5)).to.deep.equal({ added: 0, changed: 0, unlisted: 2 });
  });

  it('stages an invoice that is met twice once, in its latest form', async () => {
    const count = await kit.store.transaction('pull', async (tx) => {
      const pullId = await startPull(tx, 'unpaid', 1);
      await stageInvoices(tx, pullId, [invoice('a'), invoice('b')]);
      await stageInvoices(tx, pullId, [invoice('b', { amount: 7 }), invoice('c')]);
      await stageInvoices(tx, pullId, []);
      const staged = await stagedCount(tx, pullId);
      await swapInvoices(tx, pullId, 1, true);
      return staged;
    });
    expect(count).to.equal(3);
    expect((await rows()).map((row) => row.amount)).to.deep.equal([100, 7, 100]);
    expect(await kit.rows('SELECT * FROM invoice_staging')).to.deep.equal([]);
  });

  it('takes many, with credit notes, and sums them exactly', async () => {
    const many = Array.from({ length: 2_500 }, (_, i) => invoice(`n${i}`, { amount: 9_007_199_254_740 }));
    expect((await swap([...many, invoice('credit', { amount: -1 })], 1)).added).to.equal(2_501);
    const list = await kit.store.read('list', (tx) => listInvoices(tx, 3));
    expect(list).to.deep.include({ count: 2_501, sum: '22517998136849999' });
    expect(list.rows).to.have.length(3);
  });

  it('lists by due date, and not what has left', async () => {
    await swap(
      [
        invoice('b', { due_date: '2026-11-02' }),
        invoice('a', { due_date: '2026-11-02' }),
        invoice('c'),
        invoice('d', { due_date: '2026-01-01' }),
      ],
      1,
    );
    await swap([invoice('b', { due_date: '2026-11-02' }), invoice('a', { due_date: '2026-11-02' }), invoice('c')], 2);
    const list = await kit.store.read('list', (tx) => listInvoices(tx, 10));
    expect(list.rows.map((row) => row.invoice_no)).to.deep.equal(['a', 'b', 'c']);
    expect(list).to.deep.include({ count: 3, sum: '300' });
  });

  it('closes a pull that was cut short when the next one begins, and forgets what it staged', async () => {
    await kit.store.transaction('pull', async (tx) => {
      const pullId = await startPull(tx, 'unpaid', 1);
      await stageInvoices(tx, pullId, [invoice('half')]);
    });
    await swap([invoice('a')], 2);
    expect((await rows()).map((row) => row.invoice_no)).to.deep.equal(['a']);
    const pulls = await kit.rows('SELECT outcome, ended_at, reason FROM invoice_pull ORDER BY id');
    expect(pulls[0]).to.deep.include({ outcome: 'failed', ended_at: 2 });
    expect(pulls[0].reason).to.contain('stopped');
    expect(pulls[1]).to.deep.include({ outcome: 'complete', ended_at: 2, reason: null });
  });
});
