import { expect } from 'chai';
import { sqlite } from '../../../src/db/sqlite/sqlite-store.js';
import type { JobContext } from '../../../src/ops/job-context.js';
import { Exchange } from '../../../src/outbound/deliver/exchange.js';
import type { Settler } from '../../../src/outbound/deliver/outcome-batches.js';
import type { SendGate } from '../../../src/outbound/deliver/send-gate.js';
import type { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { systemClock } from '../../../src/store/clock.js';
import { sharedThread } from '../../../src/v8.js';
import { waitFor } from '../../support/wait-for.js';

describe('an outcome that could not be put on record while the process stood still past its lease', () => {
  const log: string[] = [];
  const recorded: unknown[] = [];
  let exchange: Exchange;

  beforeEach(async () => {
    log.length = 0;
    recorded.length = 0;
    let stoodStillMs = 0;
    let commits = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + stoodStillMs };
    const endsAtMonotonicMs = clock.monotonicMs() + 30_000;
    const lease = {
      lost: false,
      lease: { endsAtMonotonicMs },
      lane: { inTurn: (work: (heed: () => Promise<void>) => unknown) => work(async () => undefined) },
      writeBeside: async (_action: string, work: (tx: unknown) => unknown) => {
        if (++commits > 1) return work(null);
        stoodStillMs = 60_000;
        throw new Error('the server has ended the transaction');
      },
    };
    const settings = { service: { concurrency: 2, limits: [] } };
    const store = { dialect: sqlite };
    const errors = { error: (text: string) => log.push(text) };
    const context = { settings, store, clock, nowMs: Date.now, log: errors, thread: sharedThread };
    const gate = { forget: () => undefined };
    exchange = new Exchange(
      context as unknown as JobContext,
      lease as unknown as ServiceLease,
      gate as unknown as SendGate,
    );
    const settler: Settler<string, { kind: string }> = {
      purposeOf: () => 'create',
      settle: async (_tx, ended) => {
        recorded.push(...ended.map(({ about }) => about));
        return { heard: [] };
      },
    };
    const sent = { verdict: { kind: 'delivered' }, startedAtMs: 1, durationMs: 1, status: 201 };
    exchange.begin(settler, 'order 4711', async () => ({ ...sent, requestId: null, excerpt: null }), {});
    await waitFor('the failed commit', () => log.length > 0);
    expect(exchange.unsettled).to.equal(1);
  });
  afterEach(() => {
    expect(recorded).to.deep.equal(['order 4711']);
    expect(exchange.unsettled).to.equal(0);
    expect(log).to.deep.equal(['Outcomes could not be put on record; trying again']);
  });

  it('is tried again for whoever waits for it', () => exchange.outcomes.flushed());

  it('is tried again in the next turn', async () => {
    exchange.outcomes.resume();
    await waitFor('the outcome', () => exchange.unsettled === 0);
  });
});
