import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import type { Settings } from '../../../src/config/settings.js';
import { Exchange, type Settler, Waits } from '../../../src/outbound/deliver/exchange.js';
import { useStore } from '../../store/stores.js';
import { useLab } from '../../support/jobs/job-lab.js';
import { VirtualClock } from '../../support/virtual-clock.js';

describe('delivery with nothing to do', () => {
  const kit = useLab(useStore('sqlite'));

  /** Rests, and says after how many milliseconds it was over, and how often it asked the store. */
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
    await clock.runUntil(begunAtMs + 60_000, () => endedAtMs !== null);
    await resting;
    waits.close();
    return { ms: (endedAtMs ?? Number.NaN) - begunAtMs, asked };
  }

  it('asks the store one question a second, and looks at everything after half a minute', async () => {
    expect(await rest(new VirtualClock(Date.now()))).to.deep.equal({ ms: 30_000, asked: 29 });
  });

  it('goes on when a message is due', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    const clock = new VirtualClock(Date.now());
    const dueAt = clock.nowMs() + 4_500;
    await kit.store.transaction('wait', (tx) => tx.run('UPDATE outbox_message SET next_attempt_at=?', [dueAt]));
    expect(await rest(clock)).to.deep.equal({ ms: 5_000, asked: 5 });
  });

  it('goes on at once when something was captured', async () => {
    const clock = new VirtualClock(Date.now());
    const news = new EventEmitter();
    clock.after(2_300, () => news.emit('due'));
    expect(await rest(clock, news)).to.deep.equal({ ms: 2_300, asked: 2 });
  });

  it('goes on when the next look-up is due', async () => {
    const clock = new VirtualClock(Date.now());
    expect(await rest(clock, new EventEmitter(), clock.nowMs() + 2_500)).to.deep.equal({ ms: 3_000, asked: 2 });
  });
});

describe('what is claimed and waits for its turn', () => {
  it('has no request begun beyond a few more than may be under way, and what is patient stands before none', async () => {
    const settings = { service: { concurrency: 2, limits: [] } };
    const exchange = new Exchange({ settings, nowMs: Date.now } as never, { lost: true } as never, {} as never);
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
    begun.usual[0]?.();
    await new Promise(setImmediate);
    expect({ patient: begun.patient.length, usual: begun.usual.length }).to.deep.equal({ patient: 10, usual: 11 });
  });
});
