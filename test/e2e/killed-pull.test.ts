import { expect } from 'chai';
import { isFullMatrix } from '../store/stores.js';
import { useTempDir } from '../support/temp-dir.js';
import { type PullLab, startPullLab } from './pull-lab.js';

/** `WAYBILL_PULL_PAGES=100` fills as many. Each of the two readings also looks behind the last one, which is full. */
const pages = Number(process.env.WAYBILL_PULL_PAGES ?? (isFullMatrix ? 2 : 1));
const pageSize = 4;

describe('a pull whose process is killed at every page', function () {
  this.timeout(60_000 + pages * 20_000);
  const folder = useTempDir();
  let lab: PullLab;
  before(async () => {
    lab = await startPullLab(folder.path, pageSize);
  });
  after(() => lab.close());

  /** Runs `sync pull` until it is killed at the point, or without one to its end. */
  async function run(killPoint?: string): Promise<number | null> {
    if (killPoint) lab.waybill.env.TORTURE_KILL_POINT = killPoint;
    else delete lab.waybill.env.TORTURE_KILL_POINT;
    const { code, stderr } = await lab.waybill.run('sync', 'pull');
    if (killPoint) expect(stderr, killPoint).to.contain(`reached ${killPoint.split(':')[0]} SIGKILL`);
    // The dead hold their lease until its time is over.
    lab.inStore("UPDATE lease SET expires_at=1 WHERE name='service'");
    return code;
  }

  it('goes on with the next one, reads no page twice in a reading, and shows nobody half a list', async () => {
    const { sandbox } = lab;
    sandbox.addInvoices(Array.from({ length: pages * pageSize }, (_, i) => ({ amount: i + 1 })));
    expect(await run()).to.equal(0);
    const old = lab.listed();
    expect(old).to.have.length(pages * pageSize);
    for (const number of old.slice(0, pageSize)) sandbox.payInvoice(number);
    sandbox.addInvoices(Array.from({ length: pageSize }, () => ({ amount: 7 })));
    const before = sandbox.counts().requests;

    const seen = await lab.watch(async () => {
      for (let page = 0; page < 2 * (pages + 1); page++) await run('after-pull-page');
      await run('before-pull-swap');
      await run('after-pull-swap');
    });
    const asked = sandbox
      .ledger()
      .requests.slice(before)
      .map(({ path }) => path.replace(/^.*page=/, ''));
    const reading = Array.from({ length: pages + 1 }, (_, i) => String(i + 1));
    expect(asked).to.deep.equal([...reading, ...reading]);
    const now = lab.listed();
    expect(now).to.have.length(pages * pageSize);
    expect(now.slice(0, -pageSize)).to.deep.equal(old.slice(pageSize));
    expect([...seen]).to.deep.equal([old.join(' '), now.join(' ')]);
  });

  it('reads again only the page that was not kept', async () => {
    const before = lab.sandbox.counts().requests;
    await run('before-pull-page:2');
    expect(await run()).to.equal(0);
    expect(lab.sandbox.counts().requests - before).to.equal(2 * (pages + 1) + 1);
  });
});
