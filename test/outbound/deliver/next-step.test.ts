import { expect } from 'chai';
import fc from 'fast-check';
import { type Findings, nextStep, type Snapshot, type Step } from '../../../src/outbound/deliver/next-step.js';

const idle: Snapshot = {
  untilDrained: false,
  retryHorizonMs: 30_000,
  stuck: null,
  blocked: null,
  isClockSet: false,
  mayStartRequest: true,
  isAtRest: false,
  isLimitUsedUp: false,
  isProbing: false,
  underWay: 0,
  patient: 0,
  unsettled: 0,
  target: 32,
  most: 500,
  atOnce: 125,
  sinceClaimedMs: 1_000,
  isNothingDue: false,
  lookedForMs: 5,
};

/** Mostly false, so that many turns come as far as a claim. */
const seldom = fc.constantFrom(false, false, false, true);
const often = seldom.map((is) => !is);
const count = fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 600 }));
const anyTime = fc.oneof(fc.nat({ max: 100_000 }), fc.constant(Number.POSITIVE_INFINITY));
const anySnapshot: fc.Arbitrary<Snapshot> = fc
  .record({
    untilDrained: fc.boolean(),
    retryHorizonMs: fc.nat({ max: 60_000 }),
    stuck: fc.constantFrom(null, null, null, { code: 'stopping' } as const),
    blocked: fc.oneof(
      { weight: 3, arbitrary: fc.constant(null) },
      fc.record({ reason: fc.constant({ code: 'lease_ending' } as const), forMs: anyTime }),
    ),
    isClockSet: fc.boolean(),
    mayStartRequest: often,
    isAtRest: fc.boolean(),
    isLimitUsedUp: seldom,
    isProbing: seldom,
    underWay: count,
    patient: count,
    unsettled: count,
    target: fc.integer({ min: 2, max: 500 }),
    most: count,
    atOnce: fc.integer({ min: 1, max: 125 }),
    sinceClaimedMs: anyTime,
    isNothingDue: seldom,
    lookedForMs: fc.nat({ max: 5_000 }),
  })
  .map((one) => ({ ...one, most: Math.max(one.target, one.most), patient: Math.min(one.patient, one.underWay) }))
  // A dispatcher's probe takes what is not due, so that it never has nothing to do.
  .map((one) => ({ ...one, isNothingDue: one.isNothingDue && !one.isProbing }));

/** The world's answers to the steps, drawn anew for each run. */
interface World {
  lacksPlace: boolean;
  isPausedForLimit: boolean;
  hasProbeTurn: boolean;
  begun: number;
  parked: number;
  lookUps: number;
  dueInMs: number;
  isStopped: boolean;
}
const anyWorld: fc.Arbitrary<World> = fc.record({
  lacksPlace: seldom,
  isPausedForLimit: fc.boolean(),
  hasProbeTurn: fc.boolean(),
  begun: fc.nat({ max: 2 }),
  parked: fc.nat({ max: 1 }),
  lookUps: fc.nat({ max: 1 }),
  dueInMs: anyTime,
  isStopped: fc.boolean(),
});

/** There is nothing to send, to look up or to wait for. */
const nothing: World = {
  lacksPlace: false,
  isPausedForLimit: false,
  hasProbeTurn: true,
  begun: 0,
  parked: 0,
  lookUps: 0,
  dueInMs: Number.POSITIVE_INFINITY,
  isStopped: false,
};

/** The steps of one turn in such a world, to the step that ends it. */
function turnOf(start: Snapshot, world: World): Step[] {
  const found: Findings = {};
  let now = start;
  const steps: Step[] = [];
  for (;;) {
    const step = nextStep(now, found);
    steps.push(step);
    if (steps.length > 12) throw new Error(`The turn does not end: ${steps.map((one) => one.do).join(', ')}`);
    if (['end', 'wait', 'rest', 'next_turn'].includes(step.do) || (step.do === 'flush' && step.endsTurn)) return steps;
    if (step.do === 'flush') {
      found.isFlushed = true;
      now = { ...now, unsettled: 0 };
    }
    if (step.do === 'ask_for_place') found.lacksPlace = world.lacksPlace;
    if (step.do === 'pause_for_limit') found.isPausedForLimit = world.isPausedForLimit;
    if (step.do === 'ask_for_probe_turn') found.hasProbeTurn = world.hasProbeTurn;
    if (step.do === 'claim' || step.do === 'claim_probe') found.begun = world.begun;
    if (step.do === 'park_forgotten') {
      found.parked = world.parked;
      now = { ...now, isClockSet: false };
    }
    if (step.do === 'look_up') found.lookUps = world.lookUps;
    if (step.do === 'ask_when_due') found.dueInMs = world.dueInMs;
    if (step.do === 'ask_gate') found.stopped = world.isStopped ? { code: 'stopping' } : null;
  }
}

const named = (steps: readonly Step[]) => steps.map((step) => step.do);

