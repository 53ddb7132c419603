import { join } from 'node:path';
import fc from 'fast-check';
import { settingsFrom } from '../../src/config/load-settings.js';
import type { Settings } from '../../src/config/settings.js';
import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import { actOnMessages, planAction } from '../../src/operator/actions/message-actions.js';
import { capture } from '../../src/outbound/capture/capture.js';
import { deliver } from '../../src/outbound/deliver/deliver.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { useTempDir } from '../support/temp-dir.js';
import { type HistoryStore, openHistoryStore } from './history-store.js';
import { MemoryErp } from './memory-erp.js';
import type { ModelService, Reply, Request } from './model-service.js';
import { VirtualTime } from './virtual-time.js';
import { type Point, points, type Strike, Worker } from './worker.js';

/** `WAYBILL_HISTORIES=5000` tells as many. */
const numRuns = Number(process.env.WAYBILL_HISTORIES ?? 100);
const startMs = Date.UTC(2026, 5, 1, 8);
const deadlineSeconds = 5;
const maxProcessingMs = 300_000;
const orders = 2;

/** The fate of the next request for an order. `afterMs`: when it takes effect, after it was received; null: never. */
interface Fate {
  answer: 'created' | 'timeout' | 'reset' | 'bad gateway';
  afterMs: number | null;
}

type Step =
  | { do: 'deliver'; strike: { point: Point; nth: number } | null }
  | { do: 'advance'; seconds: number }
  | { do: 'fates'; fates: Fate[] }
  /** The clock on the wall is set. */
  | { do: 'set clock'; byMs: number }
  /** The machine is started again, and its clock on the wall may show anything. */
  | { do: 'restart machine'; byMs: number }
  /** A person who has looked at the service says that it is not there. */
  | { do: 'say not there' }
  | { do: 'ask again' };

/** A service without keys, which goes on working on what its client has given up. */
class SlowService {
  readonly made: string[] = [];
  readonly wrong: string[] = [];
  fates: Fate[] = [];
  readonly #coming = new Map<string, number>();
  readonly #customers = new Set<string>();

  constructor(private readonly after: (ms: number, work: () => void) => void) {}

