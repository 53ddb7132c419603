import { expect } from 'chai';
import fc from 'fast-check';
import type { Fact } from '../../../../src/model/facts/fact.js';
import {
  type Decision,
  decideBeat,
  type OwnFacts,
  overNodes,
} from '../../../../src/outbound/deliver/cluster/decide-beat.js';
import type { NodeRow } from '../../../../src/store/lease-rows.js';

const reason: Fact = { code: 'lease_ending' };
const now = 1_000_000;
const long = [{ windowMs: 1_000 }, { windowMs: 3_600_000 }];

/** A node as it knows itself. */
interface Itself {
  trouble: 'credential' | 'outage' | null;
  mayTry: boolean;
  cannotLead: boolean;
  clockOffMs: number;
}
const itself: fc.Arbitrary<Itself> = fc.record({
  trouble: fc.constantFrom(null, null, 'credential', 'outage'),
  mayTry: fc.boolean(),
  cannotLead: fc.constantFrom(false, false, true),
  clockOffMs: fc.constantFrom(0, 0, 0, 9_000, -9_000, 20_000, -400_000),
});
const healthy: Itself = { trouble: null, mayTry: false, cannotLead: false, clockOffMs: 0 };

function ownFacts({ trouble, mayTry, cannotLead, clockOffMs }: Itself): OwnFacts {
  return {
    clock: { beforeMs: now + clockOffMs, afterMs: now + clockOffMs },
    limits: long,
    trouble: trouble && { cause: trouble, reason, sinceMs: 0 },
    mayTry: trouble !== null && mayTry,
    cannotLead: cannotLead ? reason : null,
  };
}

/** Nodes that know themselves, and what their rows say since their last beats. */
class World {
  leader: number | null = null;
  readonly rows: NodeRow[];

  constructor(readonly nodes: Itself[]) {
    this.rows = nodes.map((_, nth) => ({
      name: `node/n${nth}`,
      epoch: nth + 1,
      holder: `n${nth}`,
      holderProcess: null,
      expiresAt: now + 1_000,
      releasedAt: null,
      now,
      sinceAt: 0,
      version: null,
      share: null,
    }));
  }

  get alive(): NodeRow[] {
    return this.rows.filter(({ holder }) => holder !== null);
  }

  die(nth: number): void {
    const row = this.rows[nth % this.rows.length] as NodeRow;
    if (this.alive.length > 1) row.holder = null;
  }

  beat(nth: number): (Decision & { own: Itself; me: NodeRow }) | null {
    const me = this.rows[nth % this.rows.length] as NodeRow;
    const own = this.nodes[nth % this.rows.length] as Itself;
    if (me.holder === null) return null;
    const decision = decideBeat(ownFacts(own), { me, alive: this.alive, leader: this.leader });
    if (decision.newLeader) this.leader = decision.newLeader.epoch;
    me.share = JSON.stringify({ limits: '', places: [], demand: [], at: now, ...decision.told });
    return { ...decision, own, me };
  }

  beatAll(): ReturnType<World['beat']>[] {
    return this.rows.map((_, nth) => this.beat(nth));
  }

  /** Says so of itself, as of its last beat. */
  told(row: NodeRow): Partial<Decision['told']> {
    return JSON.parse(row.share ?? '{}');
  }
}

const world = fc.array(itself, { minLength: 1, maxLength: 5 }).map((nodes) => new World(nodes));
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ beats: fc.nat(4) }) },
    { weight: 1, arbitrary: fc.record({ dies: fc.nat(4) }) },
    { weight: 3, arbitrary: fc.record({ changes: fc.nat(4), to: itself }) },
  ),
  { maxLength: 40 },
);
/** Lets nodes beat, die and change in any order. @param look called after each beat, with what was so before it */
function live(
  one: World,
  all: typeof steps extends fc.Arbitrary<infer All> ? All : never,
  look: (
    beat: NonNullable<ReturnType<World['beat']>>,
    before: { leader: number | null; told: ReturnType<World['told']>[] },
  ) => void = () => undefined,
): void {
  for (const step of all) {
    if ('dies' in step) one.die(step.dies);
    if ('changes' in step) one.nodes[step.changes % one.nodes.length] = step.to;
    if (!('beats' in step)) continue;
    const me = one.rows[step.beats % one.rows.length];
    const before = {
      leader: one.leader,
      told: one.alive.filter((row) => row !== me).map((row) => one.told(row)),
    };
    const beat = one.beat(step.beats);
    if (beat) look(beat, before);
  }
}
const runs = { numRuns: 1_000 };

