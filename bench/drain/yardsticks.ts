import { type BenchOrder, benchOrders } from './orders.js';
import type { Contender } from './task.js';

/** Measures the most that the service and the machine can do. It stores nothing. */
export const undici: Contender = async ({ orders, concurrency, serviceUrl }) => {
  const { Pool } = await import('undici');
  const pool = new Pool(serviceUrl, { connections: concurrency });
  const send = async ({ id, body }: BenchOrder) => {
    const answer = await pool.request({ path: '/orders', method: 'POST', headers: headersOf(id), body });
    expectOrder(await answer.body.json());
  };
  return { drain: () => loops(concurrency, benchOrders(orders), send), close: () => pool.close() };
};

/** The code that people write by hand. It stores nothing. */
export const axios: Contender = async ({ orders, concurrency, serviceUrl }) => {
  const send = await stockAxios(serviceUrl);
  return { drain: () => loops(concurrency, benchOrders(orders), send), close: async () => undefined };
};

/** Redis keeps the jobs, in memory: it is durable only as far as its operator says. */
export const bullmq: Contender = async ({ orders, concurrency, serviceUrl, database }) => {
  const { Queue, Worker } = await import('bullmq');
  const send = await stockAxios(serviceUrl);
  const connection = { host: database?.host ?? '', port: database?.port ?? 0, password: database?.password ?? '' };
  const queue = new Queue('orders', { connection });
  for (const page of pagesOf(benchOrders(orders)))
    await queue.addBulk(page.map((data) => ({ name: 'order', data, opts: { removeOnComplete: true } })));
  const worker = new Worker<BenchOrder>('orders', (job) => send(job.data), {
    connection,
    concurrency,
    autorun: false,
  });
  return {
    drain: () =>
      new Promise((resolve, reject) => {
        let done = 0;
        worker.on('error', reject);
        worker.on('failed', (_job, error) => reject(error));
        worker.on('completed', () => {
          if (++done === orders) resolve();
        });
        worker.run().catch(reject);
      }),
    close: async () => {
      await worker.close();
      await queue.close();
    },
  };
};

/** PostgreSQL keeps the jobs, durably. */
export const pgBoss: Contender = async ({ orders, concurrency, serviceUrl, database }) => {
  const { default: PgBoss } = await import('pg-boss');
  const send = await stockAxios(serviceUrl);
  const boss = new PgBoss({ ...database, schedule: false, supervise: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  const name = 'orders';
  await boss.createQueue(name);
  for (const page of pagesOf(benchOrders(orders))) await boss.insert(page.map((data) => ({ name, data })));
  return {
    // The fastest way that it has: a batch is fetched, sent side by side and completed, each by one statement.
    async drain() {
      for (;;) {
        const jobs = await boss.fetch<BenchOrder>(name, { batchSize: concurrency * 8 });
        if (jobs.length === 0) return;
        await loops(concurrency, jobs.values(), (job) => send(job.data));
        const ids = jobs.map((job) => job.id);
        await boss.complete(name, ids);
      }
    },
    close: () => boss.stop({ graceful: false }),
  };
};

/** axios as its README shows it. */
async function stockAxios(url: string): Promise<(order: BenchOrder) => Promise<void>> {
  const { default: client } = await import('axios');
  return async ({ id, body }) =>
    expectOrder((await client.post(`${url}/orders`, body, { headers: headersOf(id) })).data);
}

const headersOf = (id: number) => ({
  'content-type': 'application/json',
  authorization: 'Bearer a-token-for-the-bench',
  'idempotency-key': `00000000-0000-5000-8000-${String(id).padStart(12, '0')}`,
});

function expectOrder(answer: unknown): void {
  if (!(answer as { order_id?: string }).order_id) throw new Error('The service names no order.');
}

/** As many loops as requests may be under way, over one list. */
async function loops<T>(count: number, items: Iterator<T>, send: (item: T) => Promise<void>): Promise<void> {
  const loop = async () => {
    for (let next = items.next(); !next.done; next = items.next()) await send(next.value);
  };
  await Promise.all(Array.from({ length: count }, loop));
}

function* pagesOf<T>(items: Iterable<T>, size = 1_000): Generator<T[]> {
  let page: T[] = [];
  for (const item of items) {
    page.push(item);
    if (page.length === size) {
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}
