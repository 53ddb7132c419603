import { setTimeout as sleep } from 'node:timers/promises';
import { addGoneJobs } from '../support/gone-jobs.js';
import type { Redis } from '../support/redis.js';
import type { Crew } from './crew.js';
import { disturb, type Network } from './network.js';
import type { Fault, Worker } from './plan.js';
import { patienceMs, until } from './until.js';

/** The Redis of a run, and the way of each node to it. */
export interface RedisOfRun {
  server: Redis;
  proxies: Record<Worker, Network>;
}

/** In one step, so that no node takes them meanwhile. @returns how many jobs there were */
const emptyWhereInUse = `local jobs = redis.call('KEYS', '*:deliver:[0-9]*-*')
  if #jobs > 0 then redis.call('FLUSHALL') end
  return #jobs`;

/** @returns whether it had an effect */
export async function doRedisFault(
  { server, proxies }: RedisOfRun,
  crew: Crew,
  fault: Extract<Fault, { kind: `redis-${string}` }>,
): Promise<boolean> {
  const withoutIt = () =>
    crew.shifts.reduce((sum, { output }) => sum + output.split('Delivery goes on without Redis').length - 1, 0);
  // Nodes take it into use a while after they have begun.
  const isInUse = () => crew.shifts.some(({ end, output }) => end === null && /over Redis|Redis is back/.test(output));
  await until(patienceMs, isInUse, 20);
  const before = withoutIt();
  switch (fault.kind) {
    case 'redis-killed': {
      await server.kill();
      const [isFelt] = await Promise.all([until(15_000, () => withoutIt() > before, 20), sleep(fault.forMs)]);
      await server.restart();
      return isFelt;
    }
    case 'redis-emptied': {
      // Another fault may have killed it: that one counts itself.
      const emptied = () => server.run('EVAL', emptyWhereInUse, '0').catch(() => 0);
      return until(15_000, async () => Number(await emptied()) > 0, 2);
    }
    case 'redis-of-the-past':
      // Another fault may have killed it.
      return until(15_000, () => addGoneJobs(server, fault.jobs).catch(() => false), 100);
    case 'redis-slow':
      return disturb(Object.values(proxies), (proxy) => proxy.delay(fault.byMs), fault.forMs);
    case 'redis-cut-off':
      return disturb([proxies[fault.who]], (proxy) => proxy.halfOpen(), fault.forMs);
  }
}