describe('what a node decides at each beat', () => {
  it('never takes the lead from a node at work, which hands it on by itself', () => {
    fc.assert(
      fc.property(world, steps, (one, all) => {
        live(one, all, ({ newLeader, leads, me }, { leader }) => {
          const isLedByOther = leader !== me.epoch && one.alive.some(({ epoch }) => epoch === leader);
          if (isLedByOther) expect({ newLeader, leads }).to.deep.equal({ newLeader: null, leads: false });
          expect(leads, 'it knows whether it leads').to.equal(one.leader === me.epoch);
        });
      }),
      runs,
    );
  });

  it('leaves the lead with an able node at work after two rounds, and where none is able, with any', () => {
    fc.assert(
      fc.property(world, steps, (one, all) => {
        live(one, all);
        for (let round = 0; round < 2; round++) one.beatAll();
        const nth = one.rows.findIndex(({ epoch }) => epoch === one.leader);
        expect(one.alive).to.include(one.rows[nth]);
        const isAble = ({ trouble, cannotLead, clockOffMs }: Itself) =>
          trouble === null && !cannotLead && Math.abs(clockOffMs) <= 10_000;
        const someAble = one.nodes.some(
          (node, other) => one.alive.includes(one.rows[other] as NodeRow) && isAble(node),
        );
        expect(isAble(one.nodes[nth] as Itself)).to.equal(someAble);
      }),
      runs,
    );
  });

  it('keeps the lead where it is while that node is able to lead', () => {
    fc.assert(
      fc.property(world, steps, (one, all) => {
        live(one, all, ({ told, newLeader, me }, { leader }) => {
          if (leader === me.epoch && !told.rests && !told.cannotLead) expect(newLeader).to.equal(null);
        });
      }),
      runs,
    );
  });

  it('sends with a clock that others can count by and a way to the service, and says why it does not', () => {
    fc.assert(
      fc.property(world, steps, (one, all) => {
        live(one, all, ({ own, part, told }) => {
          const isUnfit = Math.abs(own.clockOffMs) > 10_000;
          expect(told.rests).to.equal(isUnfit ? 'clock' : own.trouble);
          const resting = own.mayTry && !isUnfit ? 'tries' : 'rests';
          expect(part).to.equal(told.rests === null ? 'works' : resting);
          expect(told).to.deep.include({
            clockLeadMs: own.clockOffMs,
            cannotSend: !isUnfit && own.trouble ? reason : null,
            tries: part === 'tries',
            cannotLead: own.cannotLead ? reason : null,
          });
        });
      }),
      runs,
    );
  });

  it('pauses the service for all only when no other node may get through', () => {
    let paused = 0;
    fc.assert(
      fc.property(world, steps, (one, all) => {
        live(one, all, ({ pause, part, own }, { told }) => {
          const mayPass = told.some(
            ({ rests, tries }) =>
              (rests !== own.trouble && rests !== 'clock') || (own.trouble === 'credential' && tries),
          );
          const isEverywhere = part === 'rests' && own.trouble !== null && !mayPass;
          expect(pause?.cause ?? null).to.equal(isEverywhere ? own.trouble : null);
          if (pause && told.length > 0) paused++;
        });
      }),
      runs,
    );
    expect(paused, 'the draws come to that').to.be.above(20);
  });

  it('gives each node that sends another part of what is due', () => {
    fc.assert(
      fc.property(world, steps, (one, all) => {
        live(one, all, (beat, { told }) => {
          const others = told.filter(({ rests }) => !rests).length;
          expect(beat.nodes).to.equal(Math.max(1, others + (beat.told.rests === null ? 1 : 0)));
        });
        one.beatAll();
        const beats = one.beatAll().filter((beat) => beat !== null);
        const working = beats.filter(({ told }) => told.rests === null);
        for (const { nodes } of beats) expect(nodes).to.equal(Math.max(1, working.length));
        expect(working.map(({ rank }) => rank)).to.deep.equal(working.map((_, nth) => nth));
        for (const { rank, nodes } of beats) expect(rank).to.be.within(0, nodes - 1);
      }),
      runs,
    );
  });

  it('ends no node but those whose time is over or whose process is gone, and never itself', () => {
    const row = fc.record({ isHeld: fc.boolean(), leftMs: fc.integer({ min: -5, max: 5 }), isGone: fc.boolean() });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 6 }), fc.nat(5), (drawn, mine) => {
        const { rows } = new World(drawn.map(() => healthy));
        for (const [nth, { isHeld, leftMs }] of drawn.entries())
          Object.assign(rows[nth] as NodeRow, { holder: isHeld ? 'one' : null, expiresAt: now + leftMs });
        const me = rows[mine % rows.length] as NodeRow;
        const gone = new Set(rows.filter((_, nth) => drawn[nth]?.isGone).map(({ epoch }) => epoch));
        const expected = rows.filter((one, nth) => {
          const { isHeld, leftMs, isGone } = drawn[nth] as (typeof drawn)[number];
          return one !== me && isHeld && (leftMs <= 0 || isGone);
        });
        expect(overNodes(me, rows, gone)).to.deep.equal(expected);
      }),
      runs,
    );
  });
});
