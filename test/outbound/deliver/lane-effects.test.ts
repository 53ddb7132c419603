import { expect } from 'chai';
import fc from 'fast-check';
import { shownReason } from '../../../src/audit/audit-log.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { outside } from '../../../src/model/outside.js';
import type { Verdict } from '../../../src/model/verdict.js';
import {
  healthy,
  type LaneEffects,
  type LaneHealth,
  type LaneOutcome,
  type LaneSettings,
  laneEffects,
} from '../../../src/outbound/deliver/lane-effects.js';
import { tell } from '../../../src/words/words.js';
import { told } from '../../support/told.js';

const settings: LaneSettings = {
  outageAfterFailures: 5,
  probeMs: 5_000,
  windowMs: 1_000,
  nextProbeAt: null,
  credentialSetting: 'service.tokenFile',
};
const start = 1_800_000_000_000;

const of = (verdict: Verdict, parkedAs: string | null = null, sentAtMs: number | null = start): LaneOutcome => ({
  asks: 'write',
  verdict,
  parkedAs,
  sentAtMs,
  shownReason: 'reason' in verdict ? verdict.reason : null,
});
const fails: Verdict = { kind: 'in_doubt', reason: legacy('HTTP 500') };
const away: Verdict = { kind: 'unavailable', reason: legacy('connect ECONNREFUSED'), tls: false };
const ok: Verdict = { kind: 'delivered', serviceId: '1', flag: null };
const refused = (words = 'field 7'): Verdict => ({
  kind: 'refused',
  reason: { code: 'http_refused', status: 400, errorCode: null, message: outside(words) },
  likeness: words.replace(/\d+/g, '#'),
});
const throttled = (retryAfterMs: number | null = null): Verdict => ({
  kind: 'throttled',
  reason: legacy('HTTP 429'),
  retryAfterMs,
});

/** Outcomes that come one batch after the other, as the settler hands them in. */
class Lane {
  health: LaneHealth = healthy;
  now = start;
  nextProbeAt: number | null = null;

  settle(...outcomes: LaneOutcome[]): LaneEffects {
    const effects = laneEffects(this.health, outcomes, { ...settings, nextProbeAt: this.nextProbeAt }, this.now);
    this.health = effects.health;
    if (effects.closesBreaker) this.nextProbeAt = null;
    this.nextProbeAt = effects.pauses.find(({ cause }) => cause === 'outage')?.until_at ?? this.nextProbeAt;
    return effects;
  }
}

const causes = ({ pauses }: LaneEffects) => pauses.map(({ lane, cause }) => `${lane} ${cause}`);
const waitOf = ({ pauses }: LaneEffects) => (pauses[0]?.until_at ?? 0) - start;

