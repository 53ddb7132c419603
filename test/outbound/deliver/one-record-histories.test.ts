import { expect } from 'chai';
import fc from 'fast-check';
import { legacy } from '../../../src/model/facts/fact.js';
import type { Verdict } from '../../../src/model/verdict.js';
import { healthy, type LaneHealth, laneEffects } from '../../../src/outbound/deliver/lane-effects.js';
import { amongOthers, enoughBesides, type Tries } from '../../../src/outbound/deliver/one-record.js';
import { type Operation, type SendingMessage, settle } from '../../../src/outbound/outbox/message.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const start = 1_800_000_000_000;
const maxProcessingMs = 300_000;

const ok: Verdict = { kind: 'delivered', serviceId: '1', flag: null };
const reason = legacy('no');
/** What a service answers to each try of a record. */
const answers: readonly Verdict[] = [
  { kind: 'throttled', reason, retryAfterMs: null },
  { kind: 'throttled', reason, retryAfterMs: 0 },
  { kind: 'throttled', reason, retryAfterMs: 5_000 },
  { kind: 'throttled', reason, retryAfterMs: 30_000, mayHaveTakenEffect: true },
  { kind: 'busy', reason },
  { kind: 'in_doubt', reason },
  { kind: 'invalid', reason },
];

interface SimRecord extends SendingMessage {
  capturedAt: number;
  answer: Verdict;
  dueAt: number;
  attempts: number;
  state: string;
  endedAt: number | null;
}

interface Line {
  of: number;
  kind: string;
  at: number;
}

/** A service that takes all records but some, and one that delivers to it by the decisions of the program. */
class World {
  readonly records: SimRecord[] = [];
  readonly lines: Line[] = [];
  now = start;
  pauses = 0;
  #health: LaneHealth = healthy;
  #pausedUntil = 0;
  #probeAt: number | null = null;
  stopped: string | null = null;

  constructor(
    private readonly random: () => number,
    private readonly isOut: (at: number) => boolean = () => false,
  ) {}

  capture(answer: Verdict, operation: Operation = 'create'): SimRecord {
    const record: SimRecord = {
      id: this.records.length,
      entity: 'order',
      operation,
      claimedFrom: 'pending',
      failures: 0,
      invalidAnswers: 0,
      customerWaits: 0,
      wasSent: 0,
      firstSentAt: null,
      capturedAt: this.now,
      answer,
      dueAt: this.now,
      attempts: 0,
      state: 'pending',
      endedAt: null,
    };
    this.records.push(record);
    return record;
  }

