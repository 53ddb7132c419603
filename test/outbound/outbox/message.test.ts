import { expect } from 'chai';
import fc from 'fast-check';
import { legacy } from '../../../src/model/facts/fact.js';
import type { Verdict, VerdictKind } from '../../../src/model/verdict.js';
import {
  type MessageState,
  type Operation,
  openStates,
  type ParkClass,
  type SendingMessage,
  type SettleContext,
  sentUnknownWhen,
  settle,
  type Transition,
} from '../../../src/outbound/outbox/message.js';

const verdicts: { [K in VerdictKind]: Extract<Verdict, { kind: K }>[] } = {
  delivered: [
    { kind: 'delivered', serviceId: 'O-1', flag: null },
    { kind: 'delivered', serviceId: 'O-1', flag: legacy('a wrong total') },
  ],
  in_doubt: [
    { kind: 'in_doubt', reason: legacy('reset') },
    { kind: 'in_doubt', reason: legacy('HTTP 500'), others: 'pass still' },
  ],
  invalid: [{ kind: 'invalid', reason: legacy('no id') }],
  unavailable: [
    { kind: 'unavailable', reason: legacy('refused connection'), tls: false },
    { kind: 'unavailable', reason: legacy('expired certificate'), tls: true },
  ],
  throttled: [
    { kind: 'throttled', reason: legacy('HTTP 429'), retryAfterMs: null },
    { kind: 'throttled', reason: legacy('HTTP 429'), retryAfterMs: 60_000 },
    { kind: 'throttled', reason: legacy('HTTP 429'), retryAfterMs: null, others: 'passed' },
    { kind: 'throttled', reason: legacy('HTTP 429'), retryAfterMs: null, others: 'pass still' },
  ],
  unauthorised: [{ kind: 'unauthorised', reason: legacy('HTTP 401') }],
  misconfigured: [
    { kind: 'misconfigured', reason: legacy('HTTP 403') },
    { kind: 'misconfigured', reason: legacy('HTTP 403'), others: 'passed' },
    { kind: 'misconfigured', reason: legacy('HTTP 403'), others: 'pass still' },
  ],
  busy: [
    { kind: 'busy', reason: legacy('in progress') },
    { kind: 'busy', reason: legacy('in progress'), others: 'pass still' },
  ],
  unknown_customer: [{ kind: 'unknown_customer', reason: legacy('HTTP 404') }],
  conflict: [
    { kind: 'conflict', reason: legacy('HTTP 422'), what: 'key_reused' },
    { kind: 'conflict', reason: legacy('HTTP 409'), what: 'already_exists' },
  ],
  refused: [{ kind: 'refused', reason: legacy('HTTP 400') }],
  not_sent: [{ kind: 'not_sent', reason: legacy('paused') }],
};
const allVerdicts = Object.values(verdicts).flat() as Verdict[];

const nowMs = 1_800_000_000_000;
const context = (random = 0.5): SettleContext => ({
  nowMs,
  random,
  backoff: { baseMs: 2_000, maxMs: 900_000 },
  sentAtMs: nowMs - 70,
  tries: 1,
});
const fresh: SendingMessage = {
  id: 1,
  entity: 'order',
  operation: 'create',
  claimedFrom: 'pending',
  failures: 0,
  invalidAnswers: 0,
  customerWaits: 0,
  wasSent: 0,
  firstSentAt: null,
};
/** A message that may have taken effect before: it was sent, so the time of that is on record. */
const doubted: SendingMessage = {
  ...fresh,
  claimedFrom: 'in_doubt',
  failures: 2,
  wasSent: 1,
  firstSentAt: nowMs - 60_000,
};
const one = (kind: VerdictKind): Verdict => verdicts[kind][0] as Verdict;

/** Every message that can be under way: all small counters, both origins, sent before or not. */
const messages: SendingMessage[] = (['pending', 'in_doubt'] as const).flatMap((claimedFrom) =>
  (['create', 'update'] as Operation[]).flatMap((operation) =>
    [0, 1, 7, 5_000].flatMap((failures) =>
      [0, 1, 2].flatMap((invalidAnswers) =>
        [0, 1, 2, 3].flatMap((customerWaits) =>
          // `in_doubt` without a first time can't be: the message was sent. `pending` with one was answered with a 429.
          (claimedFrom === 'in_doubt' ? [nowMs - 9_000_000] : [null, nowMs - 5_000]).map((firstSentAt) => ({
            ...fresh,
            operation,
            claimedFrom,
            failures,
            invalidAnswers,
            customerWaits,
            wasSent: firstSentAt === null ? 0 : 1,
            firstSentAt,
          })),
        ),
      ),
    ),
  ),
);

