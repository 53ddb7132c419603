import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { RateLimiter } from '../../../src/service/rate-limit/rate-limiter.js';
import { type Clock, systemClock } from '../../../src/store/clock.js';
import { told } from '../../support/told.js';

/** A service that notes when each request came in, and answers after a while. */
class ArrivalLog {
  readonly arrivals: number[] = [];
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  readonly #server: http.Server;
  #port = 0;

  constructor(delay: () => number) {
    this.#server = http.createServer((request, response) => {
      request.resume();
      setTimeout(() => {
        this.arrivals.push(performance.now());
        setTimeout(() => response.end(), delay());
      }, delay());
    });
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      http
        .get({ port: this.#port, host: '127.0.0.1', agent: this.#agent }, (response) => {
          response.resume().on('end', resolve);
        })
        .on('error', reject);
    });
  }

  /** The most requests in any window, wherever it begins. */
  mostIn(windowMs: number): number {
    let most = 0;
    let first = 0;
    this.arrivals.forEach((at, i) => {
      while (at - (this.arrivals[first] as number) >= windowMs) first++;
      most = Math.max(most, i - first + 1);
    });
    return most;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('the rate limiter', () => {
  const shapes = [
    { requests: 20, windowMs: 200, delayMs: 20, total: 80 },
    { requests: 3, windowMs: 100, delayMs: 5, total: 21 },
    { requests: 1, windowMs: 50, delayMs: 0, total: 12 },
    { requests: 50, windowMs: 250, delayMs: 0, total: 200 },
  ];
  for (const { requests, windowMs, delayMs, total } of shapes) {
    it(`lets no window of ${windowMs} ms hold more than ${requests}, with up to ${delayMs} ms each way`, async () => {
      const log = new ArrivalLog(() => Math.random() * delayMs);
      await log.open();
      const limiter = new RateLimiter({ concurrency: 64, limits: [{ requests, windowMs }] });
      await Promise.all(Array.from({ length: total }, () => limiter.run(() => log.ask())));
      expect(log.arrivals).to.have.length(total);
      expect(log.mostIn(windowMs)).to.be.at.most(requests);
      limiter.close();
      await log.close();
    });
  }

  it('is exact in a long turn of the event loop too, from whose beginning timers count', async () => {
    const limit = { requests: 5, windowMs: 40 };
    const limiter = new RateLimiter({ concurrency: 64, limits: [limit] });
    const answered: number[] = [];
    const started: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, () =>
        limiter.run(async () => {
          started.push(performance.now());
          // Time passes within the turn of the loop in which the answer is read.
          const until = performance.now() + 6;
          while (performance.now() < until);
          answered.push(performance.now());
        }),
      ),
    );
    limiter.close();
    started.forEach((at, i) => {
      const before = answered[i - limit.requests];
      if (before !== undefined) expect(at - before, `request ${i}`).to.be.at.least(limit.windowMs);
    });
  });

  it('uses the limit: whoever waits goes as soon as a window has passed', async () => {
    const limit = { requests: 25, windowMs: 150 };
    const log = new ArrivalLog(() => Math.random() * 2);
    await log.open();
    const limiter = new RateLimiter({ concurrency: 64, limits: [limit] });
    await Promise.all(Array.from({ length: 200 }, () => limiter.run(() => log.ask())));
    const spanMs = (log.arrivals.at(-1) as number) - (log.arrivals[0] as number);
    // Eight windows' worth goes out in seven windows at best; a machine under load may take its time, yet not a window each.
    expect(spanMs).to.be.within(7 * 150, 100 * 150);
    limiter.close();
    await log.close();
  });

  it('gives the answer at once, and the slot back a window later', async () => {
    const limiter = new RateLimiter({ concurrency: 4, limits: [{ requests: 1, windowMs: 1_000 }] });
    const began = performance.now();
    expect(await limiter.run(async () => 'first')).to.equal('first');
    expect(performance.now() - began).to.be.below(900);
    await limiter.run(async () => 'second');
    expect(performance.now() - began).to.be.at.least(1_000);
    limiter.close();
  });

  it('takes no slot for a request that was held back', async () => {
    const limiter = new RateLimiter({ concurrency: 4, limits: [{ requests: 1, windowMs: 60_000 }] });
    for (let i = 0; i < 20; i++)
      await limiter.run(
        async () => 'held',
        (result) => result !== 'held',
      );
    expect(await limiter.run(async () => 'sent')).to.equal('sent');
    limiter.close();
  });

  it('gives the slot of a failed task back after a window, and hands the failure on', async () => {
    const limiter = new RateLimiter({ concurrency: 4, limits: [{ requests: 1, windowMs: 80 }] });
    const began = performance.now();
    const failed = await limiter
      .run(async () => {
        throw new Error('broke');
      })
      .catch((error) => error.message);
    expect(failed).to.equal('broke');
    await limiter.run(async () => undefined);
    expect(performance.now() - began).to.be.at.least(80);
    limiter.close();
  });

  it('lets no more than the concurrency be under way, whatever the limit', async () => {
    for (const limits of [[{ requests: 10_000, windowMs: 1 }], [{ requests: 100, windowMs: 10 }]]) {
      const limiter = new RateLimiter({ concurrency: 3, limits });
      let running = 0;
      let most = 0;
      const task = async () => {
        most = Math.max(most, ++running);
        await sleep(2);
        running--;
      };
      await Promise.all(Array.from({ length: 30 }, () => limiter.run(task)));
      expect(most).to.equal(3);
      limiter.close();
    }
  });

  it('lets higher priorities go first, whatever they wait for', async () => {
    for (const concurrency of [1, 64]) {
      const limiter = new RateLimiter({ concurrency, limits: [{ requests: 1, windowMs: 10 }] });
      const order: number[] = [];
      const run = (priority: number) =>
        limiter.run(
          async () => {
            order.push(priority);
          },
          () => true,
          priority,
        );
      await Promise.all([run(0), run(1), run(5), run(1), run(9)]);
      expect(order).to.deep.equal([0, 9, 5, 1, 1]);
      limiter.close();
    }
  });

  it('keeps count of limits that endpoints name in turn', async () => {
    let now = 0;
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => now,
      sleep: async (ms) => {
        now += ms;
      },
    };
    const limiter = new RateLimiter({ concurrency: 1, limits: [{ requests: 1000, windowMs: 1 }], clock });
    for (let i = 0; i < 40; i++)
      await limiter.run(async ({ heed }) => {
        const requests = i % 2 === 0 ? 10 : 12;
        heed(false, { remaining: null, resetMs: null, policies: [{ requests, windowMs: 1_000 }] });
      });
    expect(now).to.be.at.least(2_000);
    limiter.close();
  });

  it('keeps the pace on the whole where every timer is late', async () => {
    let now = 0;
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => now,
      sleep: async (ms) => {
        now += ms + 30;
      },
    };
    const limiter = new RateLimiter({ concurrency: 4, limits: [], clock });
    const left: number[] = [];
    for (let i = 0; i < 100; i++)
      await limiter.run(async () => {
        left.push(now);
      });
    // Ten a second, as long as nothing is heeded; a late one is followed by one in time, and never by a volley.
    expect(now).to.be.within(9_700, 10_200);
    for (const [i, at] of left.entries()) if (i > 1) expect(at - (left[i - 2] as number)).to.be.at.least(100);
    limiter.close();
  });

  it('says how many wait, and lets sleeping slots go when it is closed', async () => {
    const limiter = new RateLimiter({ concurrency: 8, limits: [{ requests: 1, windowMs: 9_000 }] });
    await limiter.run(async () => undefined);
    const rest = [1, 2, 3].map(() => limiter.run(async () => 'ran'));
    await sleep(5);
    expect(limiter.waiting).to.equal(3);
    limiter.close();
    expect(await Promise.all(rest)).to.deep.equal(['ran', 'ran', 'ran']);
    expect(limiter.waiting).to.equal(0);
  });

  it('slows down from the limit of a second, not from the average of a day', async () => {
    const limits = [
      { requests: 10, windowMs: 1_000 },
      { requests: 10_000, windowMs: 86_400_000 },
    ];
    const limiter = new RateLimiter({ concurrency: 16, limits });
    await limiter.run(async ({ heed }) => heed(true, null));
    const began = performance.now();
    await limiter.run(async () => undefined);
    await limiter.run(async () => undefined);
    expect(performance.now() - began).to.be.below(1_500);
    limiter.close();
  });

  it('tells at once who would wait for long, and lets nobody wait for what will not go anyway', async () => {
    const limiter = new RateLimiter({ concurrency: 8, limits: [{ requests: 1, windowMs: 9_000 }] });
    expect(limiter.usedUp).to.equal(null);
    await limiter.run(async () => undefined);
    let isShut = false;
    const waiting = limiter.run(
      async () => 'let go',
      undefined,
      0,
      () => isShut,
    );
    isShut = true;
    limiter.reconsider();
    expect(await waiting).to.equal('let go');

    limiter.recall([], 1_000);
    expect(await limiter.run(async ({ notNow }) => notNow)).to.equal(null);
    const daily = new RateLimiter({ concurrency: 8, limits: [{ requests: 2, windowMs: 86_400_000 }] });
    daily.recall([3_600_000, 60_000], 10_000);
    expect(told(await daily.run(async ({ notNow }) => notNow))).to.equal('2 requests in 86400 s are used up');
    expect(daily.usedUp?.waitMs).to.be.closeTo(82_800_000, 1_000);
    limiter.close();
    daily.close();
  });
});
