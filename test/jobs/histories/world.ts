import { settingsFrom } from '../../../src/config/load-settings.js';
import type { Settings } from '../../../src/config/settings.js';
import { capture } from '../../../src/jobs/capture.js';
import { deliver } from '../../../src/jobs/deliver.js';
import { prune } from '../../../src/jobs/prune.js';
import { ServiceLease } from '../../../src/jobs/service-lease.js';
import { sampleErpMapping } from '../../../src/sample-erp/sample-erp-mapping.js';
import type { HistoryStore } from './history-store.js';
import { MemoryErp } from './memory-erp.js';
import { ModelService } from './model-service.js';
import { OperatorDesk } from './operator-desk.js';
import { keyLifetimeMs, limit } from './profile.js';
import type { DrawnStrike, Setup, Step } from './step.js';
import { VirtualTime } from './virtual-time.js';
import { type Strike, Worker } from './worker.js';

const startMs = Date.UTC(2026, 5, 1, 8);
const mostOrders = 4;

/** An ERP, a service, a store, and processes between them, all on one injected clock. */
export class World {
  readonly time = new VirtualTime(startMs);
  readonly erp = new MemoryErp(() => this.time.nowMs);
  readonly service: ModelService;
  readonly desk: OperatorDesk;
  readonly setup: Setup;
  readonly kept: HistoryStore;
  /** What was wrong at the moment at which it happened. */
  readonly wrong: string[] = [];
  hasPruned = false;
  /** A process was ended or stood still: what it was about to send may have been sent, as far as anybody knows. */
  hasStruck = false;
  readonly #settings: Settings;
  readonly #workers: Worker[] = [];
  #random: number;

  constructor(kept: HistoryStore, setup: Setup) {
    this.kept = kept;
    this.setup = setup;
    this.#random = setup.seed;
    this.#settings = settingsOf(setup);
    this.service = new ModelService({ replaysRefusals: setup.replaysRefusals, keyLifetimeMs }, () => this.time.nowMs);
    kept.begin(() => this.time.nowMs);
    this.desk = new OperatorDesk(this);
    for (const key of ['1', '2']) this.erp.customers.set(key, { key, name: 'Ada', changedAtMs: startMs - 60_000 });
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'capture':
        return this.capture(step.sweep, this.#strikeOf(step.strike));
      case 'deliver':
        return this.deliver(step.isPatient, this.#strikeOf(step.strike));
      case 'fates':
        this.service.fates.push(...step.fates);
        return;
      case 'advance':
        return this.time.advance(step.seconds * 1000);
      case 'wake':
        return this.wake();
      case 'operate':
        return this.desk.operate(step.action);
      case 'resume':
        return this.desk.resume();
      case 'resync':
        await this.worker().run(null, () =>
          capture(this.worker().context, this.erp, { filter: { entity: 'order' }, force: true }),
        );
        return;
      case 'confirm':
        return this.desk.confirm();
      case 'prune':
        return this.prune();
      default:
        this.#edit(step);
    }
  }

  /** A process that can act; after a crash a new one, as systemd would start it. */
  worker(): Worker {
    const able = this.#workers.find(({ isFree }) => isFree);
    if (able) return able;
    const worker = new Worker(`worker-${this.#workers.length + 1}`, {
      store: this.kept.store,
      settings: this.#settings,
      time: this.time,
      service: this.service,
      random: () => this.random(),
      onSend: (sender, method, path, body) => this.#watchSend(sender, method, path, body),
    });
    this.#workers.push(worker);
    return worker;
  }

  async capture(sweep: boolean, strike: Strike | null = null): Promise<void> {
    const worker = this.worker();
    await worker.run(strike, () => capture(worker.context, this.erp, { sweep }));
  }

  /** Delivers what is due. Somebody else may have the lease: a patient process waits for its end. */
  async deliver(isPatient: boolean, strike: Strike | null = null, retryHorizonMs = 2_000): Promise<void> {
    const worker = this.worker();
    const held = await worker.run(strike, () =>
      this.withLease(worker, (lease) =>
        deliver(worker.context, worker.client, lease, {
          untilDrained: true,
          scope: { only: null },
          retryHorizonMs,
          trial: false,
          erpIdentity: this.erp.identity(),
        }),
      ),
    );
    if (held === null || !isPatient) return;
    await this.time.advance(held);
    await this.deliver(false, null, retryHorizonMs);
  }

  async prune(): Promise<void> {
    this.hasPruned = true;
    const worker = this.worker();
    await worker.run(null, () => this.withLease(worker, (lease) => prune(worker.context, lease.lease)));
  }

  /** @returns null when the work is done, else how long somebody else has the lease */
  async withLease(worker: Worker, work: (lease: ServiceLease) => Promise<unknown>): Promise<number | null> {
    const lease = await ServiceLease.acquire(worker.context);
    if (!(lease instanceof ServiceLease)) return lease.freeInMs;
    try {
      await work(lease);
    } finally {
      await lease.release();
    }
    return null;
  }

  /** Those that stood still go on where they were, whatever has happened since. */
  async wake(): Promise<void> {
    for (const worker of this.#workers) if (worker.state === 'frozen') await worker.thaw();
  }

  /** Nobody does anything any more. */
  end(): void {
    for (const worker of this.#workers) worker.state = 'dead';
  }

  random(): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#random / 2 ** 32;
  }

  #strikeOf(drawn: DrawnStrike | null): Strike | null {
    if (drawn === null) return null;
    const { what } = drawn;
    this.hasStruck ||= typeof what === 'string';
    return { ...drawn, what: typeof what === 'string' ? what : () => this.run(what) };
  }

  #edit(step: Step): void {
    const { nowMs } = this.time;
    if (step.do === 'insert') {
      if (this.erp.given >= mostOrders) return;
      const { qty, isBad, isHalf, lateMinutes } = step;
      this.erp.insert({
        changedAtMs: nowMs - lateMinutes * 60_000,
        customerKey: String(step.customer + 1),
        qty,
        isBad,
        isHalf,
        status: 'confirmed',
      });
      return;
    }
    if (step.do === 'rename') {
      const row = this.erp.customers.get(String(step.customer + 1));
      if (row) Object.assign(row, { name: step.name, changedAtMs: nowMs });
      return;
    }
    if (!('order' in step)) return;
    const row = this.erp.orders.get(String(step.order + 1));
    if (!row) return;
    if (step.do === 'delete') this.erp.orders.delete(row.key);
    // Lines may change without a sign at their order.
    else if (step.do === 'edit') Object.assign(row, { qty: step.qty }, step.isSeen ? { changedAtMs: nowMs } : {});
    else if (step.do === 'spoil') Object.assign(row, { isBad: true, changedAtMs: nowMs });
    else if (step.do === 'mend') Object.assign(row, { isBad: false, isHalf: false, changedAtMs: nowMs });
    else Object.assign(row, { status: step.do === 'cancel' ? 'cancelled' : 'confirmed', changedAtMs: nowMs });
  }

