import { expect } from 'chai';
import fc from 'fast-check';
import { takePlaces } from '../../../../src/outbound/deliver/cluster/take-places.js';
import { fairPlaces } from '../../../../src/service/rate-limit/fair-places.js';
import { LimitShare } from '../../../../src/service/rate-limit/limit-share.js';
import { SlidingSlots } from '../../../../src/service/rate-limit/sliding-slots.js';
import type { NodeRow } from '../../../../src/store/lease-rows.js';

const windowMs = 1_000;
const leaseMs = 3_000;

/** A process with a limiter of its own. Its requests end before its lease does, as `mayStartRequest` sees to it. */
class Process {
  readonly slots: SlidingSlots;
  readonly share: LimitShare;
  readonly row: NodeRow;
  leaseEndsAt: number;
  underWay = 0;
  /** The rate that it was told it may use, and has not heard yet. */
  unheard: number[] | null = null;
  isDead = false;

  constructor(
    readonly world: World,
    name: string,
  ) {
    this.slots = new SlidingSlots({ requests: world.requests, windowMs });
    this.share = new LimitShare(
      [this.slots],
      () => world.now,
      () => undefined,
    );
    this.share.set([], 1);
    this.leaseEndsAt = world.now + leaseMs;
    this.row = {
      name: `node/${name}`,
      epoch: world.processes.length + 1,
      holder: name,
      holderProcess: null,
      expiresAt: world.now + leaseMs,
      releasedAt: null,
      now: 0,
      sinceAt: 0,
      version: null,
      share: null,
    };
  }
}

/** Processes, their rows in the store, and what the service counts. */
class World {
  now = 1_000_000;
  readonly processes: Process[] = [];
  /** When each request was counted by the service, at the latest: at its answer. */
  readonly counted: number[] = [];

  constructor(readonly requests: number) {}

  join(): void {
    this.processes.push(new Process(this, `n${this.processes.length}`));
  }

  /** A process under the name of one that is gone, once that one's requests count no more. */
  joinAgain(one: Process): void {
    const { row } = one;
    if (!one.isDead || row.holder !== null || row.releasedAt === null || this.now - row.releasedAt < windowMs) return;
    Object.assign(row, { holder: 'again', releasedAt: null, expiresAt: this.now + leaseMs, share: null });
    const again = new Process(this, 'again');
    this.processes[this.processes.indexOf(one)] = Object.assign(again, { row });
  }

  at(nth: number): Process | undefined {
    return this.processes[nth % Math.max(1, this.processes.length)];
  }

  /** @param isHeard whether the process learns at once what it may use */
  beat(one: Process, demand: number, isHeard: boolean): void {
    if (one.isDead || one.row.holder === null) return;
    for (const { row } of this.processes) {
      row.now = this.now;
      if (row !== one.row && row.holder !== null && Number(row.expiresAt) <= this.now) {
        row.holder = null;
        row.releasedAt = this.now;
      }
    }
    const rows = this.processes.map(({ row }) => row);
    const alive = rows.filter(({ holder }) => holder !== null);
    const gone = rows.filter(({ holder }) => holder === null);
    const view = { me: one.row, alive, gone, part: 'works' as const, demand: [demand], limits: 'one', counted: [null] };
    const { share, use } = takePlaces(one.share, view);
    one.row.share = JSON.stringify(share);
    one.row.expiresAt = this.now + leaseMs;
    one.leaseEndsAt = this.now + leaseMs;
    one.unheard = use;
    if (isHeard) this.hear(one);
  }

  hear(one: Process): void {
    if (one.unheard && !one.isDead) one.share.set(one.unheard, 1);
    one.unheard = null;
  }

  start(one: Process): void {
    if (one.isDead || this.now + 500 >= one.leaseEndsAt || one.slots.waitMs(this.now) > 0) return;
    one.slots.take();
    one.underWay++;
  }

  answer(one: Process): void {
    if (one.underWay === 0) return;
    one.underWay--;
    if (!one.isDead) one.slots.giveBack(this.now, true);
    this.counted.push(this.now);
  }

  pass(ms: number): void {
    for (let left = ms; left > 0; left -= 100) {
      this.now += Math.min(100, left);
      // Each request is answered before the lease of its process ends, whether that one lives to hear it or not.
      for (const one of this.processes) while (one.underWay > 0 && this.now + 200 >= one.leaseEndsAt) this.answer(one);
    }
  }