describe('the next step of delivery', () => {
  const inAnyTurn = (holds: (steps: Step[], start: Snapshot, world: World) => void) =>
    fc.assert(
      fc.property(anySnapshot, anyWorld, (start, world) => holds(turnOf(start, world), start, world)),
      { numRuns: 2_000 },
    );

  it('ends each turn, and never asks the same twice in it', () => {
    inAnyTurn((steps) => {
      const asked = named(steps).filter((what) => what !== 'flush');
      expect(new Set(asked).size).to.equal(asked.length);
    });
  });

  it('claims nothing while the gate is shut, the lease ends, a place is missing or a limit is used up', () => {
    inAnyTurn((steps, start, world) => {
      const claims = named(steps).some((what) => what === 'claim' || what === 'claim_probe');
      if (!claims) return;
      expect(start.stuck).to.equal(null);
      expect(start.blocked).to.equal(null);
      expect(start).to.include({ mayStartRequest: true, isAtRest: false });
      expect(world.lacksPlace).to.equal(false);
      if (start.isLimitUsedUp) expect(world.isPausedForLimit).to.equal(false);
    });
  });

  it('sends one request with its turn while the service is down, after the findings of the last one', () => {
    inAnyTurn((steps, start, world) => {
      const what = named(steps);
      if (start.isProbing) expect(what).not.to.include.members(['claim']);
      if (!what.includes('claim_probe')) return;
      expect(start.isProbing).to.equal(true);
      expect(world.hasProbeTurn).to.equal(true);
      expect(what.indexOf('flush')).to.be.within(0, what.indexOf('claim_probe'));
    });
  });

  it('claims no more than may be without an outcome on record, and leaves half of it to news', () => {
    inAnyTurn((steps, { underWay, unsettled, most, target, patient, atOnce }) => {
      for (const step of steps) {
        if (step.do !== 'claim') continue;
        expect(step.room).to.be.within(1, atOnce);
        expect(underWay + unsettled + step.room).to.be.at.most(most);
        expect(underWay + step.room).to.be.at.most(target);
        expect(step.backlogRoom).to.be.within(0, target / 2);
        if (patient > target / 2) expect(step.backlogRoom).to.equal(0);
      }
    });
  });

  it('waits for a time that comes, and never in a circle without any', () => {
    inAnyTurn((steps, { underWay }) => {
      const last = steps.at(-1);
      if (last?.do !== 'wait') return;
      expect(last.ms).to.be.within(0.001, 2_000);
      // An end to wait for is one that has not come yet.
      if (last.count !== undefined) expect(last.count).to.be.below(Math.max(underWay, 0.5));
    });
  });

  it('goes on for ever unless it is to end when all is sent, and ends with nothing under way or unsettled', () => {
    inAnyTurn((steps, start) => {
      const last = steps.at(-1);
      if (last?.do === 'rest') expect(start.untilDrained).to.equal(false);
      if (last?.do !== 'end' || start.stuck) return;
      expect(start.untilDrained).to.equal(true);
      expect(start.underWay).to.equal(0);
    });
  });

  it('puts all outcomes on record before it waits behind a shut gate, and looks for a clock that was set', () => {
    const blocked = { reason: { code: 'lease_ending' } as const, forMs: 90_000 };
    expect(turnOf({ ...idle, blocked, unsettled: 3 }, nothing)).to.deep.equal([
      { do: 'flush' },
      { do: 'wait', ms: 500, pausedForMs: 90_000 },
    ]);
    expect(named(turnOf({ ...idle, blocked, isClockSet: true }, nothing))).to.deep.equal([
      'flush',
      'park_forgotten',
      'next_turn',
    ]);
    expect(turnOf({ ...idle, blocked, untilDrained: true }, nothing).at(-1)).to.deep.equal({
      do: 'end',
      why: blocked.reason,
    });
    // Requests under way first: what they bring may open or shut the gate.
    expect(turnOf({ ...idle, blocked, underWay: 2 }, nothing)).to.deep.equal([{ do: 'wait', ms: 500, count: 0 }]);
  });

  it('looks for keys that are forgotten and for look-ups before it rests, and rests longer where looking was work', () => {
    const before = ['ask_for_place', 'claim', 'park_forgotten', 'look_up'];
    expect(named(turnOf(idle, nothing))).to.deep.equal([...before, 'rest']);
    expect(turnOf(idle, nothing).at(-1)).to.deep.equal({ do: 'rest', idleMs: 2_000 });
    expect(turnOf({ ...idle, lookedForMs: 700 }, nothing).at(-1)).to.deep.equal({ do: 'rest', idleMs: 7_000 });
    expect(turnOf({ ...idle, isNothingDue: true }, nothing)).to.deep.equal([
      { do: 'ask_for_place' },
      { do: 'park_forgotten' },
      { do: 'rest', idleMs: 0 },
    ]);
    expect(named(turnOf({ ...idle, untilDrained: true }, nothing))).to.deep.equal([
      ...before,
      'ask_when_due',
      'ask_gate',
      'end',
    ]);
    expect(turnOf({ ...idle, untilDrained: true }, nothing).at(-1)).to.deep.equal({
      do: 'end',
      why: 'drained',
    });
    expect(turnOf({ ...idle, untilDrained: true }, { ...nothing, dueInMs: 200 }).at(-1)).to.deep.equal({
      do: 'wait',
      ms: 200,
    });
  });
});
