import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import type { Settings } from '../../../src/config/settings.js';
import { mysql } from '../../../src/db/mysql/mysql-store.js';
import { sqlite } from '../../../src/db/sqlite/sqlite-store.js';
import { Exchange } from '../../../src/outbound/deliver/exchange.js';
import type { Settler } from '../../../src/outbound/deliver/outcome-batches.js';
import { Waits } from '../../../src/outbound/deliver/wait-for-work.js';
import { systemClock } from '../../../src/store/clock.js';
import { requestWakeUp } from '../../../src/store/job-runs.js';
import { sharedThread } from '../../../src/v8.js';
import { useStore } from '../../store/stores.js';
import { useLab } from '../../support/jobs/job-lab.js';
import { VirtualClock } from '../../support/virtual-clock.js';

describe('delivery with nothing to do', () => {
  const kit = useLab(useStore('sqlite'));

  /** Rests, and says after how many milliseconds it was over, how often it asked the store, and whether nothing was due. */
  async function rest(clock: VirtualClock, news = new EventEmitter(), wakeAt: number | null = null) {
    let asked = 0;
    const store = Object.create(kit.store, {
      read: {
        value: (...call: Parameters<typeof kit.store.read>) => {
          asked++;
          return kit.store.read(...call);
        },
      },
    });
    const exchange = { count: 0, onEnd: () => undefined };
    const waits = new Waits({ store, clock, nowMs: clock.nowMs, settings: {} as Settings }, exchange, { news });
    const begunAtMs = clock.nowMs();
    let endedAtMs: number | null = null;
    const resting = waits
      .rest(1_000, waits.news, wakeAt, () => false)
      .then(() => {
        endedAtMs = clock.nowMs();
      });
    await clock.runUntil(begunAtMs + 90_000, () => endedAtMs !== null);
    await resting;
    waits.close();
    return { ms: (endedAtMs ?? Number.NaN) - begunAtMs, asked, nothingDue: waits.nothingDue };
  }

  async function makeDue(clock: VirtualClock, inMs: number) {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await postpone(clock.nowMs() + inMs);
  }

  const postpone = (dueAt: number) =>
    kit.store.transaction('wait', (tx) =>
      tx.run('UPDATE outbox_message SET next_attempt_at=? WHERE next_attempt_at IS NOT NULL', [dueAt]),
    );

  it('asks the store one question every two seconds, and looks at everything after a minute', async () => {
    expect(await rest(new VirtualClock(Date.now()))).to.deep.equal({ ms: 60_000, asked: 30, nothingDue: true });
  });

  it('goes on in the moment in which a message is due', async () => {
    const clock = new VirtualClock(Date.now());
    await makeDue(clock, 4_500);
    expect(await rest(clock)).to.deep.equal({ ms: 4_500, asked: 4, nothingDue: false });
  });

  it('leaves what is due already alone for a while: it was looked through in vain', async () => {
    const clock = new VirtualClock(Date.now());
    await makeDue(clock, -1);
    expect(await rest(clock)).to.deep.equal({ ms: 1_000, asked: 2, nothingDue: false });
  });

  it('waits no longer for what comes due in that while', async () => {
    const clock = new VirtualClock(Date.now());
    await makeDue(clock, 300);
    expect(await rest(clock)).to.deep.equal({ ms: 300, asked: 2, nothingDue: false });
  });

  it('goes on at once when something was captured that is due', async () => {
    const clock = new VirtualClock(Date.now());
    await makeDue(clock, 100_000);
    const news = new EventEmitter();
    clock.after(2_300, () => void postpone(clock.nowMs()).then(() => news.emit('due')));
    expect(await rest(clock, news)).to.deep.equal({ ms: 2_300, asked: 3, nothingDue: false });
  });

  it('rests on when a pass of capture has ended and nothing is due', async () => {
    const clock = new VirtualClock(Date.now());
    const news = new EventEmitter();
    clock.after(2_300, () => news.emit('due'));
    expect((await rest(clock, news)).ms).to.equal(60_000);
  });

  it('goes on when the next look-up is due', async () => {
    const clock = new VirtualClock(Date.now());
    const wakeAt = clock.nowMs() + 2_500;
    expect(await rest(clock, new EventEmitter(), wakeAt)).to.deep.equal({ ms: 2_500, asked: 2, nothingDue: false });
  });

  it('hands on what other processes ask for, and says when it looks no more', async () => {
    const clock = new VirtualClock(Date.now());
    await kit.store.transaction('wake', (tx) => requestWakeUp(tx, 'capture', 'anna', Date.now()));
    const news = new EventEmitter();
    const heard: unknown[] = [];
    news.on('asks', (asks) => heard.push(asks));
    await rest(clock, news, clock.nowMs() + 2_500);
    expect(heard).to.deep.equal([['wake-up'], ['wake-up'], null]);
  });
});

