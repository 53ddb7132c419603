import { expect } from 'chai';
import { ClusterDispatcher } from '../../../src/outbound/dispatch/cluster-dispatcher.js';
import { useStore } from '../../store/stores.js';
import { type CuttableProxy, startCuttableProxy } from '../../support/cuttable-proxy.js';
import { everyAttempt } from '../../support/every-attempt.js';
import { type Lab, useLab } from '../../support/jobs/job-lab.js';
import type { Redis } from '../../support/redis.js';
import { useRedis } from '../../support/use-redis.js';
import { waitFor } from '../../support/wait-for.js';

const orders = 80;

const keyOf = async (server: Redis, what: string) =>
  String(await server.run('EVAL', `return redis.call('KEYS', '*:deliver:${what}')[1]`, '0'));
const loseQueue = async (server: Redis) => server.run('DEL', await keyOf(server, 'prioritized'));
const pauseQueue = async (server: Redis) => server.run('HSET', await keyOf(server, 'meta'), 'paused', '1');

interface Scene {
  server: Redis;
  proxy: CuttableProxy;
}

/** The fate of Redis in the middle of a delivery, and true if delivery has to say that it goes on without it. */
const faults: { name: string; strike: (scene: Scene) => unknown; mend?: (scene: Scene) => unknown; isSaid: boolean }[] =
  [
    { name: 'is killed', strike: ({ server }) => server.kill(), mend: ({ server }) => server.restart(), isSaid: true },
    {
      name: 'is killed and comes back empty at once',
      strike: async ({ server }) => {
        await server.kill();
        await server.restart();
      },
      isSaid: true,
    },
    {
      name: 'loses its queue and keeps the jobs, as one that is short of memory',
      strike: ({ server }) => loseQueue(server),
      isSaid: false,
    },
    { name: 'is told by somebody to pause the queue', strike: ({ server }) => pauseQueue(server), isSaid: false },
    { name: 'loses all that it holds', strike: ({ server }) => server.empty(), isSaid: false },
    {
      name: 'answers no more',
      strike: ({ server }) => server.pause(),
      mend: ({ server }) => server.resume(),
      isSaid: true,
    },
    { name: 'is cut off from this node', strike: ({ proxy }) => proxy.cut(), isSaid: true },
    { name: 'can not be heard by this node', strike: ({ proxy }) => proxy.stall(), isSaid: true },
    {
      name: 'becomes a replica, which takes no writes',
      strike: ({ server }) => server.run('REPLICAOF', '127.0.0.1', '1'),
      mend: ({ server }) => server.run('REPLICAOF', 'NO', 'ONE'),
      isSaid: true,
    },
    {
      name: 'has no more memory',
      strike: ({ server }) => server.run('CONFIG', 'SET', 'maxmemory', '1'),
      mend: ({ server }) => server.run('CONFIG', 'SET', 'maxmemory', '0'),
      isSaid: true,
    },
  ];