describe('the breaker', () => {
  it('opens after as many failures in a row as are set, however few messages wait, and says so once', () => {
    const lane = new Lane();
    for (let i = 1; i < 5; i++) expect(lane.settle(of(i % 2 ? fails : away)).pauses).to.deep.equal([]);
    const opened = lane.settle(of(away));
    expect(told(opened.pauses)).to.deep.equal([
      { lane: 'service', cause: 'outage', until_at: start + 5_000, reason: 'connect ECONNREFUSED' },
    ]);
    expect(opened.alerts).to.have.length(1);
    for (const verdict of [away, fails, away]) {
      const probe = lane.settle(of(verdict));
      expect(causes(probe)).to.deep.equal(['service outage']);
      expect(probe.alerts).to.deep.equal([]);
    }
  });

  it('does not open when a record fails again and again and others go through', () => {
    const lane = new Lane();
    for (let i = 0; i < 50; i++) expect(lane.settle(of(fails), of(fails), of(ok)).pauses).to.deep.equal([]);
  });

  it('counts the time to the next probe from the start of the last one, but stops what was under way when it opened', () => {
    const lane = new Lane();
    lane.now = start + 10_000;
    expect(waitOf(lane.settle(...[1, 2, 3, 4, 5].map(() => of(fails))))).to.equal(15_000);
    expect(waitOf(lane.settle(of(fails))), 'one that left before it opened').to.equal(15_000);
    lane.now = start + 25_000;
    expect(waitOf(lane.settle(of(fails, null, start + 15_000)))).to.equal(20_000);
  });

  it('counts a 503 that says "slow down" as a failure, and waits as long as it says before it probes', () => {
    const lane = new Lane();
    const away503: Verdict = { ...throttled(30_000), reason: legacy('HTTP 503'), mayHaveTakenEffect: true } as Verdict;
    for (let i = 1; i < 5; i++) expect(causes(lane.settle(of(away503)))).to.deep.equal(['service throttled']);
    expect(causes(lane.settle(of(away503)))).to.have.members(['service throttled', 'service outage']);
    expect(lane.settle(of(away503)).closesBreaker).to.equal(false);
  });

  it('needs as many failures again when somebody else closed it', () => {
    const lane = new Lane();
    for (let i = 0; i < 9; i++) lane.settle(of(fails));
    lane.nextProbeAt = null;
    for (let i = 1; i < 5; i++) expect(lane.settle(of(fails)).pauses).to.deep.equal([]);
    expect(causes(lane.settle(of(fails)))).to.deep.equal(['service outage']);
  });

  it('keeps probing at its pace after a restart, when this process has seen one failure only', () => {
    const lane = new Lane();
    lane.nextProbeAt = start;
    const probe = lane.settle(of(away));
    expect(causes(probe)).to.deep.equal(['service outage']);
    expect(probe.closesBreaker).to.equal(false);
    expect(probe.alerts, 'it was said before the restart').to.deep.equal([]);
  });

  const answers: Verdict[] = [
    ok,
    refused(),
    throttled(),
    { kind: 'conflict', reason: legacy('422'), what: 'key_reused' },
    { kind: 'busy', reason: legacy('409') },
    { kind: 'unknown_customer', reason: legacy('404') },
    { kind: 'unauthorised', reason: legacy('401') },
    { kind: 'misconfigured', reason: legacy('403') },
    { kind: 'invalid', reason: legacy('201, but no JSON') },
  ];
  for (const verdict of answers) {
    it(`closes on any answer below 500: ${verdict.kind}`, () => {
      const lane = new Lane();
      for (let i = 0; i < 5; i++) lane.settle(of(fails));
      expect(lane.settle(of(verdict)).closesBreaker).to.equal(true);
      for (let i = 0; i < 4; i++) expect(causes(lane.settle(of(fails)))).to.not.include('service outage');
      expect(causes(lane.settle(of(fails)))).to.include('service outage');
    });
  }

  it('stays shut or open when nothing was sent', () => {
    const lane = new Lane();
    const held: Verdict = { kind: 'not_sent', reason: legacy('paused') };
    for (let i = 0; i < 20; i++) {
      const { pauses, closesBreaker, alerts } = lane.settle(of(held));
      expect({ pauses, closesBreaker, alerts }).to.deep.equal({ pauses: [], closesBreaker: false, alerts: [] });
    }
    lane.nextProbeAt = start;
    expect(lane.settle(of(held))).to.deep.include({ pauses: [], closesBreaker: false });
  });

  it('learns nothing from a message that was parked unsent, because its path could not be filled', () => {
    const lane = new Lane();
    lane.nextProbeAt = start;
    for (let i = 0; i < 12; i++)
      expect(lane.settle(of(refused(), 'refused', null))).to.deep.include({ pauses: [], closesBreaker: false });
  });

  it('goes by the order within a batch', () => {
    const failures = Array.from({ length: 5 }, () => of(fails));
    const recovered = new Lane().settle(...failures, of(ok));
    expect(recovered).to.deep.include({ closesBreaker: true, pauses: [] });
    const failing = new Lane().settle(of(ok), ...failures);
    expect(failing.closesBreaker).to.equal(false);
    expect(causes(failing)).to.deep.equal(['service outage']);
  });

  it('opens at the first certificate that is not accepted, and alerts once', () => {
    const lane = new Lane();
    const tls: Verdict = { kind: 'unavailable', reason: legacy('self-signed certificate'), tls: true };
    const first = lane.settle(of(tls), of({ ...tls, reason: legacy('the same, told otherwise') }));
    expect(causes(first)).to.deep.equal(['service outage']);
    expect(first.alerts).to.have.length(1);
    expect(lane.settle(of(tls)).alerts).to.deep.equal([]);
  });
});

