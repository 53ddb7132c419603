import { expect } from 'chai';
import fc from 'fast-check';
import { type ClockReading, clockToleranceMs } from '../../src/store/clock.js';
import { deleteOldest } from '../../src/store/delete-oldest.js';
import { before, type ClockRecord, concludeTime, horizonOf, notice } from '../../src/store/elapsed-time.js';
import type { Tx } from '../../src/store/store.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Machines, what they show, and the time that truly passed. */
class World {
  trueMs = 0;
  record: ClockRecord | null = null;
  readonly machines = [0, 1].map((nth) => ({ nth, boots: 0, bootMs: 5 * hourMs, aheadMs: nth * 1_000 }));
  readonly startMs = 20_000 * dayMs;
  /** The true time of the last look at which a clock was found to have been set, or not to have run. */
  brokenAtMs = 0;
  #shownLeads: (number | null)[] = [null, null];
  #processes = 0;

  /** @param namesStarts false: each process has a name of its own for the start of its machine */
  constructor(private readonly namesStarts = true) {}

  pass(ms: number, awake = [0, 1]): void {
    this.trueMs += ms;
    for (const nth of awake) this.machine(nth).bootMs += ms;
  }

  machine(nth: number) {
    const machine = this.machines[nth];
    if (!machine) throw new Error(`no machine ${nth}`);
    return machine;
  }

  reading(nth: number): ClockReading {
    const { boots, bootMs, aheadMs } = this.machine(nth);
    const bootId = this.namesStarts
      ? `machine ${nth} start ${boots}`
      : `unnamed-${String(nth).repeat(16)}-${this.#processes++}`;
    return { bootId, bootMs, wallMs: this.startMs + this.trueMs + aheadMs };
  }

  look(nth: number, databaseMs: number | null = null) {
    const reading = this.reading(nth);
    this.record = notice(this.record, reading, null);
    const lead = this.startMs + this.trueMs + this.machine(nth).aheadMs - this.record.elapsedMs;
    if (this.#shownLeads[nth] !== lead) this.brokenAtMs = this.trueMs;
    this.#shownLeads[nth] = lead;
    return concludeTime(this.record, reading.wallMs, databaseMs);
  }

  boot(nth: number): void {
    this.machine(nth).boots++;
    this.machine(nth).bootMs = 0;
  }
}

type Event =
  | { do: 'pass' | 'off' | 'asleep'; ms: number; nth: number }
  | { do: 'set'; aheadMs: number; nth: number }
  | { do: 'boot'; nth: number }
  | { do: 'look'; nth: number };

const nth = fc.nat(1);
const spanMs = fc.oneof(fc.nat(hourMs), fc.nat(3 * dayMs), fc.nat(30 * dayMs));
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ do: fc.constantFrom('pass' as const, 'off' as const, 'asleep' as const), ms: spanMs, nth }),
  fc.record({ do: fc.constant('set' as const), aheadMs: fc.integer({ min: -9_000 * dayMs, max: 9_000 * dayMs }), nth }),
  fc.record({ do: fc.constant('boot' as const), nth }),
  fc.record({ do: fc.constant('look' as const), nth }),
  fc.record({ do: fc.constant('look' as const), nth }),
);

function happen(world: World, one: Event): void {
  if (one.do === 'pass') world.pass(one.ms);
  // The other machine runs on.
  else if (one.do === 'off') {
    world.pass(one.ms, [1 - one.nth]);
    world.boot(one.nth);
  }
  // A virtual machine that is paused measures nothing.
  else if (one.do === 'asleep') world.pass(one.ms, [1 - one.nth]);
  else if (one.do === 'set') world.machine(one.nth).aheadMs = one.aheadMs;
  else if (one.do === 'boot') world.boot(one.nth);
  else world.look(one.nth);
}

