import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import winston from 'winston';
import { JobScheduler, zoneOf } from '../../src/daemon/schedule.js';
import { waitFor } from '../support/wait-for.js';

describe('the scheduler of the daemon', () => {
  it('works out in UTC what means the same in every time zone, because node-cron passes over the hour that comes twice', () => {
    const zone = (pattern: string) => zoneOf(pattern, 'Europe/Berlin');
    for (const pattern of [
      '*/30 * * * * *',
      '* * * * * *',
      '0 */15 * * * *',
      '15,45 * * * * *',
      '*/5 * * * *',
      '* * * * *',
    ])
      expect(zone(pattern), pattern).to.equal('UTC');
    for (const pattern of [
      '0 30 3 * * *',
      '0 */10 * * * *',
      '0 0 * * * *',
      '0 * 8-18 * * *',
      '* * * * * 1-5',
      '30 3 * * *',
      '* 8 * * *',
    ])
      expect(zone(pattern), pattern).to.equal('Europe/Berlin');
  });

  it('runs a job by its pattern and at once, never twice at a time, and none after the stop, which waits for the last', async () => {
    const log: winston.LogEntry[] = [];
    const logger = winston.createLogger({
      level: 'debug',
      transports: [new winston.transports.Console({ silent: true })],
    });
    logger.on('data', (entry) => log.push(entry));
    const stop = new AbortController();
    const scheduler = new JobScheduler(logger, 'UTC', stop.signal);
    let running = 0;
    let runs = 0;
    const job = scheduler.job('a job', async () => {
      expect(++running).to.equal(1);
      await sleep(1_500);
      running--;
      if (++runs === 1) throw new Error('the first run fails');
    });
    scheduler.schedule('a job', '* * * * * *', job);
    let looks = 0;
    const look = scheduler.job('a look', async () => looks++);
    scheduler.every(50, look);
    void job();
    void job();
    await waitFor('the third run', () => runs === 2 && running === 1, 20_000);
    stop.abort();
    await scheduler.stop();
    expect({ running, runs }).to.deep.equal({ running: 0, runs: 3 });
    expect(looks).to.be.greaterThan(10);
    const before = looks;
    await job();
    await sleep(1_200);
    expect({ runs, looks }).to.deep.equal({ runs: 3, looks: before });
    expect(log.filter(({ level }) => level === 'error').map(({ message }) => message)).to.deep.equal(['a job failed']);
  });

  it('goes on with its patterns after the clock was set back or forward', async () => {
    const RealDate = Date;
    const silent = winston.createLogger({ transports: [new winston.transports.Console({ silent: true })] });
    const scheduler = new JobScheduler(silent, 'UTC', new AbortController().signal);
    let runs = 0;
    const another = async (what: string) => {
      const before = runs;
      await waitFor(`a run ${what}`, () => runs > before + 1, 20_000);
    };
    try {
      scheduler.schedule('a job', '* * * * * *', async () => runs++);
      await another('before');
      for (const [what, aheadMs] of [
        ['two hours back', -7_200_000],
        ['two hours forward', 0],
      ] as const) {
        const now = () => RealDate.now() + aheadMs;
        globalThis.Date = new Proxy(RealDate, {
          construct: (target, values) => Reflect.construct(target, values.length === 0 ? [now()] : values) as Date,
          get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
        });
        await another(what);
      }
    } finally {
      globalThis.Date = RealDate;
      await scheduler.stop();
    }
  });
});