  receive(_by: string, { method, path, query, body }: Request): Reply {
    const answer = (status: number, said: object): Reply => {
      return { kind: 'answer', status, body: JSON.stringify(said), headers: {} };
    };
    if (method === 'GET' && path.startsWith('/v1/customers/')) {
      const code = path.slice('/v1/customers/'.length);
      return this.#customers.has(code) ? answer(200, { customer_code: code }) : answer(404, {});
    }
    if (method === 'GET') {
      const note = String(query.reference);
      const found = this.made.flatMap((one, at) => (one === note ? [{ order_id: `o-${at}`, note }] : []));
      return answer(200, { orders: found });
    }
    const { note, customer_code: code, items } = JSON.parse(body);
    if (path === '/v1/customers') {
      this.#customers.add(code);
      return answer(201, { customer_code: code });
    }
    if (this.made.includes(note)) this.wrong.push(`${note} is sent although it is there`);
    if ((this.#coming.get(note) ?? 0) > 0) this.wrong.push(`${note} is sent although it may still come`);
    const fate = this.fates.shift() ?? { answer: 'created', afterMs: 0 };
    if (fate.afterMs === 0) this.made.push(note);
    else if (fate.afterMs !== null) {
      this.#coming.set(note, (this.#coming.get(note) ?? 0) + 1);
      this.after(fate.afterMs, () => {
        this.#coming.set(note, (this.#coming.get(note) ?? 0) - 1);
        this.made.push(note);
      });
    }
    if (fate.answer === 'bad gateway') return answer(502, { error: { code: 'bad_gateway', message: 'later' } });
    if (fate.answer !== 'created') return { kind: fate.answer };
    const total = items.reduce((sum: number, { qty, price }: { qty: number; price: number }) => sum + qty * price, 0);
    return answer(201, {
      order_id: `o-${this.made.lastIndexOf(note)}`,
      status: 'open',
      total,
      created_at: '2026-06-01T08:00:00Z',
    });
  }
}

/** @param folder for the files beside the store, which processes that are killed leave behind */
const settingsIn = (folder: string) =>
  settingsFrom({
    ...sampleErpMapping,
    installation: 'histories',
    erp: { ...sampleErpMapping.erp, type: 'sqlite', file: 'not-used.sqlite' },
    store: { type: 'sqlite', file: join(folder, 'not-used.sqlite') },
    service: {
      environment: 'sandbox',
      baseUrl: 'http://127.0.0.1:1',
      token: 'a-token',
      deadlineSeconds,
      maxProcessingSeconds: maxProcessingMs / 1000,
      endpoints: {
        lookUpCustomer: {
          path: '/v1/customers/{customer_code}',
          id: 'customer_code',
          match: { customer_code: '{customer_code}' },
          absenceProves: true,
        },
        lookUpOrder: {
          path: '/v1/orders',
          query: { reference: '{note}' },
          list: 'orders',
          id: 'order_id',
          match: { note: '{note}' },
          absenceProves: true,
        },
      },
    },
    delivery: { leaseSeconds: 25, backoffBaseSeconds: 1, backoffMaxSeconds: 30, probeSeconds: 5, quickResends: 0 },
  });

/** An ERP with a few orders, a slow service, and the processes of one machine, whose clocks do as they like. */
class SlowWorld {
  readonly time = new VirtualTime(startMs);
  readonly service: SlowService;
  readonly #erp = new MemoryErp(() => this.time.nowMs);
  #workers: Worker[] = [];
  /** The error of the clock on the wall against the true time, and the number of the machine's start. */
  #aheadMs = 0;
  #boot = { number: 1, atMs: startMs - 3_600_000 };

  constructor(
    private readonly kept: HistoryStore,
    private readonly settings: Settings,
  ) {
    const clock = this.time.clockOf({ state: 'alive' });
    this.service = new SlowService((ms, work) => clock.after(ms, work));
    kept.begin(() => this.time.nowMs);
    this.#erp.customers.set('1', { key: '1', name: 'Ada', changedAtMs: startMs - 60_000 });
    for (let n = 0; n < orders; n++)
      this.#erp.insert({
        changedAtMs: startMs - 60_000,
        touchedAtMs: startMs,
        customerKey: '1',
        qty: 1,
        isBad: false,
        isHalf: false,
        status: 'confirmed',
      });
  }