describe('time that surely passed', () => {
  it('is no wall time: the compiler refuses one where something can not be undone', () => {
    const refused = async (tx: Tx) => {
      // @ts-expect-error a wall time is no moment of the store's own time
      before(Date.now(), 1);
      // @ts-expect-error a wall time is no time that has surely come
      horizonOf({ sure: Date.now() }, 1);
      // @ts-expect-error a wall time is no horizon
      await deleteOldest(tx, { table: 'alert', key: 'id', where: 'over_told_at<?', before: Date.now() }, 1);
    };
    expect(refused).to.be.a('function');
  });

  it('is never more than what truly passed, whatever clocks and machines do', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.boolean(), (events, namesStarts) => {
        const world = new World(namesStarts);
        const looks: { trueMs: number; elapsed: number }[] = [];
        for (const one of events) {
          happen(world, one);
          if (one.do !== 'look' || !world.record) continue;
          const now = { trueMs: world.trueMs, elapsed: world.record.elapsedMs };
          for (const past of looks) {
            expect(now.elapsed - past.elapsed).to.be.at.least(0);
            expect(now.elapsed - past.elapsed).to.be.at.most(now.trueMs - past.trueMs);
          }
          looks.push(now);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('passes from one process to the next, also where the system does not name its starts', () => {
    const world = new World(false);
    const first = world.look(0);
    world.pass(hourMs);
    expect(world.look(0).elapsed - first.elapsed).to.equal(hourMs);
    world.boot(0);
    world.pass(hourMs);
    expect(world.look(0).elapsed - first.elapsed, 'less than before a restart: it is not known what passed').to.equal(
      hourMs,
    );
    world.pass(hourMs);
    expect(world.look(0).elapsed - first.elapsed).to.equal(2 * hourMs);
    world.pass(hourMs);
    expect(world.look(1).elapsed - first.elapsed, 'another machine').to.equal(2 * hourMs);
  });

  it('lets a wall time count only when its clock has shown it for a day', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const world = new World();
        world.look(0);
        /** The belief at the last look, by the true time. */
        let believed = { sureMs: world.startMs, trueMs: 0 };
        for (const one of events) {
          happen(world, one);
          if (one.do !== 'look') continue;
          const { sure } = world.look(one.nth);
          const passedMs = world.trueMs - believed.trueMs;
          // Within a day of a step nothing becomes due but by the time that truly passed.
          if (world.trueMs - world.brokenAtMs < dayMs)
            expect(sure).to.be.at.most(believed.sureMs + passedMs + 2 * clockToleranceMs);
          else believed = { sureMs: sure, trueMs: world.trueMs };
          expect(sure).to.be.at.most(world.reading(one.nth).wallMs);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('catches up with a clock that is right, whatever happened before', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const world = new World();
        for (const one of events) happen(world, one);
        for (const machine of world.machines) machine.aheadMs = 0;
        for (let minutes = 0; minutes <= 25 * 60; minutes += 30) {
          world.pass(30 * 60_000);
          world.look(0);
        }
        const { sure, doubt } = world.look(0);
        expect(world.startMs + world.trueMs - sure).to.be.at.most(clockToleranceMs);
        expect(doubt).to.equal(null);
      }),
      { numRuns: 200 },
    );
  });

  const at = (world: World) => world.startMs + world.trueMs;

  it('is not moved by a clock that is ahead for four seconds', () => {
    const world = new World();
    for (let days = 0; days < 3; days++) {
      world.look(0);
      world.pass(dayMs);
    }
    world.machine(0).aheadMs = 1_200 * dayMs;
    const ahead = world.look(0);
    expect(ahead.sure).to.be.within(at(world) - clockToleranceMs, at(world));
    expect(ahead.doubt).to.deep.equal({ of: 'machine', aheadMs: 1_200 * dayMs });
    world.pass(4_000);
    world.machine(0).aheadMs = 0;
    const right = world.look(0);
    expect(right.sure).to.equal(at(world));
    expect(right.doubt).to.equal(null);
    expect(right.latestMs - at(world), 'what it wrote lies ahead for a day').to.equal(1_200 * dayMs);
    world.pass(25 * hourMs);
    world.look(0);
    world.pass(1_000);
    expect(world.look(0).latestMs).to.equal(at(world));
  });

  it('believes a machine that was off for three weeks after a day, and one that is off at night goes on', () => {
    const world = new World();
    world.look(0);
    world.pass(21 * dayMs, []);
    world.boot(0);
    expect(world.look(0).sure).to.equal(at(world) - 21 * dayMs);
    world.pass(23 * hourMs);
    const waits = world.look(0);
    expect(waits.sure).to.equal(at(world) - 21 * dayMs);
    expect(waits.doubt?.of).to.equal('machine');
    world.pass(2 * hourMs);
    expect(world.look(0)).to.include({ sure: at(world), doubt: null });

    for (let days = 0; days < 30; days++) {
      for (let hours = 0; hours < 9; hours++) {
        world.pass(hourMs);
        world.look(0);
      }
      world.pass(15 * hourMs, []);
      world.boot(0);
    }
    const nightly = world.look(0);
    expect(at(world) - nightly.sure).to.be.within(0, 3 * dayMs);
    expect(nightly.doubt, 'nothing to tell a person').to.equal(null);
  });

  it('begins with the newest row, where a store was never looked at', () => {
    const newest = 100 * dayMs;
    const first = notice(null, { bootId: 'a', bootMs: 0, wallMs: 1_300 * dayMs }, newest);
    expect(concludeTime(first, 1_300 * dayMs, null).sure).to.equal(newest);
    const later = notice(first, { bootId: 'a', bootMs: 25 * hourMs, wallMs: 1_300 * dayMs + 25 * hourMs }, null);
    expect(concludeTime(later, 1_300 * dayMs + 25 * hourMs, null).sure).to.equal(1_300 * dayMs + 25 * hourMs);
  });

  it('goes by the clock of the database where that is behind, and says so', () => {
    const wallMs = 1_300 * dayMs;
    const record = notice(null, { bootId: 'a', bootMs: 0, wallMs }, null);
    const time = concludeTime(record, wallMs, wallMs - 3 * dayMs);
    expect(time.sure).to.equal(wallMs - 3 * dayMs);
    expect(time.doubt).to.deep.equal({ of: 'database', aheadMs: 3 * dayMs });
    expect(horizonOf(time, 10)).to.equal(wallMs - 13 * dayMs);
  });

  it('goes by the slower of two machines that lead in turn', () => {
    const world = new World();
    world.machine(1).aheadMs = 900 * dayMs;
    for (let hours = 0; hours < 72; hours++) {
      world.pass(hourMs);
      const leads = Math.floor(hours / 12) % 2;
      expect(world.look(leads).sure).to.be.at.most(at(world));
    }
    const { doubt } = world.look(1);
    expect(doubt?.of).to.equal('machine');
    expect(doubt?.aheadMs).to.be.within(900 * dayMs, 901 * dayMs);
  });

  it('keeps a small record, however often clocks are set', () => {
    const world = new World();
    for (let times = 0; times < 500; times++) {
      world.machine(0).aheadMs = ((times * 7_919) % 1_000) * dayMs;
      world.boot(0);
      world.pass(60_000);
      world.look(0);
    }
    expect(JSON.stringify(world.record).length).to.be.lessThan(5_000);
    expect(world.look(0).sure).to.be.at.most(at(world) + clockToleranceMs);
  });
});
