import { Queue } from 'bullmq';
import { Redis as Client } from 'ioredis';
import type { Redis } from './redis.js';

/** No store of a test has so many messages. */
const beyondAll = 1_000_000_000;

/**
 * Puts jobs of messages that are gone into the queue that nodes share, before all that waits, as an older copy of Redis
 * has them.
 * @returns false where no node has made a queue yet
 */
export async function addGoneJobs({ host, port, password, run }: Redis, count: number): Promise<boolean> {
  const [meta] = (await run('KEYS', '*:deliver:meta')) as string[];
  if (meta === undefined) return false;
  const connection = new Client({ host, port, password, maxRetriesPerRequest: null });
  const prefix = meta.slice(0, -':deliver:meta'.length);
  const queue = new Queue('deliver', { connection, prefix, skipVersionCheck: true, skipMetasUpdate: true });
  try {
    await queue.addBulk(
      Array.from({ length: count }, (_, nth) => ({
        name: '',
        data: {},
        opts: { jobId: `${beyondAll + nth}-0`, priority: 1, lifo: true },
      })),
    );
    return true;
  } finally {
    await queue.close();
    connection.disconnect();
  }
}