  /** The most that the service may have counted in any window so far. */
  get most(): number {
    const recent = this.counted.filter((at) => at > this.now - windowMs).length;
    return recent + this.processes.reduce((sum, { underWay }) => sum + underWay, 0);
  }
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('beat' as const), who: fc.nat(7), n: fc.nat(40), heard: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hear' as const), who: fc.nat(7) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('start' as const), who: fc.nat(7), n: fc.integer({ min: 1, max: 30 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('answer' as const), who: fc.nat(7), n: fc.integer({ min: 1, max: 30 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('join' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('die' as const), who: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const), who: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), who: fc.nat(7) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), n: fc.integer({ min: 1, max: 1_500 }) }) },
);

function take(world: World, one: typeof step extends fc.Arbitrary<infer One> ? One : never): void {
  const who = 'who' in one ? world.at(one.who) : undefined;
  if (one.do === 'join' && world.processes.length < 6) world.join();
  if (one.do === 'pass') world.pass(one.n);
  if (!who) return;
  if (one.do === 'beat') world.beat(who, one.n, one.heard);
  if (one.do === 'hear') world.hear(who);
  if (one.do === 'start') for (let n = 0; n < one.n; n++) world.start(who);
  if (one.do === 'answer') for (let n = 0; n < one.n; n++) world.answer(who);
  if (one.do === 'die') who.isDead = true;
  if (one.do === 'again') world.joinAgain(who);
  if (one.do === 'leave' && who.underWay === 0 && who.row.holder !== null) {
    who.isDead = true;
    who.row.holder = null;
    who.row.releasedAt = world.now;
  }
}

describe('the places of a limit among nodes', () => {
  it('are never more in use than the limit, whatever joins, dies, leaves, comes late or changes its mind', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(step, { maxLength: 120, size: 'max' }),
        (requests, steps) => {
          const world = new World(requests);
          world.join();
          world.join();
          for (const one of steps) {
            take(world, one);
            if (world.most > requests) return false;
          }
          return true;
        },
      ),
      { numRuns: 1_500 },
    );
  });

  it('all belong to nodes at work again a few beats after one has died, and to the one that needs them', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 500 }),
        fc.integer({ min: 2, max: 4 }),
        fc.nat(3),
        (requests, nodes, dies) => {
          const world = new World(requests);
          for (let n = 0; n < nodes; n++) world.join();
          const beats = (demand: (nth: number) => number) => {
            for (let round = 0; round < 4; round++) {
              world.pass(1_000);
              for (const [nth, one] of world.processes.entries()) world.beat(one, demand(nth), true);
            }
          };
          const places = () => world.processes.filter(({ isDead }) => !isDead).map(({ slots }) => slots.places);
          const sum = () => places().reduce((all, one) => all + one, 0);
          beats(() => requests);
          expect(sum(), 'all are busy').to.equal(requests);
          expect(Math.max(...places()) - Math.min(...places()), 'evenly').to.be.at.most(nodes);
          beats((nth) => (nth === 0 ? requests : 0));
          expect(places()[0], 'one is busy').to.equal(requests - (nodes - 1));
          const dead = world.processes[dies % nodes] as Process;
          dead.isDead = true;
          beats(() => requests);
          beats(() => requests);
          expect(sum(), 'one is dead').to.equal(requests);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('are fair: no node has less than it could use while another has more than its part', () => {
    const demands = fc.array(fc.nat(100), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.nat(200), demands, fc.nat(50), (places, wanted, turn) => {
        const takers = wanted.map((demand, nth) => ({ name: `n${nth}`, demand }));
        const fair = fairPlaces(places, takers, turn);
        const given = takers.map(({ name }) => fair.get(name) as number);
        expect(given.reduce((all, one) => all + one, 0)).to.be.at.most(places);
        const short = takers.filter(
          ({ demand }, nth) => (given[nth] as number) < Math.min(Math.max(demand, 1), places),
        );
        const least = Math.min(...short.map(({ name }) => fair.get(name) as number));
        if (short.length > 0) {
          expect(Math.max(...given) - least).to.be.at.most(takers.length);
          expect(given.reduce((all, one) => all + one, 0)).to.equal(places);
        }
      }),
    );
  });

  it('go round where there are fewer than nodes', () => {
    const takers = ['a', 'b', 'c'].map((name) => ({ name, demand: 1 }));
    const has = (turn: number) =>
      [...fairPlaces(1, takers, turn)].filter(([, places]) => places === 1).map(([name]) => name);
    expect([0, 1, 2].flatMap(has).sort()).to.deep.equal(['a', 'b', 'c']);
  });
});
