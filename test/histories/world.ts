import type { Settings } from '../../src/config/settings.js';
import { pull } from '../../src/inbound/invoices/pull.js';
import { prune } from '../../src/operator/prune.js';
import { capture } from '../../src/outbound/capture/capture.js';
import { deliver } from '../../src/outbound/deliver/deliver.js';
import { liveIdentity, writeGoLive } from '../../src/outbound/deliver/go-live.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import type { HistoryStore } from './history-store.js';
import { MemoryErp, type OrderRow } from './memory-erp.js';
import { ModelService } from './model-service.js';
import { OperatorDesk } from './operator-desk.js';
import { keyLifetimeMs } from './profile.js';
import { settingsOf } from './settings-of.js';
import type { DrawnStrike, Setup, Step } from './step.js';
import { unknownOrders } from './unknown-orders.js';
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
  /** The faults, at the moment at which they happened. */
  readonly wrong: string[] = [];
  hasPruned = false;
  /** A process was ended or stood still: what it was about to send may have been sent, as far as anybody knows. */
  hasStruck = false;
  readonly #settings: Settings;
  readonly #workers: Worker[] = [];
  #isLive = false;
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
      case 'go-live':
        return this.goLive();
      case 'pull':
        return this.pull(this.#strikeOf(step.strike));
      case 'invoice':
        if (step.amount === 0) this.service.invoices.delete(`I-${step.number}`);
        else this.service.invoices.set(`I-${step.number}`, step.amount);
        return;
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
    const result = await worker.run(strike, () => capture(worker.context, this.erp, { sweep }));
    if (strike !== null || !result || result.stopped) return;
    const reachMs = this.time.nowMs - worker.context.settings.capture.overlapSeconds * 1000;
    for (const row of unknownOrders(this))
      if (row.changedAtMs >= reachMs) this.wrong.push(`order ${row.key} was in reach of a pass, and is unknown`);
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
          erp: this.erp,
        }),
      ),
    );
    if (held === null || !isPatient) return;
    await this.time.advance(held);
    await this.deliver(false, null, retryHorizonMs);
  }

  async pull(strike: Strike | null = null): Promise<void> {
    const worker = this.worker();
    await worker.run(strike, () => this.withLease(worker, (lease) => pull(worker.context, worker.client, lease)));
  }

  /** A person says that this store may deliver. */
  async goLive(): Promise<void> {
    const identity = liveIdentity(this.#settings, this.erp.identity());
    await this.kept.store.transaction('go live', (tx) => writeGoLive(tx, identity, 'somebody', this.time.nowMs));
    this.#isLive = true;
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
        touchedAtMs: nowMs,
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
    Object.assign(row, { touchedAtMs: nowMs }, changesOf(step));
    // Lines may change without a sign at their order.
    if (step.do !== 'edit' || step.isSeen) row.changedAtMs = nowMs;
  }

  /** Asked in the moment in which a request leaves. */
  #watchSend({ context }: Worker, method: string, path: string, body: string): void {
    const [lease] = this.kept.rows<{ holder: string | null }>("SELECT holder FROM lease WHERE name='service'");
    if (lease?.holder !== context.actor) this.wrong.push(`${context.actor} sent while ${lease?.holder} had the lease`);
    const lane = method === 'GET' && path === '/v2/invoices' ? 'pull' : 'deliver';
    const paused = this.kept.rows<{ cause: string }>(
      "SELECT cause FROM lane_pause WHERE lane IN ('service', ?) AND (until_at IS NULL OR until_at>?)",
      lane,
      this.time.nowMs,
    );
    for (const { cause } of paused) this.wrong.push(`${method} ${path} was sent in a pause (${cause})`);
    if (method === 'GET') return;
    if (this.setup.isProduction && !this.#isLive) this.wrong.push(`${method} ${path} was sent before the go-live`);
    if (method !== 'POST' || path !== '/v1/orders') return;
    const customer = (JSON.parse(body) as { customer_code: string }).customer_code.replace('C-', '');
    const bound = this.kept.rows("SELECT 1 FROM binding WHERE entity='customer' AND source_key=?", customer);
    if (bound.length === 0) this.wrong.push(`an order was sent before its customer ${customer} was acknowledged`);
  }
}

function changesOf(step: Extract<Step, { order: number }>): Partial<OrderRow> {
  switch (step.do) {
    case 'edit':
      return { qty: step.qty };
    case 'spoil':
      return { isBad: true };
    case 'mend':
      return { isBad: false, isHalf: false };
    case 'cancel':
      return { status: 'cancelled' };
    case 'confirm-order':
      return { status: 'confirmed' };
    case 'delete':
      return {};
  }
}
