import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb } from '../support/use-database.js';
import { useRedis } from '../support/use-redis.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

const leaseSeconds = 3;
/** 20,000 under 200/s were run before a release. */
const orders = Number(process.env.WAYBILL_CLUSTER_ORDERS ?? 600);
const perSecond = Number(process.env.WAYBILL_CLUSTER_PER_SECOND ?? 100);
const root = fileURLToPath(new URL('../../../', import.meta.url));
/** The folder of another version, built: two of the nodes are of that one, and none is of a next one. */
const otherVersion = process.env.WAYBILL_CLUSTER_OTHER_VERSION;
const patienceMs = 60_000 + (orders / perSecond) * 3_000;

/** This program as its next version, which adds to the schema. */
async function makeNextVersion(folder: string): Promise<string> {
  await cp(join(root, 'dist/src'), join(folder, 'dist/src'), { recursive: true });
  for (const name of ['node_modules', 'config']) await symlink(join(root, name), join(folder, name));
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: '99.0.0' }));
  const dataSource = join(folder, 'dist/src/store/data-source.js');
  const addition = `
class Expand1900000000000 {
  async up(runner) {
    await runner.query('ALTER TABLE outbox_message ADD COLUMN next_note VARCHAR(20) NULL');
    await runner.query('CREATE INDEX ix_next_note ON outbox_message (next_note)');
    await runner.query('CREATE TABLE next_fact (id INT NOT NULL PRIMARY KEY)');
  }
  async down() {}
}
migrations.push({ name: 'Expand1900000000000', load: async () => Expand1900000000000 });
`;
  await writeFile(dataSource, (await readFile(dataSource, 'utf8')) + addition);
  return folder;
}