describe('delivery over Redis', () => {
  const redis = useRedis();
  const kit = useLab(useStore('sqlite'));
  let proxy: CuttableProxy;
  let dispatcher: ClusterDispatcher | undefined;
  beforeEach(async () => {
    proxy = await startCuttableProxy(redis.server);
  });
  afterEach(async () => {
    await dispatcher?.close();
    dispatcher = undefined;
    await proxy.close();
  });

  const start = async (password = redis.server.password) => {
    const lab = await kit.start({
      customers: 2,
      orders,
      settings: {
        // Few at a time, so that Redis is asked all the time.
        service: { concurrency: 4, limits: [{ requests: 30, perSeconds: 0.1 }] },
        cluster: { redis: { hosts: [`127.0.0.1:${proxy.port}`], password } },
      },
    });
    await lab.capture();
    dispatcher = new ClusterDispatcher(lab.context);
    await dispatcher.settled();
    return { lab, dispatcher };
  };
  const said = ({ log }: Lab, what: string) => log.filter((line) => line.includes(what));
  const expectEachOnce = async (lab: Lab) => {
    const expected = await lab.expectedOrders();
    expect(lab.sandbox.counts().orders).to.equal(expected.size);
    const { n } = (await kit.rows(`SELECT COUNT(*) AS n FROM ${everyAttempt} WHERE purpose='create'`))[0] as {
      n: number;
    };
    expect(Number(n), 'no attempt in vain').to.equal(expected.size + 2);
    const open = await kit.rows("SELECT id FROM outbox_message WHERE state<>'delivered'");
    expect(open).to.deep.equal([]);
  };

  it('is that of the store, in the same order', async () => {
    const { lab, dispatcher } = await start();
    await lab.deliver({ dispatcher });
    await expectEachOnce(lab);
    expect(said(lab, 'share the work over Redis')).to.have.length(1);
    expect(said(lab, 'without Redis')).to.deep.equal([]);
    const sent = await kit.rows(`SELECT message_id FROM ${everyAttempt} ORDER BY started_at, message_id`);
    const ids = sent.map((row) => Number(row.message_id));
    expect(ids).to.deep.equal(ids.toSorted((a, b) => a - b));
    const stats = String(await redis.server.run('INFO', 'commandstats'));
    expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1])).to.be.above(orders);
  });

  for (const { name, strike, mend, isSaid } of faults)
    it(`goes on when Redis ${name}, each order once`, async () => {
      const { lab, dispatcher } = await start();
      const scene = { server: redis.server, proxy };
      let struck: Promise<unknown> | undefined;
      const begunAt = performance.now();
      await lab.deliver({
        dispatcher,
        retryHorizonMs: 5_000,
        onProgress: ({ delivered }) => {
          if (delivered.orders >= 10) struck ??= Promise.resolve(strike(scene));
        },
      });
      const tookMs = performance.now() - begunAt;
      await struck;
      await mend?.(scene);
      await expectEachOnce(lab);
      expect(said(lab, 'without Redis')).to.have.length(isSaid ? 1 : 0);
      expect(tookMs, 'it waits for nothing').to.be.below(10_000);
    });

  it('leaves what is not due any more, although Redis names it still', async () => {
    const { lab, dispatcher } = await start();
    const before = await kit.rows("SELECT id FROM outbox_message WHERE entity='order' ORDER BY id");
    const stale = Number(before.at(-1)?.id);
    // Another node has tried it meanwhile, in vain.
    const next = dispatcher.next.bind(dispatcher);
    dispatcher.next = async (space, listDue) => [
      ...(await next(space, listDue)),
      { id: stale, attempts: 0, isUrgent: true },
    ];
    await kit.store.transaction('as another node', (tx) =>
      tx.run('UPDATE outbox_message SET next_attempt_at=? WHERE id=?', [Date.now() + 45_000, stale]),
    );
    await lab.deliver({ dispatcher });
    const open = await kit.rows("SELECT id, attempts FROM outbox_message WHERE state<>'delivered'");
    expect(open).to.deep.equal([{ id: stale, attempts: 0 }]);
  });

  it('takes its turns from Redis again once it is back, and says so', async () => {
    const { lab, dispatcher } = await start();
    await redis.server.kill();
    await lab.deliver({ dispatcher });
    await expectEachOnce(lab);
    expect(said(lab, 'without Redis')).to.have.length(1);
    await redis.server.restart();
    await waitFor('Redis is in use again', async () => {
      await lab.deliver({ dispatcher });
      return said(lab, 'Redis is back').length > 0;
    });
    expect(said(lab, 'without Redis')).to.have.length(1);
  });

  it('begins without Redis where the password is wrong, and shows it to nobody', async () => {
    const { lab, dispatcher } = await start('not-the-password');
    await lab.deliver({ dispatcher });
    await expectEachOnce(lab);
    const lines = said(lab, 'without Redis');
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include('WRONGPASS');
    expect(lab.log.join('\n')).to.not.include('not-the-password');
  });
});