/** The transitions that the verdict table allows. `same` is the state that the message was claimed from. */
const allowed: { [K in VerdictKind]: { states: (MessageState | 'same')[]; parkClasses: ParkClass[] } } = {
  delivered: { states: ['delivered'], parkClasses: [] },
  in_doubt: { states: ['in_doubt', 'parked'], parkClasses: ['unproven'] },
  invalid: { states: ['in_doubt', 'parked'], parkClasses: ['unproven'] },
  unavailable: { states: ['same'], parkClasses: [] },
  throttled: { states: ['same', 'parked'], parkClasses: ['refused', 'unproven'] },
  unauthorised: { states: ['same'], parkClasses: [] },
  misconfigured: { states: ['same', 'parked'], parkClasses: ['refused', 'unproven'] },
  busy: { states: ['in_doubt', 'parked'], parkClasses: ['unproven'] },
  unknown_customer: { states: ['same', 'parked'], parkClasses: ['refused', 'unproven'] },
  conflict: { states: ['parked'], parkClasses: ['conflict'] },
  refused: { states: ['parked'], parkClasses: ['refused', 'unproven'] },
  not_sent: { states: ['same'], parkClasses: [] },
};
const neverLeft: VerdictKind[] = ['not_sent', 'unavailable'];
const laneWide: VerdictKind[] = ['unavailable', 'throttled', 'unauthorised', 'misconfigured', 'not_sent'];

const timeOf = ({ schedule }: Transition) => (schedule !== null && 'at' in schedule ? schedule.at : Number.NaN);

describe('a "come back later" from a gateway, and a redirect', () => {
  for (const kind of ['throttled', 'misconfigured'] as const) {
    it(`${kind}: leaves it in doubt, so that a later refusal proves nothing`, () => {
      const verdict: Verdict =
        kind === 'throttled'
          ? { kind, reason: legacy('HTTP 503'), retryAfterMs: 1_000, mayHaveTakenEffect: true }
          : { kind, reason: legacy('HTTP 303'), mayHaveTakenEffect: true };
      const after = settle(fresh, verdict, context());
      expect(after).to.deep.include({ state: 'in_doubt', failures: 0 });
    });
  }
});