describe('three nodes on one MariaDB store, and Redis beside it', function () {
  this.timeout(2 * patienceMs);
  const dir = useTempDir();
  const store = useMariaDb();
  const redis = useRedis();
  const running: Daemon[] = [];
  let sandbox: Sandbox;
  let installations: Installation[];
  let erp: string;

  before(async () => {
    erp = dir.file('erp.sqlite');
    await createSampleErp({ target: { type: 'sqlite', file: erp }, customers: 20, orders });
    sandbox = await startSandbox({
      token: canary.token,
      delayMs: [0, 20],
      limits: [{ requests: perSecond, windowMs: 1_000 }],
    });
    const next = otherVersion ? undefined : await makeNextVersion(dir.file('next'));
    const versionOf = (node: string) => (node === 'b' ? next : otherVersion);
    installations = ['a', 'b', 'c'].map(
      (node) =>
        new Installation({
          folder: join(dir.path, node),
          version: versionOf(node),
          serviceUrl: sandbox.url,
          erp: { type: 'sqlite', file: erp },
          store: { type: 'mysql', database: store.database },
          settings: {
            cluster: { enabled: true, node, redis: { hosts: [`${redis.server.host}:${redis.server.port}`] } },
            schedule: { capture: '*/2 * * * * *' },
            delivery: { leaseSeconds, drainSeconds: 5, backoffBaseSeconds: 0.2 },
            invoices: { enabled: false },
            service: {
              environment: 'sandbox',
              baseUrl: sandbox.url,
              deadlineSeconds: 1,
              limits: [{ requests: perSecond, perSeconds: 1 }],
            },
          },
        }),
    );
    for (const { env } of installations) env.WAYBILL_CLUSTER_REDIS_PASSWORD = redis.server.password;
  });
  after(async () => {
    for (const daemon of running) {
      daemon.kill('SIGCONT');
      daemon.kill('SIGKILL');
    }
    await Promise.all(running.map((daemon) => daemon.ended));
    await sandbox?.close();
  });

  const atService = (count: number) =>
    eventually(`${count} orders are at the service`, () => sandbox.counts().orders >= count, patienceMs);
  let entered = orders;
  /** A node that has nothing to do does not ask Redis: enters orders until all of these daemons have said it. */
  const saidAtWork = (daemons: readonly Daemon[], text: string) =>
    eventually(
      `all say: ${text}`,
      async () => {
        for (let n = 0; n < 5; n++, entered++) await insertSampleOrder({ type: 'sqlite', file: erp });
        return daemons.every(({ lines }) => lines.some(message(text)));
      },
      patienceMs,
    );
  const message = (text: string) => (line: { message: string }) => line.message.startsWith(text);
  /** Everything that a node could have written under its epoch. */
  const traces = async (epoch: number) => {
    const messages = await store.database.query(`SELECT * FROM outbox_message WHERE claim_epoch=${epoch} ORDER BY id`);
    const attempts = await store.database.query(`SELECT * FROM attempt WHERE epoch=${epoch} ORDER BY id`);
    return { messages, attempts };
  };

  it('deliver each order once and keep one limit, and one of them is newer, when one is killed, one is paused past its lease, and Redis is lost', async () => {
    const [first, , third] = installations as [Installation, Installation, Installation];
    expect((await first.run('migrate')).code).to.equal(0);
    expect((await first.run('pause', 'deliver', '--reason', 'until all are there')).code).to.equal(0);
    for (const one of installations) {
      const daemon = one.daemon();
      running.push(daemon);
      await daemon.line(message('Delivering from here'), 60_000);
      await daemon.line(message('The nodes share the work over Redis'), 60_000);
    }
    const [a, b, c] = running as [Daemon, Daemon, Daemon];
    await a.line(message('This node leads'));
    await first.run('resume', 'deliver', '--reason', 'all are there');

    await atService(orders / 5);
    const { stdout } = await third.run('status', '--json');
    const { nodes } = JSON.parse(stdout) as {
      nodes: { name: string; state: string; leads: boolean; version: string }[];
    };
    expect(nodes.map(({ name, state, leads }) => [name, state, leads])).to.deep.equal([
      ['a', 'at work', true],
      ['b', 'at work', false],
      ['c', 'at work', false],
    ]);
    if (!otherVersion) expect(nodes.map(({ version }) => version === '99.0.0')).to.deep.equal([false, true, false]);
    const outages: { fromMs: number; toMs: number }[] = [];
    let fromMs = Date.now();
    a.kill('SIGKILL');
    await eventually(
      'another one leads',
      () => [b, c].some(({ lines }) => lines.some(message('This node leads'))),
      patienceMs,
    );
    outages.push({ fromMs, toMs: Date.now() });

    await atService(orders / 3);
    await redis.server.run('SET', 'before the loss', '1');
    await redis.server.kill();
    await saidAtWork([b, c], 'Delivery goes on without Redis');
    await atService((orders * 2) / 5);
    await redis.server.restart();
    // The nodes may have filled it again by now.
    expect(await redis.server.run('EXISTS', 'before the loss')).to.equal(0);
    await saidAtWork([b, c], 'Redis is back');

    await atService(orders / 2);
    const takeovers = () => c.lines.filter(message('Took over from nodes')).length;
    const tookOver = takeovers();
    fromMs = Date.now();
    b.kill('SIGSTOP');
    await eventually('the frozen one is taken over', () => takeovers() > tookOver, patienceMs);
    outages.push({ fromMs, toMs: Date.now() });
    await atService(entered);
    await eventually(
      'nothing is open in the store',
      async () => {
        const open = "SELECT COUNT(*) AS n FROM outbox_message WHERE state IN ('pending','sending','in_doubt')";
        return Number((await store.database.query(open))[0]?.n) === 0;
      },
      patienceMs,
    );

    const [epoch] = await store.database.query("SELECT epoch FROM lease WHERE name='node/b'");
    const before = await traces(Number(epoch?.epoch));
    const requests = sandbox.counts().requests;
    b.kill('SIGCONT');
    // It finds that its time was over, writes nothing, and joins anew.
    await eventually('the node that was frozen joins anew', async () => {
      const [row] = await store.database.query("SELECT epoch FROM lease WHERE name='node/b' AND holder IS NOT NULL");
      return row !== undefined && Number(row.epoch) > Number(epoch?.epoch);
    });
    await sleep(1_000);
    expect(await traces(Number(epoch?.epoch))).to.deep.equal(before);
    const late = sandbox.ledger().requests.slice(requests);
    expect(late.length, `late requests: ${JSON.stringify(late)}`).to.be.at.most(1);
    expect(late.filter((request) => !request.replayed)).to.deep.equal([]);

    const { orders: there, duplicateReferences, throttled } = sandbox.counts();
    expect({ there, duplicateReferences, throttled }).to.deep.equal({
      there: entered,
      duplicateReferences: 0,
      throttled: 0,
    });
    const arrivals = sandbox.ledger().requests.map((request) => request.received_at_ms);
    arrivals.sort((one, other) => one - other);
    for (const [i, at] of arrivals.entries()) {
      const next = arrivals[i + perSecond];
      if (next !== undefined) expect(next - at, `${perSecond + 1} requests from ${at}`).to.be.at.least(1_000);
    }
    if (process.env.WAYBILL_CLUSTER_ORDERS) {
      const [startedAt = 0, endedAt = 0] = [arrivals[0], arrivals.at(-1)];
      const isOut = (at: number) => outages.some(({ fromMs, toMs }) => at >= fromMs && at < toMs);
      const outMs = outages.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
      const used = arrivals.filter((at) => !isOut(at)).length / (((endedAt - startedAt - outMs) / 1_000) * perSecond);
      console.log(`${Math.round(used * 100)} % of the limit was used outside of ${outMs} ms`);
      expect(used, 'part of the limit that was used').to.be.at.least(0.9);
      const bySecond = new Map<number, number>();
      for (const at of arrivals) bySecond.set(Math.floor(at / 1_000), (bySecond.get(Math.floor(at / 1_000)) ?? 0) + 1);
      console.log(`requests by second: ${[...bySecond.values()].join(' ')}`);
    }
    b.kill('SIGTERM');
    c.kill('SIGTERM');
    expect([await b.ended, await c.ended]).to.deep.equal([0, 0]);
    expect(
      Number((await store.database.query('SELECT COUNT(*) AS n FROM lease WHERE holder IS NOT NULL'))[0]?.n),
    ).to.equal(0);
  });
});