  /** Delivers until a time, so many at once. */
  deliverUntil(end: number, atOnce: number): void {
    for (; this.now < end && this.stopped === null; this.now += 200) {
      if (this.now < this.#pausedUntil) continue;
      const isProbing = this.#probeAt !== null;
      if (this.#probeAt !== null && this.now < this.#probeAt) continue;
      const waiting = this.records.filter(({ endedAt }) => endedAt === null);
      const due = waiting.filter(({ dueAt }) => isProbing || dueAt <= this.now).sort((a, b) => a.dueAt - b.dueAt);
      this.#settle(due.slice(0, isProbing ? 1 : atOnce));
    }
  }

  #settle(batch: readonly SimRecord[]): void {
    if (batch.length === 0) return;
    const judged = batch.map((record) => {
      record.attempts++;
      const verdict: Verdict = this.isOut(this.now) ? { kind: 'in_doubt', reason } : record.answer;
      const tries = this.#triesOf(record, verdict);
      return {
        record,
        tries,
        verdict: amongOthers(verdict, record.operation, tries, { nowMs: this.now, maxProcessingMs }),
      };
    });
    const heard = judged.map(({ record, tries, verdict }) => {
      const next = settle(record, verdict, {
        nowMs: this.now,
        random: this.random(),
        backoff: { baseMs: 2_000, maxMs: 900_000 },
        sentAtMs: this.now,
        tries: tries.count,
      });
      const { failures, invalidAnswers, customerWaits, wasSent, firstSentAt, state } = next;
      Object.assign(record, { failures, invalidAnswers, customerWaits, wasSent, firstSentAt, state });
      if (state === 'pending' || state === 'in_doubt') record.claimedFrom = state;
      if (next.schedule !== null && 'at' in next.schedule) record.dueAt = next.schedule.at;
      if (state === 'delivered' || state === 'parked') record.endedAt = this.now;
      this.lines.push({ of: record.id, kind: verdict.kind, at: this.now });
      return { asks: 'write', verdict, parkedAs: next.parkClass, shownReason: reason, sentAtMs: this.now } as const;
    });
    const effects = laneEffects(
      { ...this.#health, throttledUntil: this.#pausedUntil },
      heard,
      {
        outageAfterFailures: 5,
        probeMs: 5_000,
        windowMs: 1_000,
        nextProbeAt: this.#probeAt,
        credentialSetting: 'service.tokenFile',
      },
      this.now,
    );
    this.#health = effects.health;
    if (effects.closesBreaker) this.#probeAt = null;
    for (const { cause, until_at } of effects.pauses) {
      this.pauses++;
      if (until_at === null) this.stopped = cause;
      else if (cause === 'outage') this.#probeAt = until_at;
      else this.#pausedUntil = until_at;
    }
  }

  /** As `triesOf` reads them from the audit. */
  #triesOf({ id }: SimRecord, verdict: Verdict): Tries {
    const own = this.lines.flatMap((line, at) => (line.of === id ? [at] : []));
    let besides = 0;
    for (const [nth, line] of own.entries()) {
      const between = this.lines.slice(line + 1, own[nth + 1]);
      if (between.some(({ kind }) => kind === 'delivered')) besides++;
    }
    const throttled = own.filter((at) => this.lines[at]?.kind === 'throttled');
    const last = throttled.at(-1);
    const isFirst = ({ of }: Line, at: number) =>
      this.lines.findIndex((line) => line.of === of && line.kind === 'throttled') === at;
    return {
      count: own.length + 1,
      throttled: throttled.length + (verdict.kind === 'throttled' ? 1 : 0),
      sinceMs: this.lines[own[0] ?? -1]?.at ?? null,
      besides: Math.min(besides, enoughBesides),
      othersThrottled:
        last !== undefined &&
        this.lines.some((line, at) => at > last && line.kind === 'throttled' && line.of !== id && isFirst(line, at)),
      isEndpointProven: this.lines.some(({ kind }) => kind === 'delivered'),
    };
  }
}

const dice = (seed: number) => {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
};

describe('records that the service never takes, among others', () => {
  it('stop none of the others, and each waits for a person after a bounded time', () => {
    const poison = fc.record({
      answer: fc.constantFrom(...answers),
      operation: fc.constantFrom<Operation>('create', 'update', 'delete'),
      afterMinutes: fc.integer({ min: 0, max: 60 }),
    });
    fc.assert(
      fc.property(
        fc.array(poison, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        (poisons, atOnce, seed) => {
          const world = new World(dice(seed));
          world.capture(ok);
          const never: SimRecord[] = [];
          for (let minute = 0; minute < 12 * 60; minute++) {
            for (const { answer, operation } of poisons.filter(({ afterMinutes }) => afterMinutes === minute))
              never.push(world.capture(answer, operation));
            if (minute % 3 === 0) world.capture(ok);
            world.deliverUntil(start + (minute + 1) * minuteMs, atOnce);
          }
          expect(world.stopped).to.equal(null);
          for (const record of world.records.filter(({ answer }) => answer === ok)) {
            expect(record.endedAt, 'delivered').to.not.equal(null);
            expect((record.endedAt as number) - record.capturedAt, 'its wait').to.be.below(10 * minuteMs);
          }
          for (const record of never) {
            expect(record, JSON.stringify(record.answer)).to.include({ state: 'parked' });
            expect((record.endedAt as number) - record.capturedAt, 'until a person is asked').to.be.below(8 * hourMs);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it('do not hide that the service is throttled or out: then nothing is parked', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('out', 'throttled'),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        (how, atOnce, seed) => {
          // It fails for a second, takes some, and is away for hours.
          const isBad = (at: number) =>
            at >= start + hourMs &&
            at < start + 5 * hourMs &&
            !(at >= start + hourMs + 1_000 && at < start + hourMs + 2_000);
          const world = new World(dice(seed), (at) => how === 'out' && isBad(at));
          const slow: Verdict = { kind: 'throttled', reason, retryAfterMs: 60_000 };
          for (let minute = 0; minute < 7 * 60; minute++) {
            for (let made = 0; made < (minute === 60 ? 4 * atOnce : 1); made++) if (minute % 3 === 0) world.capture(ok);
            for (const record of world.records)
              if (how === 'throttled' && record.endedAt === null)
                record.answer = isBad(start + minute * minuteMs) ? slow : ok;
            world.deliverUntil(start + (minute + 1) * minuteMs, atOnce);
          }
          expect(world.stopped).to.equal(null);
          expect(world.records.map(({ state }) => state)).to.not.include('parked');
          expect(world.records.filter(({ endedAt }) => endedAt === null)).to.have.length.below(2);
        },
      ),
      { numRuns: 10 },
    );
  });
});
