import { expect } from 'chai';
import { hostAndPort } from '../../../src/model/database-place.js';
import type { Dispatcher, DueClaim, DueMessage, ListDue } from '../../../src/outbound/deliver/dispatcher.js';
import { StoreDispatcher } from '../../../src/outbound/deliver/due-messages.js';
import { ClusterDispatcher } from '../../../src/outbound/dispatch/cluster-dispatcher.js';
import { factsOf } from '../../../src/outbound/dispatch/redis-client.js';
import { coarseLimit } from '../../../src/outbound/dispatch/redis-queue.js';
import { systemClock } from '../../../src/store/clock.js';
import { useStore } from '../../store/stores.js';
import { alertsInWords } from '../../support/alerts.js';
import { useLab } from '../../support/jobs/job-lab.js';
import { useRedis } from '../../support/use-redis.js';
import { waitFor } from '../../support/wait-for.js';

/** Messages that are due, as the store would list them, and which of them were claimed. */
class Due {
  readonly claimed: number[] = [];
  listed = 0;
  #messages: (DueMessage & { isBacklog: boolean })[];

  constructor({ news = 0, backlog = 0 }) {
    const made = (count: number, from: number, isBacklog: boolean) =>
      Array.from({ length: count }, (_, i) => ({ id: from + i, attempts: 0, isBacklog }));
    this.#messages = [...made(news, 1, false), ...made(backlog, 10_001, true)];
  }

  readonly list: ListDue = async (most, mostOfBacklog) => {
    this.listed++;
    const some = (isBacklog: boolean, limit: number) =>
      this.#messages.filter((one) => one.isBacklog === isBacklog).slice(0, limit);
    return { news: some(false, most), backlog: some(true, mostOfBacklog) };
  };

  add(...messages: { id: number; isBacklog: boolean }[]): void {
    this.#messages.push(...messages.map((one) => ({ ...one, attempts: 0 })));
  }