  async begin(): Promise<void> {
    const worker = this.#worker();
    await worker.run(null, () => capture(worker.context, this.#erp, { sweep: true }));
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'deliver':
        return this.deliver(step.strike && { ...step.strike, what: 'crash' });
      case 'advance':
        return this.time.advance(step.seconds * 1000);
      case 'fates':
        this.service.fates.push(...step.fates);
        return;
      case 'set clock':
        this.#aheadMs += step.byMs;
        return;
      case 'restart machine':
        this.end();
        await this.time.advance(30_000);
        this.#aheadMs += step.byMs;
        this.#boot = { number: this.#boot.number + 1, atMs: this.time.nowMs - 20_000 };
        return;
      case 'say not there':
        return this.#say('not_delivered');
      case 'ask again':
        return this.#say('look_up');
    }
  }

  async deliver(strike: Strike | null = null, retryHorizonMs = 2_000): Promise<void> {
    const worker = this.#worker();
    const freeInMs = await worker.run(strike, async () => {
      const lease = await ServiceLease.acquire(worker.context);
      if (!(lease instanceof ServiceLease)) return lease.freeInMs;
      const scope = { only: null };
      const about = { untilDrained: true, scope, retryHorizonMs, trial: false, erp: this.#erp };
      await deliver(worker.context, worker.client, lease, about).finally(() => lease.release());
      return null;
    });
    if (freeInMs === null || strike !== null) return;
    await this.time.advance(freeInMs);
    await this.deliver(null, retryHorizonMs);
  }

  /** Everything goes well from here on. @returns what is wrong when all has come to rest */
  async heal(): Promise<string[]> {
    this.service.fates = [];
    const open = () =>
      this.kept.rows(
        "SELECT state, reason_code, reason_data FROM outbox_message WHERE state NOT IN ('delivered','superseded')",
      );
    for (let round = 0; round < 8 && open().length > 0; round++) {
      await this.kept.store.transaction('resume', (tx) => tx.run('DELETE FROM lane_pause'));
      await this.time.advance(2 * maxProcessingMs);
      await this.deliver(null, 2 * maxProcessingMs);
    }
    const wrong = open().map(({ state, reason }) => `a message is ${state} in the end: ${reason}`);
    for (let n = 1; n <= orders; n++) {
      const { length } = this.service.made.filter((note) => note === `SO-${n}`);
      if (length !== 1) wrong.push(`SO-${n} is there ${length} times`);
    }
    return wrong;
  }

  /** No process is left. */
  end(): void {
    for (const worker of this.#workers) worker.state = 'dead';
    this.#workers = [];
  }

  async #say(action: 'not_delivered' | 'look_up'): Promise<void> {
    const { context } = this.#worker();
    const filter = { entity: 'order' as const, states: ['in_doubt', 'parked'] as const };
    const request = { action, filter, serviceId: null, reason: 'somebody looked' };
    const { ids } = await planAction(context, request);
    const numbers = new Map(
      this.kept.rows('SELECT id, number FROM outbox_message').map(({ id, number }) => [id, number]),
    );
    const meant = ids.filter((id) => action === 'look_up' || !this.service.made.includes(numbers.get(id)));
    await actOnMessages(context, request, meant);
  }

  #worker(): Worker {
    const able = this.#workers.find(({ isFree }) => isFree);
    if (able) return able;
    const { time, kept, settings } = this;
    const worker = new Worker(`worker-${this.#boot.number}-${this.#workers.length + 1}`, {
      store: kept.store,
      settings,
      time,
      service: this.service as unknown as ModelService,
      random: () => 0.5,
      onSend: () => undefined,
    });
    const { clock } = worker.context;
    const boot = this.#boot;
    worker.context.nowMs = () => time.nowMs + this.#aheadMs;
    worker.context.clock = {
      ...clock,
      sinceBoot: () => ({ bootId: `boot-${boot.number}`, bootMs: time.nowMs - boot.atMs }),
    };
    this.#workers.push(worker);
    return worker;
  }
}

const byMs = fc.oneof(
  fc.integer({ min: -300_000, max: 300_000 }),
  fc.constantFrom(-86_400_000, -3_600_000, 3_600_000, 86_400_000),
);
const fate: fc.Arbitrary<Fate> = fc.oneof(
  fc.record({
    answer: fc.constantFrom('timeout' as const, 'reset' as const, 'bad gateway' as const),
    afterMs: fc.oneof(fc.integer({ min: 1, max: maxProcessingMs }), fc.constantFrom(null, maxProcessingMs)),
  }),
  fc.constant({ answer: 'created' as const, afterMs: 0 }),
);
const strike = fc.option(fc.record({ point: fc.constantFrom(...points), nth: fc.integer({ min: 1, max: 12 }) }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('deliver' as const), strike }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      seconds: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 40, max: 400 })),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('fates' as const), fates: fc.array(fate, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('set clock' as const), byMs }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart machine' as const), byMs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('say not there' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask again' as const) }) },
);

describe('histories with a slow service without keys', () => {
  const dir = useTempDir();
  let kept: HistoryStore;
  let settings: Settings;
  before(async () => {
    kept = await openHistoryStore();
    settings = settingsIn(dir.path);
  });
  after(() => kept.store.close());

  it('make each order once: none is sent again while an earlier request for it can still take effect', async function () {
    this.timeout(60_000 + numRuns * 400);
    const first = fc.array(fate, { minLength: 1, maxLength: 3 });
    const history = fc.asyncProperty(first, fc.array(step, { maxLength: 25, size: 'max' }), async (fates, steps) => {
      const world = new SlowWorld(kept, settings);
      try {
        await world.begin();
        world.service.fates.push(...fates);
        for (const [at, one] of steps.entries()) {
          await world.run(one);
          expectNone(world.service.wrong, `after step ${at + 1}`);
        }
        expectNone([...(await world.heal()), ...world.service.wrong], 'in the end');
      } finally {
        world.end();
      }
    });
    await fc.assert(history, { numRuns });
  });
});

function expectNone(wrong: readonly string[], when: string): void {
  if (wrong.length > 0) throw new Error(`${when}: ${wrong.join('\n')}`);
}