describe('slowing down', () => {
  it('waits as long as the service says', () => {
    expect(waitOf(new Lane().settle(of(throttled(30_000))))).to.equal(30_000);
    expect(causes(new Lane().settle(of(throttled(1))))).to.deep.equal(['service throttled']);
  });

  it('waits longer each time it is told again without a time, up to a minute', () => {
    const lane = new Lane();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const until = lane.settle(of(throttled(), null, lane.now)).pauses[0]?.until_at as number;
      waits.push(until - lane.now);
      lane.now = until;
    }
    expect(waits).to.deep.equal([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    lane.settle(of(ok));
    expect((lane.settle(of(throttled(), null, lane.now)).pauses[0]?.until_at as number) - lane.now).to.equal(1_000);
  });

  it('goes on at once where it is told "now", and waits longer each time where that is no way through', () => {
    const lane = new Lane();
    lane.now += 10;
    const together = Array.from({ length: 16 }, () => of(throttled(0)));
    expect(lane.settle(...together.slice(0, 10)).pauses, 'all were sent before it was told').to.deep.equal([]);
    lane.now += 20;
    expect(lane.settle(...together.slice(10)).pauses).to.deep.equal([]);
    const waits: number[] = [];
    for (let i = 0; i < 3; i++) {
      lane.now += 10;
      const until = lane.settle(of(throttled(0), null, lane.now)).pauses[0]?.until_at as number;
      waits.push(until - lane.now);
      lane.now = until;
    }
    expect(waits).to.deep.equal([2_000, 4_000, 8_000]);
    lane.settle(of(ok));
    expect(lane.settle(of(throttled(0), null, lane.now)).pauses).to.deep.equal([]);
  });

  it('counts what was under way together as once', () => {
    const lane = new Lane();
    const sixteen = Array.from({ length: 16 }, () => of(throttled()));
    expect(waitOf(lane.settle(...sixteen.slice(0, 10)))).to.equal(1_000);
    lane.now += 20;
    expect(waitOf(lane.settle(...sixteen.slice(10)))).to.equal(1_020);
  });

  it('does not take back a longer wait when a late answer names no time', () => {
    const lane = new Lane();
    lane.settle(of(throttled(60_000)));
    lane.now += 10;
    expect(waitOf(lane.settle(of(throttled())))).to.equal(60_000);
    expect(waitOf(new Lane().settle(of(throttled(60_000)), of(throttled(1_000))))).to.equal(60_000);
  });

  it('does not shorten a block because of what was under way when it began', () => {
    const lane = new Lane();
    const hour = 3_600_000;
    lane.settle(of(throttled(hour)));
    lane.now += 300;
    expect(lane.settle(of(throttled(1_000))).pauses).to.deep.equal([]);
    expect(lane.health.throttledUntil).to.equal(start + hour);
    expect(waitOf(lane.settle(of(throttled(2 * hour))))).to.equal(2 * hour + 300);
    // Somebody resumed, and the service says something else now.
    const since = lane.now;
    lane.now += 500;
    expect(waitOf(lane.settle(of(throttled(1_000), null, since + 1)))).to.equal(300 + 500 + 1_000);
  });

  it('waits at least one window of the limit', () => {
    const effects = laneEffects(healthy, [of(throttled())], { ...settings, windowMs: 60_000 }, start);
    expect(waitOf(effects)).to.equal(60_000);
  });
});

describe('a storm of refusals', () => {
  it('is also ten orders in a row whose customer the service does not know, once they are given up', () => {
    const unknown = (customer: string): Verdict => ({
      kind: 'unknown_customer',
      reason: legacy(`HTTP 404: no ${customer}`),
    });
    const lane = new Lane();
    for (let id = 1; id <= 30; id++) expect(lane.settle(of(unknown(`K${id}`))).pauses).to.deep.equal([]);
    for (let id = 1; id <= 9; id++) expect(lane.settle(of(unknown(`K${id}`), 'refused')).pauses).to.deep.equal([]);
    expect(causes(lane.settle(of(unknown('K10'), 'refused')))).to.deep.equal(['deliver refusals']);
  });

  it('pauses delivery at the tenth equal refusal in a row; figures in them do not count', () => {
    const lane = new Lane();
    for (let i = 1; i < 10; i++) expect(lane.settle(of(refused(`HTTP 400: order ${i}`))).pauses).to.deep.equal([]);
    const tenth = lane.settle(of(refused('HTTP 400: order 10')));
    expect(tenth.pauses).to.have.length(1);
    expect(tenth.pauses[0]).to.include({ lane: 'deliver', cause: 'refusals', until_at: null });
    expect(told(tenth.alerts[0])).to.include('waybill resume deliver');
  });

  it('is told without the words that are not to be shown', () => {
    const lane = new Lane();
    const one = {
      ...of(refused('HTTP 400 invalid: Grace Hopper is too long')),
      shownReason: legacy('HTTP 400 invalid'),
    };
    const effects = Array.from({ length: 10 }, () => lane.settle(one)).at(-1) as LaneEffects;
    expect(causes(effects)).to.deep.equal(['deliver refusals']);
    expect(JSON.stringify([effects.pauses, effects.alerts]))
      .to.contain('HTTP 400 invalid')
      .and.not.contain('Grace');
  });

  it('pauses again when it was resumed without a remedy', () => {
    const lane = new Lane();
    const paused = Array.from({ length: 30 }, () => lane.settle(of(refused())).pauses.length);
    expect(paused.filter((n) => n > 0)).to.have.length(3);
    expect([paused[9], paused[19], paused[29]]).to.deep.equal([1, 1, 1]);
  });

  it('is over with a success or another reason, not with a timeout in between', () => {
    const afterNineAnd = (between: LaneOutcome) => {
      const lane = new Lane();
      for (let i = 0; i < 9; i++) lane.settle(of(refused()));
      lane.settle(between);
      return causes(lane.settle(of(refused())));
    };
    expect(afterNineAnd(of(ok))).to.deep.equal([]);
    expect(afterNineAnd(of(refused('HTTP 400: something else')))).to.deep.equal([]);
    expect(afterNineAnd(of(fails))).to.deep.equal(['deliver refusals']);
  });
});

describe('what one answer says about the service', () => {
  it('stops everything on a bad credential, and one lane on a missing permission, until a person acts', () => {
    const unauthorised = laneEffects(
      healthy,
      [of({ kind: 'unauthorised', reason: legacy('HTTP 401') })],
      settings,
      start,
    );
    expect(unauthorised.pauses[0]).to.include({ lane: 'service', cause: 'credential', until_at: null });
    expect(told(unauthorised.alerts[0])).to.include('service.tokenFile');
    const misconfigured = laneEffects(
      healthy,
      [of({ kind: 'misconfigured', reason: legacy('HTTP 302') })],
      settings,
      start,
    );
    expect(misconfigured.pauses[0]).to.include({ lane: 'deliver', cause: 'misconfigured', until_at: null });
    expect(misconfigured.alerts).to.have.length(1);
  });

  it('stops nothing for a 403 that is about one record', () => {
    for (const others of ['passed', 'pass still'] as const)
      expect(
        laneEffects(healthy, [of({ kind: 'misconfigured', reason: legacy('HTTP 403'), others })], settings, start),
      ).to.deep.include({ pauses: [], alerts: [] });
  });

  it('lets others pass when the service says of one record, with a success status, that it failed', () => {
    const failed = (nth: number): Verdict => ({
      kind: 'invalid',
      reason: legacy(`HTTP 200: no ${nth}`),
      saysFailed: true,
    });
    const lane = new Lane();
    for (let nth = 1; nth < 10; nth++) expect(lane.settle(of(failed(nth), 'unproven')).pauses).to.deep.equal([]);
    expect(causes(lane.settle(of(failed(10))))).to.deep.equal(['deliver refusals']);
    lane.settle(...Array.from({ length: 9 }, (_, nth) => of(failed(nth))), of(ok));
    expect(lane.settle(of(failed(1), 'unproven')).pauses).to.deep.equal([]);
  });

  it('pauses delivery when a success without an acknowledgement was parked, not before', () => {
    const invalid: Verdict = { kind: 'invalid', reason: legacy('HTTP 201, but no JSON') };
    expect(laneEffects(healthy, [of(invalid)], settings, start)).to.deep.include({ pauses: [], alerts: [] });
    const parked = laneEffects(healthy, [of(invalid, 'unproven')], settings, start);
    expect(parked.pauses[0]).to.include({ lane: 'deliver', cause: 'unproven', until_at: null });
  });

  it('says nothing for what concerns one message only', () => {
    const own: Verdict[] = [
      ok,
      refused(),
      { kind: 'busy', reason: legacy('409') },
      { kind: 'conflict', reason: legacy('422'), what: 'key_reused' },
      { kind: 'unknown_customer', reason: legacy('404') },
    ];
    for (const verdict of own)
      expect(laneEffects(healthy, [of(verdict)], settings, start)).to.deep.include({ pauses: [], alerts: [] });
  });
});

describe('effects on a lane, whatever comes', () => {
  const verdict = fc.constantFrom<Verdict>(
    ok,
    fails,
    away,
    refused(),
    refused('HTTP 400: other'),
    throttled(),
    throttled(0),
    throttled(86_400_000),
    { kind: 'unauthorised', reason: legacy('401') },
    { kind: 'misconfigured', reason: legacy('403') },
    { kind: 'not_sent', reason: legacy('paused') },
    { kind: 'busy', reason: legacy('409') },
    { kind: 'unavailable', reason: legacy('certificate'), tls: true },
  );
  const batch = fc.array(
    verdict.map((one) => of(one)),
    {
      minLength: 1,
      maxLength: 12,
    },
  );

  it('are one pause a lane and cause that ends in the future, and leave what was before as it was', () => {
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 12 }), fc.boolean(), (batches, probing) => {
        const lane = new Lane();
        lane.nextProbeAt = probing ? start : null;
        for (const outcomes of batches) {
          const before = JSON.stringify(lane.health);
          const { health } = lane;
          const effects = lane.settle(...outcomes);
          expect(JSON.stringify(health)).to.equal(before);
          expect(new Set(causes(effects)).size).to.equal(effects.pauses.length);
          for (const { until_at } of effects.pauses)
            if (until_at !== null) expect(until_at).to.be.greaterThan(lane.now);
          const opens = causes(effects).includes('service outage');
          expect(opens && effects.closesBreaker, 'opens and closes').to.equal(false);
          const last = outcomes.findLast((one) => one.verdict.kind !== 'not_sent')?.verdict.kind;
          if (opens) expect(last).to.be.oneOf(['in_doubt', 'unavailable']);
          lane.now += 700;
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the reason that a pause gives', () => {
  it("leaves out the words of the service about a customer, and never Waybill's own", () => {
    const message = outside('Anna Muster');
    const refusal = { code: 'http_refused', status: 422, errorCode: outside('invalid_field'), message } as const;
    expect(tell(shownReason('customer', refusal))).to.equal('HTTP 422 invalid_field: …');
    expect(shownReason('order', refusal)).to.equal(refusal);
    const inside = { code: 'look_up_inconclusive', problem: refusal } as const;
    expect(JSON.stringify(shownReason('customer', inside))).to.not.contain('Anna');
    for (const own of [
      { code: 'timed_out' },
      { code: 'http_failed', status: 503, errorCode: null, message: null },
    ] as const)
      expect(shownReason('customer', own)).to.deep.equal(own);
  });
});
