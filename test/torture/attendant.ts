import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { keyOf, readErp } from './erp-desk.js';
import { installationOf } from './settings-of-run.js';
import type { Stage } from './stage.js';

/** Whoever looks after the daemons: says what a person has to say, and only that. */
export class Attendant {
  readonly #stage: Stage;
  #looking: Promise<void> = Promise.resolve();
  #away = false;
  #ended = false;
  #loop: Promise<void> = Promise.resolve();
  #trouble: Error | null = null;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** True if there is anything that a person has to say. */
  async hasWork(): Promise<boolean> {
    const [held] = await this.#stage.store.rows<{ n: number }>(
      "SELECT COUNT(*) AS n FROM outbox_message WHERE state='parked' AND park_class='held'",
    );
    return Number(held?.n) > 0 || (await this.#unproven()).length > 0;
  }

  /** Looks no more before `back`; resolves when nothing is being done. */
  async away(): Promise<void> {
    this.#away = true;
    await this.#looking;
  }

  back(): void {
    this.#away = false;
  }

  /** @throws what went wrong when it looked */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#loop;
    if (this.#trouble) throw this.#trouble;
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      if (!this.#away) {
        this.#looking = this.#look().catch((error: Error) => {
          this.#trouble ??= error;
        });
        await this.#looking;
      }
      await sleep(250);
    }
  }

  async #look(): Promise<void> {
    await this.#endAbsurdWaits();
    await this.#confirmWhatIsHeld();
    await this.#resolveWhatIsUnproven();
  }

  /** "Come back tomorrow" is heeded; a person who knows better says so. */
  async #endAbsurdWaits(): Promise<void> {
    const pauses = await this.#stage.store.rows<{ lane: string; cause: string; until_at: number | null }>(
      'SELECT * FROM lane_pause',
    );
    const absurd = (pause: (typeof pauses)[number]) =>
      pause.cause === 'throttled' && Number(pause.until_at ?? 0) > Date.now() + 60_000;
    // If a store came back without its bindings, many creates meet records that are there already.
    const expected = (pause: (typeof pauses)[number]) => this.#stage.past !== null && pause.cause === 'refusals';
    if (!pauses.some((pause) => absurd(pause) || expected(pause))) return;
    await this.#stage.operator.run('resume', '--reason', 'it is back');
  }

  async #confirmWhatIsHeld(): Promise<void> {
    const { rows } = this.#stage.store;
    const [held] = await rows<{ n: number }>(
      "SELECT COUNT(*) AS n FROM outbox_message WHERE state='parked' AND park_class='held'",
    );
    if (Number(held?.n) === 0) return;
    await this.#stage.operator.run('confirm', '--yes', '--reason', 'we looked at the list');
  }

  /**
   * The decisions that only a person can make: all after the loss of a store, else those about records that somebody
   * else sent under our key.
   */
  async #unproven(): Promise<{ entity: 'customer' | 'order'; source_key: string }[]> {
    const { store, past, foreign } = this.#stage;
    if (!past && foreign.records.size === 0) return [];
    const parked = await store.rows<{ entity: 'customer' | 'order'; source_key: string }>(
      "SELECT entity, source_key FROM outbox_message WHERE state='parked' AND park_class IN ('unproven','conflict')",
    );
    return parked.filter(({ entity, source_key: key }) => past || foreign.records.has(`${entity} ${key}`));
  }

  /** The person looks at the service, and says what is there. */
  async #resolveWhatIsUnproven(): Promise<void> {
    const { plan, sandbox, erp, operator, resolved, foreign } = this.#stage;
    const parked = await this.#unproven();
    if (parked.length === 0) return;
    const { customers, orders, deletedOrders } = await readErp(erp);
    const ledger = sandbox.ledger();
    const absent: Record<'customer' | 'order', string[]> = { customer: [], order: [] };
    const present: string[] = [];
    const orderIds: [key: string, serviceId: string][] = [];
    const resolve = (entity: string, keys: string[], ...found: string[]) => {
      for (const key of keys)
        resolved.set(`${entity} ${key}`, found[0] === '--delivered' ? 'delivered' : 'not_delivered');
      const chosen = keys.flatMap((key) => ['--key', key]);
      // Whoever looked into the ledger needs no answer of the service.
      const answer = [
        ...found,
        ...(found[0] === '--delivered' ? ['--unchecked'] : []),
        '--reason',
        'looked at the service',
        '--yes',
      ];
      return operator.run('outbox', 'resolve', '--state', 'parked', '--entity', entity, ...chosen, ...answer);
    };
    for (const { entity, source_key: key } of parked) {
      if (entity === 'customer') {
        const code = customers.find(({ id }) => id === key)?.customer_no;
        if (ledger.customers.some(({ customer_code }) => customer_code === code)) present.push(key);
        else absent.customer.push(key);
        continue;
      }
      const known = [...orders, ...deletedOrders];
      const number = known.find((order) => keyOf(order) === key)?.order_no;
      const isTheirs = ledger.orders.some((one) => one.reference === number && foreign.serviceIds.has(one.order_id));
      const isTwin = isTheirs || known.filter(({ order_no }) => order_no === number).length > 1;
      // A number that two orders share says nothing: the key tells under which of ours it was made.
      const ownKeys = [0, 1, 2].map((generation) => createKey(installationOf(plan), 'order', key, generation));
      const found = ledger.orders.find((one) => (isTwin ? ownKeys.includes(one.key) : one.reference === number));
      if (found) orderIds.push([key, found.order_id]);
      else absent.order.push(key);
    }
    // Each has an id of its own, so that it takes a command for each: several people type.
    const type = async () => {
      for (let one = orderIds.pop(); one; one = orderIds.pop())
        await resolve('order', [one[0]], '--delivered', '--service-id', one[1]);
    };
    await Promise.all([type(), type(), type()]);
    if (present.length > 0) await resolve('customer', present, '--delivered');
    for (const entity of ['customer', 'order'] as const)
      if (absent[entity].length > 0) await resolve(entity, absent[entity], '--not-delivered');
  }
}