describe('what is claimed and waits for its turn', () => {
  let forgotten = 0;
  const gate = { forget: () => ++forgotten } as never;
  const store = { dialect: sqlite };

  it('has no request begun beyond a few more than may be under way, and what is patient stands before none', async () => {
    const settings = { service: { concurrency: 2, limits: [] } };
    const exchange = new Exchange({ settings, store, nowMs: Date.now } as never, { lost: true } as never, gate);
    const begun = { usual: [] as (() => void)[], patient: [] as (() => void)[] };
    const ended = { verdict: { kind: 'delivered' }, startedAtMs: null } as never;
    const begin = (kind: 'usual' | 'patient') =>
      exchange.begin({} as Settler, null, () => new Promise((resolve) => begun[kind].push(() => resolve(ended))), {
        isPatient: kind === 'patient',
      });
    for (let n = 0; n < 30; n++) begin('patient');
    for (let n = 0; n < 30; n++) begin('usual');
    await new Promise(setImmediate);
    expect({ patient: begun.patient.length, usual: begun.usual.length }).to.deep.equal({ patient: 10, usual: 10 });
    expect({ count: exchange.count, patient: exchange.patient }).to.deep.equal({ count: 60, patient: 30 });
    expect(forgotten, 'what the gate knew before a claim counts no more').to.equal(60);
    begun.usual[0]?.();
    await new Promise(setImmediate);
    expect({ patient: begun.patient.length, usual: begun.usual.length }).to.deep.equal({ patient: 10, usual: 11 });
  });

  it('leaves nothing behind for each outcome while one flush goes on, as it does in a drain', async () => {
    const settings = { service: { concurrency: 2, limits: [] } };
    const asleep = { sleep: () => new Promise<void>(() => undefined) };
    const context = { settings, store, nowMs: Date.now, clock: asleep, thread: sharedThread };
    const exchange = new Exchange(context as never, { lost: false } as never, gate);
    const ended = { verdict: { kind: 'delivered' }, startedAtMs: null } as never;
    const handlers: unknown[] = [];
    const plain = Promise.prototype.catch;
    Promise.prototype.catch = function (handler) {
      handlers.push(handler);
      return plain.call(this, handler);
    };
    try {
      for (let n = 0; n < 50; n++) exchange.begin({} as Settler, null, async () => ended, {});
      await exchange.allEnded();
    } finally {
      Promise.prototype.catch = plain;
    }
    expect(exchange.unsettled).to.equal(50);
    expect(handlers).to.have.length(1);
  });

  it('settles as many at once as the store takes well', async () => {
    for (const [dialect, atOnce] of [
      [sqlite, 96],
      [mysql, 192],
    ] as const) {
      const settings = { service: { concurrency: 400, limits: [] } };
      const batches: number[] = [];
      const settler = {
        purposeOf: () => 'create',
        settle: async (_tx: unknown, ended: readonly unknown[]) => {
          batches.push(ended.length);
          return { heard: [] };
        },
      };
      const lane = { inTurn: (work: (heed: () => Promise<void>) => unknown) => work(async () => undefined) };
      const writeBeside = async (_action: string, work: (tx: unknown) => unknown) => work(null);
      const context = { settings, store: { dialect }, nowMs: Date.now, clock: systemClock, thread: sharedThread };
      const exchange = new Exchange(context as never, { lost: false, lane, writeBeside } as never, gate);
      const ended = { verdict: { kind: 'delivered' }, startedAtMs: null } as never;
      for (let n = 0; n < 400; n++) exchange.begin(settler, null, async () => ended, {});
      await exchange.allEnded();
      await exchange.outcomes.flushed();
      expect(batches[0], dialect.name).to.equal(atOnce);
      expect(batches.reduce((sum, size) => sum + size, 0)).to.equal(400);
    }
  });
});