  /** As the store claims: what is due, once. */
  claim(claims: readonly DueClaim[]): number[] {
    const ids = claims.map(({ id }) => id).filter((id) => this.#messages.some((one) => one.id === id));
    this.#messages = this.#messages.filter(({ id }) => !ids.includes(id));
    this.claimed.push(...ids);
    return ids;
  }

  get left(): number {
    return this.#messages.length;
  }
}

const space = { room: 16, backlogRoom: 8, perSecond: 32 };

describe('the dispatchers', () => {
  const redis = useRedis();
  const kit = useLab(useStore('sqlite'));
  const open: Dispatcher[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  const cluster = async (aheadMs = () => 0) => {
    const { server } = redis;
    const lab = await kit.start({ customers: 1, orders: 1 });
    const { context } = lab.another({
      settings: {
        cluster: { redis: { hosts: [`127.0.0.1:${server.port}`], password: server.password } },
      },
    });
    const clock = { ...context.clock, monotonicMs: () => context.clock.monotonicMs() + aheadMs() };
    const dispatcher = new ClusterDispatcher({ ...context, clock });
    open.push(dispatcher);
    await dispatcher.settled();
    return dispatcher;
  };
  /** One turn of a node's loop. @returns what was named, and what was claimed of it */
  const turn = async (dispatcher: Dispatcher, due: Due, some = space) => {
    const named = await dispatcher.next(some, due.list);
    const claimed = due.claim(named);
    dispatcher.claimed(claimed.length);
    return { named, claimed };
  };
  const drain = async (dispatcher: Dispatcher, due: Due) => {
    const turns: DueClaim[][] = [];
    await waitFor('all is claimed', async () => {
      if (due.left > 0) turns.push((await turn(dispatcher, due)).named);
      return due.left === 0;
    });
    return turns;
  };

  it('list at once what is named in three turns, and again when it is old or does not fill the room', async () => {
    let monotonicMs = 0;
    const local = new StoreDispatcher({ monotonicMs: () => monotonicMs });
    const due = new Due({ news: 100 });
    const named = async (some = space) => (await turn(local, due, some)).named.length;
    expect([await named(), await named(), await named(), due.listed]).to.deep.equal([16, 16, 16, 1]);
    expect([await named(), due.listed], 'nothing is left of the list').to.deep.equal([16, 2]);
    monotonicMs += 200;
    expect([await named(), due.listed], 'it may have changed').to.deep.equal([16, 3]);
    expect([await named({ ...space, room: 40 }), due.listed], 'more than is left').to.deep.equal([20, 4]);
    expect([await named(), due.listed]).to.deep.equal([0, 5]);
    due.add(...[1, 2, 3].map((id) => ({ id: 1_000 + id, isBacklog: false })));
    const narrow = { ...space, room: 1 };
    expect([await named(narrow), due.listed]).to.deep.equal([1, 6]);
    local.claimed(0);
    expect([await named(narrow), due.listed], 'others took what was named').to.deep.equal([1, 7]);
  });

  for (const [name, start] of [
    ['local', async () => new StoreDispatcher(systemClock)],
    ['cluster', cluster],
  ] as const)
    describe(name, () => {
      it('names each message once, in its order, and never more than there is room for', async () => {
        const due = new Due({ news: 200 });
        const turns = await drain(await start(), due);
        expect(due.claimed).to.deep.equal(Array.from({ length: 200 }, (_, i) => i + 1));
        expect(Math.max(...turns.map(({ length }) => length))).to.equal(space.room);
        expect(turns.flat()).to.have.length(200);
      });

      it('names news before the backlog, and one of the backlog in every tenth place', async () => {
        const due = new Due({ news: 60, backlog: 60 });
        const turns = await drain(await start(), due);
        const first = turns.flat().slice(0, 60);
        expect(first.filter(({ id }) => id > 10_000)).to.have.length(6);
        expect(first.every(({ isUrgent }) => isUrgent)).to.equal(true);
        expect(
          turns
            .flat()
            .slice(70)
            .every(({ isUrgent }) => !isUrgent),
        ).to.equal(true);
        expect(new Set(due.claimed).size).to.equal(120);
      });

      it('leaves room for news beside the backlog', async () => {
        const due = new Due({ backlog: 100 });
        const dispatcher = await start();
        const { named } = await turn(dispatcher, due);
        expect(named.map(({ isUrgent }) => isUrgent)).to.deep.equal(Array(8).fill(false));
        expect((await turn(dispatcher, due, { ...space, backlogRoom: 0 })).named).to.deep.equal([]);
        due.add({ id: 1, isBacklog: false });
        await waitFor('news passes the backlog', async () => {
          const next = await turn(dispatcher, due, { ...space, backlogRoom: 0 });
          return next.claimed.includes(1);
        });
      });

      it('names again what was named, and not claimed', async () => {
        const due = new Due({ news: 3 });
        const dispatcher = await start();
        const lost = await dispatcher.next(space, due.list);
        expect(lost.map(({ id }) => id)).to.deep.equal([1, 2, 3]);
        dispatcher.claimed(0);
        await drain(dispatcher, due);
        expect(due.claimed).to.deep.equal([1, 2, 3]);
      });

      it('names nothing where nothing is due', async () => {
        expect((await turn(await start(), new Due({}))).named).to.deep.equal([]);
      });
    });

  it('of two nodes name each message to one of them', async () => {
    const due = new Due({ news: 300 });
    const nodes = [await cluster(), await cluster()];
    const named = nodes.map((): DueClaim[] => []);
    await waitFor('all is claimed', async () => {
      const turns = await Promise.all(nodes.map((node) => turn(node, due)));
      for (const [i, { named: some }] of turns.entries()) named[i]?.push(...some);
      return due.left === 0;
    });
    const ids = named.flat().map(({ id }) => id);
    expect(new Set(ids).size).to.equal(300);
    expect(due.claimed).to.have.length(300);
    // One that reads what is due while the other one claims may name what is gone by then: its claim finds nothing.
    expect(ids).to.have.length.below(300 + 4 * space.room);
    for (const some of named) expect(some.length).to.be.above(60);
  });

  it('of two nodes rest when one of them is told to slow down, and not for ever', async () => {
    const due = new Due({ news: 40 });
    const [one, other] = [await cluster(), await cluster()];
    await turn(one, due);
    one.slowDown(60_000);
    await waitFor('the other one rests', async () => (await turn(other, due)).named.length === 0);
    expect(due.left).to.be.above(0);
    await waitFor('the other one goes on', async () => (await turn(other, due)).named.length > 0);
  });

  it('drop what Redis names of the past, such as an old copy, and go on from the store at once', async () => {
    const past = new Due({ news: 1_000 });
    const node = await cluster();
    const wide = { room: 100, backlogRoom: 50, perSecond: 1_000 };
    await node.next({ ...wide, room: 1 }, past.list);
    node.claimed(1);
    const due = new Due({});
    due.add(...Array.from({ length: 5 }, (_, n) => ({ id: 5_000 + n, isBacklog: false })));
    const inVain: number[] = [];
    while (due.left > 0 && inVain.length < 8) inVain.push((await turn(node, due, wide)).named.length);
    expect(due.left, `turns that named ${inVain}`).to.equal(0);
    await waitFor('nothing of the past to be left', async () => {
      due.add({ id: 6_000, isBacklog: false });
      const { named } = await turn(node, due, wide);
      return named.length > 0 && named.every(({ id }) => id >= 5_000);
    });
  });

  it('leave what a dead node had fetched to the others', async () => {
    const { server } = redis;
    const due = new Due({ news: 20 });
    let aheadMs = 0;
    const [dead, other] = [await cluster(), await cluster(() => aheadMs)];
    expect(await dead.next(space, due.list)).to.have.length(16);
    await dead.close();
    await turn(other, due);
    expect(due.left).to.equal(16);
    await waitFor('all is claimed', async () => {
      // Time passes: its locks end, and it is time to look for such jobs.
      aheadMs += 60_000;
      const keys = (await server.run('KEYS', '*')) as string[];
      const timed = keys.filter((key) => /:(lock|stalled-check)$/.test(key));
      if (timed.length > 0) await server.run('DEL', ...timed);
      await turn(other, due);
      return due.left === 0;
    });
  });

  it('of a node tell a person when Redis stays away, and when it is back', async () => {
    const { server } = redis;
    let aheadMs = 0;
    const dispatcher = await cluster(() => aheadMs);
    const alerts = () => alertsInWords(kit, "cause LIKE 'redis.%'");
    const turnsUntil = (what: string, isSo: (open: boolean[]) => boolean) =>
      waitFor(what, async () => {
        await turn(dispatcher, new Due({ news: 1 }));
        // A restart of seconds is told to nobody.
        const found = await alerts();
        aheadMs += 1_000;
        return isSo(found.map(({ isOver }) => !isOver));
      });
    await server.kill();
    await turnsUntil('it is told', (open) => open[0] === true);
    expect(aheadMs).to.be.above(29_000);
    expect(String((await alerts())[0]?.message)).to.include('ECONNREFUSED');
    await server.restart();
    await turnsUntil('it is over', (open) => open[0] === false);
    expect(await alerts()).to.have.length(1);
  });
});

describe('a Redis server', () => {
  const problem = (info: string) => factsOf(info).problem;

  it('is refused where BullMQ can not run on it', () => {
    expect(problem('redis_version:6.0.16\r\nrole:master')).to.include('Redis 6.0.16 is too old');
    expect(problem('redis_version:6.2.0\r\nrole:master')).to.equal(null);
    expect(problem('redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1')).to.equal(null);
    expect(problem('redis_version:7.0.15\r\nrole:slave')).to.include('replica');
    expect(problem('')).to.include('too old');
  });

  it('is warned of where it may drop what it holds', () => {
    expect(factsOf('redis_version:7.0.15\nmaxmemory_policy:allkeys-lru').warning).to.include('allkeys-lru');
    expect(factsOf('redis_version:7.0.15\nmaxmemory_policy:noeviction').warning).to.equal(null);
  });

  it('is found by its host and port', () => {
    expect(hostAndPort('redis-1', 6379)).to.deep.equal({ host: 'redis-1', port: 6379 });
    expect(hostAndPort('10.0.0.1:1', 6379)).to.deep.equal({ host: '10.0.0.1', port: 1 });
    expect(hostAndPort('[::1]:26379', 6379)).to.deep.equal({ host: '::1', port: 26_379 });
  });
});

describe('the limit in Redis', () => {
  it('is a little above the shortest of the service, and none where that lasts long', () => {
    const limit = (requests: number, perSeconds: number) => ({ requests, perSeconds });
    expect(coarseLimit([limit(10_000, 86_400), limit(10, 1)])).to.deep.equal({ max: 13, duration: 1_000 });
    expect(coarseLimit([limit(10_000, 86_400)])).to.deep.equal({ max: 1_000_000, duration: 1_000 });
    expect(coarseLimit([])).to.deep.equal({ max: 1_000_000, duration: 1_000 });
  });
});
