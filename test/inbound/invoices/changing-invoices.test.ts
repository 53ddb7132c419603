import { expect } from 'chai';
import { type PullResult, pull } from '../../../src/inbound/invoices/pull.js';
import { useStore } from '../../store/stores.js';
import { type Lab, useLab, withServiceLease } from '../../support/jobs/job-lab.js';

/** `WAYBILL_PULL_RUNS=200` makes as many. */
const runs = Number(process.env.WAYBILL_PULL_RUNS ?? 10);

describe('pulls of a list that the service changes all the time, over real sockets', function () {
  this.timeout(60_000 + runs * 10_000);
  const kit = useLab(useStore('sqlite'));

  it('prove only what was the list of one moment, take off only what has left, and that within three pulls', async () => {
    const tally = { proven: 0, unproven: 0 };
    for (let run = 0; run < runs; run++) {
      await kit.store.transaction('begin anew', async (tx) => {
        for (const table of ['invoice', 'invoice_pull', 'lease']) await tx.run(`DELETE FROM ${table}`);
      });
      const lab = await kit.start({
        customers: 1,
        orders: 1,
        sandbox: { seed: run + 1, maxPageSize: 3 + (run % 5), invoiceChanges: [0.05, 0.2, 1][run % 3] as number },
        settings: {
          invoices: { pageSize: 5 },
          service: { endpoints: { readInvoice: { path: '/v2/invoices/{invoice_no}' } } },
        },
      });
      lab.sandbox.addInvoices(Array.from({ length: 10 + (run % 7) * 4 }, (_, i) => ({ amount: i + 1 })));
      await withServiceLease(lab.context, async (lease) => {
        const outlived = new Map<string, number>();
        for (let nth = 0; nth < 4; nth++)
          tally[await judge(lab, outlived, () => pull(lab.context, lab.client, lease))]++;
      });
      await lab.sandbox.close();
    }
    expect(Math.min(tally.proven, tally.unproven), JSON.stringify(tally)).to.be.above(runs / 5);
  });

  /** Runs one pull and holds the store against what was due at every moment of it. */
  async function judge(
    lab: Lab,
    outlived: Map<string, number>,
    pullNow: () => Promise<PullResult>,
  ): Promise<'proven' | 'unproven'> {
    const before = await listed();
    const from = lab.sandbox.invoiceChanges().length;
    const due = dueAfter(lab, from);
    for (const number of before) if (!due.has(number)) outlived.set(number, (outlived.get(number) ?? 0) + 1);
    const { outcome, reason } = await pullNow();
    if (outcome !== 'proven' && outcome !== 'unproven') throw new Error(`${outcome}: ${reason}`);
    const now = await listed();
    const changes = lab.sandbox.invoiceChanges().slice(from);
    const moments = [new Set(due)];
    for (const { invoiceNo, status } of changes) {
      if (status === 'unpaid') due.add(invoiceNo);
      else due.delete(invoiceNo);
      moments.push(new Set(due));
    }
    const isMoment = moments.some((moment) => moment.size === now.size && [...now].every((one) => moment.has(one)));
    if (outcome === 'proven') expect(isMoment, `a proven list is that of one moment: ${[...now]}`).to.equal(true);
    for (const number of before)
      if (!now.has(number)) expect(due.has(number), `${number} is due and was taken off`).to.equal(false);
    for (const [number, pulls] of outlived)
      if (!now.has(number)) outlived.delete(number);
      else expect(pulls, `pulls that ${number} has outlived`).to.be.below(3);
    return outcome;
  }

  async function listed(): Promise<Set<string>> {
    const rows = await kit.rows('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL');
    return new Set(rows.map(({ invoice_no }) => invoice_no as string));
  }

  function dueAfter(lab: Lab, changes: number): Set<string> {
    const due = new Set<string>();
    const added =
      lab.sandbox.counts().invoices - lab.sandbox.invoiceChanges().filter((one) => one.status === 'unpaid').length;
    for (let i = 1; i <= added; i++) due.add(`INV-${String(i).padStart(6, '0')}`);
    for (const { invoiceNo, status } of lab.sandbox.invoiceChanges().slice(0, changes)) {
      if (status === 'unpaid') due.add(invoiceNo);
      else due.delete(invoiceNo);
    }
    return due;
  }
});