describe('settling a message', () => {
  it('makes only the transitions of the table, for every message and verdict', () => {
    let cases = 0;
    for (const message of messages) {
      for (const verdict of allVerdicts) {
        const next = settle(message, verdict, context());
        const label = `${JSON.stringify(message)} ${verdict.kind}`;
        const { states, parkClasses } = allowed[verdict.kind];
        expect(
          states.map((state) => (state === 'same' ? message.claimedFrom : state)),
          label,
        ).to.include(next.state);
        if (next.state === 'parked') expect(parkClasses, label).to.include(next.parkClass);
        else expect(next.parkClass, label).to.equal(null);
        // Once in doubt, only proof leads out of it.
        if (message.claimedFrom === 'in_doubt') expect(next.state, label).to.not.equal('pending');
        if (message.claimedFrom === 'in_doubt') expect(next.parkClass, label).to.not.equal('refused');
        expect(next.serviceId !== null, label).to.equal(next.state === 'delivered');
        if (next.state === 'delivered') expect(next.schedule, label).to.equal(null);
        else if (next.state === 'parked' && next.parkClass !== 'conflict')
          expect(next.schedule, label).to.deep.equal({ waitsFor: 'person' });
        else expect(timeOf(next), label).to.be.at.least(nowMs);
        expect(next.reason === null, label).to.equal(verdict.kind === 'delivered');
        cases++;
      }
    }
    expect(cases)
      .to.equal(messages.length * allVerdicts.length)
      .and.to.be.greaterThan(4_000);
  });

  it('never moves the time of the first send, and sets it unless nothing can have left', () => {
    for (const message of messages) {
      for (const verdict of allVerdicts) {
        const { wasSent, firstSentAt } = settle(message, verdict, context());
        const never = neverLeft.includes(verdict.kind)
          ? { wasSent: 0, firstSentAt: null }
          : { wasSent: 1, firstSentAt: nowMs - 70 };
        const before = { wasSent: 1, firstSentAt: message.firstSentAt };
        expect({ wasSent, firstSentAt }, verdict.kind).to.deep.equal(message.wasSent ? before : never);
        const unknown = settle({ ...message, ...sentUnknownWhen }, verdict, context());
        expect(unknown, verdict.kind).to.include(sentUnknownWhen);
      }
    }
  });

  it('costs a message nothing when it waits for the service as a whole', () => {
    for (const message of messages) {
      for (const verdict of laneWide.flatMap((kind) => verdicts[kind] as Verdict[])) {
        const { failures, invalidAnswers, customerWaits } = settle(message, verdict, context());
        expect({ failures, invalidAnswers, customerWaits }, verdict.kind).to.deep.equal({
          failures: message.failures,
          invalidAnswers: message.invalidAnswers,
          customerWaits: message.customerWaits,
        });
      }
    }
  });

  it('calls a refusal proven only when no earlier attempt may have taken effect', () => {
    expect(settle(fresh, one('refused'), context()).parkClass).to.equal('refused');
    expect(
      settle({ ...fresh, wasSent: 1, firstSentAt: nowMs - 5_000 }, one('refused'), context()).parkClass,
      'after a 429',
    ).to.equal('refused');
    expect(settle(doubted, one('refused'), context()).parkClass).to.equal('unproven');
    expect(settle({ ...doubted, customerWaits: 3 }, one('unknown_customer'), context()).parkClass).to.equal('unproven');
  });

  it('parks the third answer in a row that says success and acknowledges nothing', () => {
    let message = fresh;
    for (const expected of ['in_doubt', 'in_doubt', 'parked']) {
      const next = settle(message, one('invalid'), context());
      expect(next.state).to.equal(expected);
      message = { ...message, ...next, claimedFrom: 'in_doubt' };
    }
    expect(message.invalidAnswers).to.equal(3);
  });

  it('waits three times, longer each time, for a customer that the service does not see yet', () => {
    let message = fresh;
    const waits: number[] = [];
    for (let i = 0; i < 3; i++) {
      const next = settle(message, one('unknown_customer'), context());
      expect(next.state).to.equal('pending');
      waits.push(timeOf(next) - nowMs);
      message = { ...message, ...next, claimedFrom: 'pending' };
    }
    expect(waits).to.deep.equal([1_000, 2_000, 4_000]);
    expect(settle(message, one('unknown_customer'), context())).to.include({ state: 'parked', parkClass: 'refused' });
  });

  it('backs off with every failure, and soon asks again where a request is in progress', () => {
    const wait = (message: SendingMessage, kind: VerdictKind) =>
      timeOf(settle(message, one(kind), context(0.999_999))) - nowMs;
    expect([0, 1, 2, 30].map((failures) => wait({ ...fresh, failures }, 'in_doubt'))).to.deep.equal([
      2_000, 4_000, 8_000, 899_999,
    ]);
    expect(wait({ ...fresh, failures: 30 }, 'busy')).to.equal(1_000);
    expect(
      wait({ ...doubted, wasSent: 1, firstSentAt: nowMs - 25_000 }, 'busy'),
      'a tenth of what it has taken',
    ).to.equal(2_500);
    expect(wait({ ...doubted, wasSent: 1, firstSentAt: nowMs - 7_200_000 }, 'busy'), 'for ever').to.equal(60_000);
    expect(wait({ ...fresh, failures: 30 }, 'unavailable')).to.equal(2_000);
    expect(wait(fresh, 'throttled'), 'it gives way to others').to.equal(2_000);
  });

  it('waits as long as the service asks of this record alone, however long that is', () => {
    const slowDown = { kind: 'throttled', reason: legacy('HTTP 429'), retryAfterMs: 7_200_000 } as const;
    const wait = (verdict: Verdict) => timeOf(settle(fresh, verdict, context())) - nowMs;
    expect(wait({ ...slowDown, others: 'passed' })).to.be.at.least(7_200_000);
    expect(wait(slowDown), 'the pause of the lane keeps the time').to.equal(900_000);
  });

  it('keeps the flag of an acknowledgement that needs a look', () => {
    const next = settle(doubted, { kind: 'delivered', serviceId: 'O-9', flag: legacy('total') }, context());
    expect(next).to.deep.include({ state: 'delivered', serviceId: 'O-9', flag: legacy('total'), reason: null });
  });

  it('keeps its rules over whole histories of attempts', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...allVerdicts), { minLength: 1, maxLength: 25 }),
        fc.constantFrom<Operation>('create', 'update'),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (history, operation, random) => {
          let message: SendingMessage = { ...fresh, operation };
          let mayExist = false;
          let first: number | null = null;
          let at = nowMs;
          for (const verdict of history) {
            at += 1_000;
            const next = settle(message, verdict, { ...context(random), nowMs: at, sentAtMs: at - 10 });
            if (!neverLeft.includes(verdict.kind)) first ??= at - 10;
            expect(next.firstSentAt).to.equal(first);
            mayExist ||= ['in_doubt', 'invalid', 'busy'].includes(verdict.kind);
            if (next.parkClass === 'refused') expect(mayExist, 'a refusal that proves nothing').to.equal(false);
            if (next.state === 'pending') expect(mayExist, 'forgets that it may exist').to.equal(false);
            if (!(openStates as readonly MessageState[]).includes(next.state)) return;
            message = { ...message, ...next, claimedFrom: next.state as 'pending' | 'in_doubt' };
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
