import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createSampleErp, sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { ConnectProxy } from '../support/connect-proxy.js';
import { addGoneJobs } from '../support/gone-jobs.js';
import { openSqlite } from '../support/sqlite-file.js';
import { useTempDir } from '../support/temp-dir.js';
import { useServer } from '../support/use-database.js';
import { useRedis } from '../support/use-redis.js';
import { WallClock } from '../torture/clock-steps.js';
import { canary, type Daemon, eventually, Installation, type InstallationOptions } from './installation.js';

const perSecond = 20;
/** The part of the limit that has to be used within so long, over a window of so long. */
const goal = { share: 0.9, withinMs: 30_000, windowMs: 5_000 };
const ahead = 150;

for (const [type, title] of [
  ['mysql', 'MariaDB'],
  ['postgres', 'PostgreSQL'],
] as const)
  describe(`a healthy node beside a sick one (${title})`, function () {
    this.timeout(240_000);
    const dir = useTempDir();
    const server = useServer(type);
    const redis = useRedis();
    const running = new Set<Daemon>();
    const figures: string[] = [];
    let sandbox: Sandbox;
    let elsewhere: Sandbox;
    let erp: { type: 'sqlite'; file: string };
    let healthy: Installation;
    let a: Daemon;
    let entered = 50;
    let nodes = 0;
    /** Requests over the limit that a test allows. */
    let excess = 0;

    const installation = (node: string, own: Record<string, unknown> = {}, more: Partial<InstallationOptions> = {}) =>
      new Installation({
        folder: join(dir.path, node),
        serviceUrl: sandbox.url,
        erp,
        store: { type, database: (server as NonNullable<typeof server>).database },
        ...more,
        settings: {
          cluster: { enabled: true, node },
          schedule: { capture: '* * * * * *' },
          delivery: { leaseSeconds: 6, drainSeconds: 3, backoffBaseSeconds: 0.2, probeSeconds: 5 },
          invoices: { enabled: false },
          ...own,
          service: {
            environment: 'sandbox',
            baseUrl: sandbox.url,
            deadlineSeconds: 1,
            limits: [
              { requests: perSecond, perSeconds: 1 },
              { requests: 50_000, perSeconds: 3600 },
            ],
            ...(own.service as object | undefined),
          },
        },
      });
    const start = async (one: Installation) => {
      const daemon = one.daemon();
      running.add(daemon);
      await eventually(
        'it joins, or stands by',
        () => daemon.lines.some(({ message }) => /^(Delivering from|Nothing is delivered|Standing by)/.test(message)),
        60_000,
      );
      return daemon;
    };
    const stop = async (daemon: Daemon) => {
      daemon.kill('SIGCONT');
      daemon.kill('SIGTERM');
      await daemon.ended;
      running.delete(daemon);
    };
    /** Keeps so many orders waiting. */
    const enter = async () => {
      for (; entered < sandbox.counts().orders + ahead; entered++) await insertSampleOrder(erp);
    };
    const arrivals = () =>
      sandbox
        .ledger()
        .requests.map((request) => request.received_at_ms)
        .sort((one, other) => one - other);
    const deliversWell = async (what: string) => {
      const from = Date.now();
      let best = 0;
      for (;;) {
        await enter();
        const now = Date.now();
        const since = Math.max(from, now - goal.windowMs);
        if (now - from >= goal.windowMs)
          best = Math.max(best, arrivals().filter((at) => at >= since).length / (perSecond * (goal.windowMs / 1_000)));
        if (best >= goal.share || now - from > goal.withinMs) break;
        await sleep(200);
      }
      const figure = `${Math.round(best * 100)} % of the limit after ${Math.round((Date.now() - from) / 1_000)} s`;
      figures.push(`${what}: ${figure}`);
      expect(best, figure).to.be.at.least(goal.share);
    };
    /** `status` names it, and so does an alert, where one is due so soon. */
    const isNamed = async (said: RegExp, cause?: string) => {
      await eventually(
        `status says ${said}`,
        async () => (await healthy.run('status')).stdout.replace(/\s+/g, ' ').match(said),
        15_000,
      );
      if (cause === undefined) return;
      expect((await healthy.run('status', '--check')).code, 'status --check').to.equal(1);
      await eventually(
        `the alert ${cause}`,
        async () => (await healthy.run('status', '--json')).stdout.includes(`"${cause}"`),
        25_000,
      );
    };

    before(async () => {
      erp = { type: 'sqlite', file: dir.file('erp.sqlite') };
      await createSampleErp({ target: erp, customers: 10, orders: entered });
      const limits = [{ requests: perSecond, windowMs: 1_000 }];
      sandbox = await startSandbox({ token: canary.token, delayMs: [0, 20], limits });
      elsewhere = await startSandbox({ token: canary.token });
      healthy = installation('a');
      expect((await healthy.run('migrate')).code).to.equal(0);
      a = await start(healthy);
    });
    after(async () => {
      for (const daemon of running) daemon.kill('SIGKILL');
      await Promise.all([...running].map((daemon) => daemon.ended));
      await sandbox?.close();
      await elsewhere?.close();
      console.log(figures.map((figure) => `      ${figure}`).join('\n'));
    });
    afterEach('each order is there once, within the limit', () => {
      const { duplicateReferences, throttled } = sandbox.counts();
      expect(duplicateReferences).to.equal(0);
      expect(throttled).to.be.at.most(excess);
      const times = arrivals();
      const most = perSecond + excess;
      for (const [i, at] of times.entries()) {
        const next = times[i + most];
        if (next !== undefined) expect(next - at, `${most + 1} requests from ${at}`).to.be.at.least(999);
      }
    });
    const database = () =>
      (server as unknown as { database: { query(sql: string): Promise<Record<string, unknown>[]> } }).database;
    const b = () => `b${++nodes}`;

    it('whose credential is refused', async () => {
      const node = b();
      const sick = await start(installation(node, {}, { token: 'stale' }));
      await deliversWell('a stale token');
      await isNamed(
        new RegExp(`Node ${node} sends nothing, because the service refuses its credential`),
        `node.${node}.service`,
      );
      const refused = () => sandbox.ledger().requests.filter(({ status }) => status === 401).length;
      const knocks = refused();
      await deliversWell('a stale token, later');
      expect(refused(), 'it does not knock on').to.equal(knocks);
      await stop(sick);
      await deliversWell('once it has left');
    });

    it('that does not reach the service', async () => {
      const node = b();
      const proxy = await new ConnectProxy().open();
      const sick = await start(installation(node, { service: { proxy: { url: proxy.url } } }));
      await enter();
      await eventually('it delivers', () => proxy.tunnels > 0);
      proxy.trouble = 'silence';
      proxy.cut();
      await deliversWell('no way to the service');
      await isNamed(
        new RegExp(`Node ${node} does not reach the service: .* Delivery goes on from a`),
        `node.${node}.service`,
      );
      proxy.trouble = null;
      await eventually(
        'it works again by itself',
        async () => {
          await enter();
          return !(await healthy.run('status')).stdout.includes('does not reach');
        },
        40_000,
      );
      await stop(sick);
      await proxy.close();
    });

    it('with another address of the service', async () => {
      const node = b();
      const sick = await start(installation(node, { service: { baseUrl: elsewhere.url } }));
      await deliversWell('another base URL');
      await isNamed(new RegExp(`node ${node}, stands by: node a has other service.baseUrl`));
      expect(elsewhere.counts().requests).to.equal(0);
      await stop(sick);
    });

    it('with another mapping', async () => {
      const node = b();
      const fields = { remark: 'order_no' };
      const sick = await start(installation(node, { orders: { ...sampleErpMapping.orders, fields } }));
      await deliversWell('another mapping');
      await isNamed(
        new RegExp(`Node ${node} has other settings than node a, which leads: customers, orders`),
        `node.${node}.settings`,
      );
      await stop(sick);
    });

    for (const seconds of [20, -400])
      it(`whose clock is ${seconds} s off`, async () => {
        const node = b();
        const one = installation(node);
        const clock = await WallClock.start(join(dir.path, node), seconds * 1_000);
        Object.assign(one.env, clock.environment, { WAYBILL_BOOT_ID: `machine${node}` });
        const sick = await start(one);
        await deliversWell(`a clock ${seconds} s off`);
        await isNamed(
          new RegExp(`clock of node ${node} is .* that of the store, so it sends nothing`),
          `node.${node}.clock`,
        );
        sick.kill('SIGKILL');
        await sick.ended;
        running.delete(sick);
        await deliversWell('once it was killed');
      });

    it('on a machine that is suspended past its lease, and resumes with clocks that stood still', async () => {
      const node = b();
      const one = installation(node);
      const clock = await WallClock.start(join(dir.path, node), 0);
      Object.assign(one.env, clock.environment, { WAYBILL_BOOT_ID: `machine${node}` });
      const sick = await start(one);
      await enter();
      await sleep(3_000);
      sick.kill('SIGSTOP');
      const stoppedAt = Date.now();
      await deliversWell('a suspended machine');
      await isNamed(new RegExp(`node ${node} stopped without a word`));
      await enter();
      clock.standStill(Date.now() - stoppedAt);
      // A look at the store counts for 20 ms, so one request may still go.
      excess = 1;
      sick.kill('SIGCONT');
      await deliversWell('a resumed machine');
      await stop(sick);
    });

    it('whose ERP has another name, so that it may not capture, and leads', async () => {
      const node = b();
      await stop(a);
      const file = dir.file('copy.sqlite');
      await cp(erp.file, file);
      const sick = await start(installation(node, {}, { erp: { type: 'sqlite', file } }));
      await sick.line(({ message }) => message.startsWith('This node leads'));
      a = await start(healthy);
      await deliversWell('an ERP of another name');
      await isNamed(
        new RegExp(`Node ${node} could not read the ERP, so node a leads: .*the keys of .* were`),
        `node.${node}.lead`,
      );
      await stop(sick);
    });

    it('that can not read the ERP any more, and leads', async () => {
      const node = b();
      await stop(a);
      const clerk = openSqlite(erp.file);
      clerk.exec('CREATE VIEW orders_of_b AS SELECT * FROM sales_orders');
      const query = sampleErpMapping.orders.query.replace('sales_orders', 'orders_of_b');
      const sick = await start(installation(node, { orders: { ...sampleErpMapping.orders, query } }));
      await sick.line(({ message }) => message.startsWith('This node leads'));
      a = await start(healthy);
      await enter();
      clerk.exec('DROP VIEW orders_of_b');
      clerk.close();
      await deliversWell('no ERP access');
      await isNamed(
        new RegExp(`Node ${node} could not read the ERP, so node a leads: .*orders_of_b`),
        `node.${node}.lead`,
      );
      await stop(sick);
    });

    it('that comes back after the clock of the store was set back by ten minutes', async () => {
      const node = b();
      const first = await start(installation(node));
      await deliversWell('two healthy nodes');
      await stop(first);
      await database().query(
        'UPDATE lease SET released_at=released_at+600000, expires_at=expires_at+600000 WHERE released_at IS NOT NULL OR expires_at IS NOT NULL',
      );
      const again = await start(installation(node));
      await again.line(({ message }) => message.startsWith('Delivering from here'));
      await deliversWell('the store’s clock was set back');
      await stop(again);
    });

    it('beside a Redis that names only messages that are gone', async () => {
      const { host, port, password } = redis.server;
      const over = (node: string) => {
        const one = installation(node, { cluster: { enabled: true, node, redis: { hosts: [`${host}:${port}`] } } });
        one.env.WAYBILL_CLUSTER_REDIS_PASSWORD = password;
        return one;
      };
      const shares = ({ message }: { message: string }) => message.startsWith('The nodes share the work over Redis');
      const others = [await start(over(b())), await start(over(b()))];
      await stop(a);
      for (const one of others) await one.line(shares);
      await deliversWell('over Redis');
      expect(await addGoneJobs(redis.server, 1_500)).to.equal(true);
      await deliversWell('over a Redis of the past');
      expect(
        others.flatMap(({ lines }) => lines).some(({ message }) => message.startsWith('Redis names only')),
      ).to.equal(true);
      a = await start(healthy);
      for (const one of others) await stop(one);
    });

    it('after all that, has delivered each order once', async () => {
      await eventually('all are there', () => sandbox.counts().orders === entered, 60_000);
      const open = "SELECT COUNT(*) AS n FROM outbox_message WHERE state IN ('pending','sending','in_doubt','parked')";
      await eventually(
        'nothing is open or parked',
        async () => Number((await database().query(open))[0]?.n) === 0,
        30_000,
      );
    });
  });