  /** Asked in the moment in which a request leaves. */
  #watchSend({ context }: Worker, method: string, path: string, body: string): void {
    const [lease] = this.kept.rows<{ holder: string | null }>("SELECT holder FROM lease WHERE name='service'");
    if (lease?.holder !== context.actor) this.wrong.push(`${context.actor} sent while ${lease?.holder} had the lease`);
    if (method !== 'POST' || path !== '/v1/orders') return;
    const customer = (JSON.parse(body) as { customer_code: string }).customer_code.replace('C-', '');
    const bound = this.kept.rows("SELECT 1 FROM binding WHERE entity='customer' AND source_key=?", customer);
    if (bound.length === 0) this.wrong.push(`an order was sent before its customer ${customer} was acknowledged`);
  }
}

const known = new Map<string, Settings>();

function settingsOf({ replaysRefusals, updatesBy, onCancelled, onDeleted }: Setup): Settings {
  const name = JSON.stringify([replaysRefusals, updatesBy, onCancelled, onDeleted]);
  const settings =
    known.get(name) ??
    settingsFrom({
      ...sampleErpMapping,
      orders: {
        ...sampleErpMapping.orders,
        cancelled: { column: 'status', values: ['cancelled'] },
        onCancelled,
        onDeleted,
      },
      installation: 'histories',
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: 'not-used.sqlite' },
      store: { type: 'sqlite', file: 'not-used.sqlite' },
      service: {
        environment: 'sandbox',
        baseUrl: 'http://127.0.0.1:1',
        token: 'a-token',
        deadlineSeconds: 5,
        concurrency: 2,
        limit: { requests: limit.requests, perSeconds: limit.windowMs / 1000 },
        idempotency: { replaysRefusals, lifetimeHours: keyLifetimeMs / 3_600_000 },
        endpoints: { updateOrder: { method: updatesBy }, updateCustomer: { method: updatesBy } },
      },
      delivery: { leaseSeconds: 25, backoffBaseSeconds: 1, backoffMaxSeconds: 30, probeSeconds: 5, quickResends: 0 },
      retention: { messagesDays: 1, bodiesDays: 1, auditDays: 1, batchSize: 10 },
    });
  known.set(name, settings);
  return settings;
}
