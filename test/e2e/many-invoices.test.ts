import { expect } from 'chai';
import { useTempDir } from '../support/temp-dir.js';
import { type PullLab, startPullLab } from './pull-lab.js';

/** `WAYBILL_PULL_INVOICES=100000` pulls as many. */
const count = Number(process.env.WAYBILL_PULL_INVOICES ?? 3_000);

describe('a pull of very many invoices', function () {
  this.timeout(60_000 + count * 10);
  const folder = useTempDir();
  let lab: PullLab;
  before(async () => {
    lab = await startPullLab(folder.path, 100);
  });
  after(() => lab.close());

  async function pull() {
    const startedAt = performance.now();
    const { code, stdout, peakRssMiB } = await lab.waybill.start('sync', 'pull', '--json').ended;
    expect(code).to.equal(0);
    const result = JSON.parse(stdout).pull;
    expect(result.outcome).to.equal('proven');
    if (process.env.WAYBILL_PULL_INVOICES) {
      process.stdout.write(
        `      ${result.unpaid} invoices: ${Math.round(peakRssMiB)} MiB, ${Math.round((performance.now() - startedAt) / 1000)} s, ${result.pages} pages\n`,
      );
      // Not where other tests press on the memory: V8 collects garbage later then.
      expect(peakRssMiB, 'highest resident set in MiB').to.be.within(20, 143);
    }
    return { result, peakRssMiB };
  }

  it('takes memory for a page, and writes no invoice when nothing has changed', async () => {
    const add = (many: number) =>
      lab.sandbox.addInvoices(Array.from({ length: many }, (_, i) => ({ amount: i, customer_code: `K${i % 1_000}` })));
    add(100);
    const { peakRssMiB: ofOnePage } = await pull();
    add(count - 100);
    const { result, peakRssMiB } = await pull();
    expect(result).to.deep.include({ unpaid: count, added: count - 100 });
    // The whole list is some MiB, and its objects are many times that.
    expect(peakRssMiB - ofOnePage, 'MiB more than for one page').to.be.below(16);
    // Any write to the table at all would be refused.
    for (const deed of ['INSERT', 'UPDATE', 'DELETE'])
      lab.inStore(
        `CREATE TRIGGER no_${deed} BEFORE ${deed} ON invoice BEGIN SELECT RAISE(ABORT, 'an invoice row was written'); END`,
      );
    expect((await pull()).result).to.deep.include({ unpaid: count, added: 0, changed: 0, unlisted: 0 });
  });
});
