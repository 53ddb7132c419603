import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { isFullMatrix } from '../store/stores.js';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.js';
import { everyAttempt } from '../support/every-attempt.js';
import { useTempDir } from '../support/temp-dir.js';
import { useMariaDb } from '../support/use-database.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

const leaseSeconds = 3;
/** A deliverer whose requests may hang for longer, so that its drain takes longer too. */
const patient = { leaseSeconds: 9, drainSeconds: 8, deadlineSeconds: 4 };
/**
 * Enough orders that each successor has more left than it may send in its first second. More of them take longer and
 * prove the same: 5,000 were run before a release.
 */
const orders = Number(process.env.WAYBILL_STANDBY_ORDERS ?? 500);
const perSecond = 100;

describe('two daemons on one MariaDB store', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  const store = useMariaDb();
  const running: Daemon[] = [];
  let sandbox: Sandbox;
  let proxy: CuttableProxy;
  let direct: Installation;
  let behindProxy: Installation;
  let drainsSlowly: Installation;

  before(async () => {
    proxy = await startCuttableProxy({ host: store.database.host, port: store.database.port });
  });
  after(() => proxy.close());

  beforeEach(async () => {
    const erp = dir.file(`erp-${running.length}-${Date.now()}.sqlite`);
    await createSampleErp({ target: { type: 'sqlite', file: erp }, customers: 20, orders });
    const limit = { requests: perSecond, windowMs: 1_000 };
    sandbox = await startSandbox({ token: canary.token, delayMs: [0, 20], limits: [limit] });
    const tables = await store.database.query(
      'SELECT table_name AS name FROM information_schema.tables WHERE table_schema=DATABASE()',
    );
    if (tables.length > 0) await store.database.query(tables.map((table) => `DROP TABLE \`${table.name}\``).join('; '));
    const installation = (name: string, port: number, times = { leaseSeconds, drainSeconds: 5, deadlineSeconds: 1 }) =>
      new Installation({
        folder: join(dir.path, `${name}-${Date.now()}`),
        serviceUrl: sandbox.url,
        erp: { type: 'sqlite', file: erp },
        store: { type: 'mysql', database: { ...store.database, port } },
        settings: {
          schedule: { capture: '*/2 * * * * *' },
          delivery: { leaseSeconds: times.leaseSeconds, drainSeconds: times.drainSeconds, backoffBaseSeconds: 0.2 },
          invoices: { enabled: false },
          service: {
            environment: 'sandbox',
            baseUrl: sandbox.url,
            deadlineSeconds: times.deadlineSeconds,
            limits: [{ requests: perSecond, perSeconds: 1 }],
          },
        },
      });
    direct = installation('direct', store.database.port);
    behindProxy = installation('proxied', proxy.port);
    drainsSlowly = installation('patient', store.database.port, patient);
  });
  afterEach(async () => {
    proxy.heal();
    for (const daemon of running) {
      daemon.kill('SIGCONT');
      daemon.kill('SIGKILL');
    }
    await Promise.all(running.splice(0).map((daemon) => daemon.ended));
    await sandbox.close();
  });

  const start = (installation: Installation): Daemon => {
    const daemon = installation.daemon();
    running.push(daemon);
    return daemon;
  };
  const delivers = (line: { message: string }) => line.message === 'Delivering from here';
  const standsBy = (line: { message: string }) => line.message.startsWith('Standing by');
  const atService = (count: number) =>
    eventually(`${count} orders are at the service`, () => sandbox.counts().orders >= count, 120_000);
  /** Lease, the limit's window and the standby's own looking. */
  const within = (ofLeaseSeconds: number) => (ofLeaseSeconds + 10) * 1000;

  /** A deliverer, and those that stand by. Delivery begins when all are there, however long one of them takes to start. */
  const inLine = async (first: Installation, standbys = 1): Promise<[Daemon, ...Daemon[]]> => {
    expect((await first.run('migrate')).code).to.equal(0);
    const paused = await first.run('pause', 'deliver', '--reason', 'until all are there');
    expect(paused.code, paused.stderr).to.equal(0);
    const deliverer = start(first);
    await deliverer.line(delivers);
    const others = Array.from({ length: standbys }, () => start(direct));
    await Promise.all(others.map((other) => other.line(standsBy)));
    await direct.run('resume', 'deliver', '--reason', 'all are there');
    return [deliverer, ...others];
  };
  /** From now until one of the standbys has delivered an order. Called right after the deliverer was stopped. */
  const takesOver = async (standbys: readonly Daemon[], leaseOfTheOther = leaseSeconds): Promise<Daemon> => {
    const withinMs = within(leaseOfTheOther);
    const stoppedAt = performance.now();
    const successor = await Promise.race(
      standbys.map(async (standby) => {
        await standby.line(delivers, withinMs);
        return standby;
      }),
    );
    const before = sandbox.counts().orders;
    await eventually('the next order is at the service', () => sandbox.counts().orders > before, withinMs);
    expect(performance.now() - stoppedAt, 'ms until delivery went on').to.be.below(withinMs);
    return successor;
  };
  const eachOnce = () => {
    const { orders: atEnd, duplicateReferences, throttled } = sandbox.counts();
    expect({ atEnd, duplicateReferences, throttled }).to.deep.equal({
      atEnd: orders,
      duplicateReferences: 0,
      throttled: 0,
    });
    const arrivals = sandbox
      .ledger()
      .requests.map((request) => request.received_at_ms)
      .sort((a, b) => a - b);
    for (const [i, at] of arrivals.entries()) {
      const next = arrivals[i + perSecond];
      if (next !== undefined) expect(next - at, `${perSecond + 1} requests from ${at}`).to.be.at.least(1_000);
    }
  };
  const settled = () =>
    eventually('nothing is open in the store', async () => {
      const [row] = await store.database.query(
        "SELECT COUNT(*) AS n FROM outbox_message WHERE state IN ('pending','sending','in_doubt')",
      );
      return Number(row?.n) === 0;
    });

  /** Everything that an old deliverer could have written: a line each. */
  const traces = async () => {
    const lines = async (what: string, sql: string) =>
      (await store.database.query(sql)).map((row) => `${what} ${JSON.stringify(row)}`);
    return new Set([
      ...(await lines('message', 'SELECT * FROM outbox_message ORDER BY id')),
      ...(await lines('attempt', 'SELECT * FROM attempt ORDER BY id')),
      ...(await lines('binding', 'SELECT * FROM binding ORDER BY entity, source_key')),
    ]);
  };
  /**
   * Lets an old deliverer go on, and waits until it has noticed that it is one: it writes nothing. Nor does it send, but for one
   * request that it may have been in the middle of handing to the system when it was frozen; the key makes a repetition of it.
   */
  const stepsBack = async (old: Daemon, goOn: () => void, { wasFrozen = false } = {}) => {
    const before = await traces();
    const requests = sandbox.counts().requests;
    goOn();
    await old.line(standsBy, within(leaseSeconds));
    await sleep(1_000);
    const now = await traces();
    const gone = [...before].filter((line) => !now.has(line));
    const come = [...now].filter((line) => !before.has(line));
    expect({ gone, come }).to.deep.equal({ gone: [], come: [] });
    const late = sandbox.ledger().requests.slice(requests);
    expect(late.length, `late requests: ${JSON.stringify(late)}`).to.be.at.most(wasFrozen ? 1 : 0);
    expect(late.filter((request) => !request.replayed)).to.deep.equal([]);
  };
  /** No attempt of the old epoch began after a younger one had begun to deliver. */
  const oldEpochIsOver = async () => {
    const epochs = await store.database.query(
      `SELECT epoch, MIN(intended_at) AS first, MAX(started_at) AS last FROM ${everyAttempt} GROUP BY epoch ORDER BY epoch`,
    );
    for (const [i, epoch] of epochs.slice(1).entries())
      expect(Number(epochs[i]?.last), `epoch ${epochs[i]?.epoch}`).to.be.below(Number(epoch.first));
  };

  it('deliver each order once when the deliverer is killed and its successor is paused past its lease', async () => {
    const [first, ...standbys] = await inLine(direct, 2);
    await atService(orders / 5);
    first.kill('SIGKILL');
    const second = await takesOver(standbys);

    await atService(orders / 2);
    second.kill('SIGSTOP');
    await takesOver(standbys.filter((standby) => standby !== second));
    await atService(orders);
    await settled();

    await stepsBack(second, () => second.kill('SIGCONT'), { wasFrozen: true });
    await oldEpochIsOver();
    eachOnce();
  });

  for (const how of isFullMatrix ? (['stall', 'cut'] as const) : (['cut'] as const)) {
    it(`take turns when the deliverer's way to the store is ${how === 'stall' ? 'silent' : 'cut'}, and it sends nothing when it is back`, async () => {
      const [first, ...standbys] = await inLine(behindProxy);
      await atService(orders / 5);
      proxy[how]();
      await takesOver(standbys);
      await atService(orders);
      await settled();

      await stepsBack(first, () => proxy.heal());
      await oldEpochIsOver();
      eachOnce();
    });
  }

  it('end at once at the second SIGTERM, and the successor brings to an end what was under way', async () => {
    const [first, ...standbys] = await inLine(drainsSlowly);
    await atService(orders / 5);
    sandbox.setFaults([{ kind: 'hang', effect: 'done', times: 5 }]);
    await eventually('requests hang', () => sandbox.faults().some((fault) => fault.fired > 0));
    first.kill('SIGTERM');
    await first.line((line) => line.message === 'Stopping');
    const askedAt = performance.now();
    first.kill('SIGTERM');
    // Not 0, as after a drain, which would have waited for what hangs.
    expect(await first.ended).to.equal(143);
    expect(performance.now() - askedAt, 'ms').to.be.below((patient.deadlineSeconds - 1) * 1000);
    await takesOver(standbys, patient.leaseSeconds);
    await atService(orders);
    await settled();
    await oldEpochIsOver();
    eachOnce();
  });
});
