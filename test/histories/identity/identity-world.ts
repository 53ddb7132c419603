import winston from 'winston';
import { settingsFrom } from '../../../src/config/load-settings.js';
import type { Settings } from '../../../src/config/settings.js';
import type { Entity } from '../../../src/model/record.js';
import type { OperatorAction } from '../../../src/operator/actions/decide-message-action.js';
import { forgetCustomer } from '../../../src/operator/actions/forget-customer.js';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { actOnMessages } from '../../../src/operator/actions/message-actions.js';
import { planRekey, rekey } from '../../../src/operator/actions/rekey.js';
import { recover } from '../../../src/operator/recover.js';
import type { JobContext } from '../../../src/ops/job-context.js';
import { adoptFile } from '../../../src/outbound/adoption/adopt-file.js';
import { capture } from '../../../src/outbound/capture/capture.js';
import type { CaptureOptions } from '../../../src/outbound/capture/capture-result.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { adoptionsAfter } from '../../../src/outbound/outbox/adoptions.js';
import type { BindingRow } from '../../../src/outbound/outbox/exported-bindings.js';
import type { UnboundFate } from '../../../src/outbound/recovery/recover-messages.js';
import type { ExportedRow } from '../../../src/outbound/recovery/take-over-bindings.js';
import { ServiceClient } from '../../../src/service/service-client.js';
import { systemClock } from '../../../src/store/clock.js';
import { sharedThread } from '../../../src/v8.js';
import { settingsAround } from '../../store/store-settings.js';
import type { StoreKit } from '../../store/stores.js';
import { withServiceLease } from '../../support/jobs/job-lab.js';
import { copyStore, each, exportOf, exportRows, holdAsLost } from '../../support/jobs/lost-store.js';
import type { Step, Way } from './identity-step.js';
import { TwinErp } from './twin-erp.js';
import { type Fate, TwinService } from './twin-service.js';

const hourMs = 3_600_000;
const keyLifetimeHours = 24;
/** Far more than it takes: what can't be put on record is tried again for ever. */
const mostMsToDeliver = 10_000;
const nothingElse = { customer: [], order: [] };
const installation = 'identity-histories';
const silent = winston.createLogger({ silent: true, transports: [new winston.transports.Console()] });

interface OpenMessage {
  id: number;
  entity: Entity;
  source_key: string;
  operation: string;
}

interface BoundRow {
  entity: Entity;
  source_key: string;
  service_id: string;
}

/** An ERP whose numbers and codes repeat, a service, a store, and people who name records of the service. */
export class IdentityWorld {
  readonly erp = new TwinErp();
  readonly service: TwinService;
  /** The faults, at the moment at which they happened. */
  readonly wrong: string[] = [];
  readonly #context: JobContext;
  #client: ServiceClient;
  #isQuoted = false;
  #wasQuoted = false;
  readonly #beganAtMs = Date.now();
  /** Ids of which a person said whose record they are: the person may err, but only once. */
  readonly #named = new Set<string>();
  /** The row of the ERP that was bound to an id first. */
  readonly #owners = new Map<string, string>();
  /** Ids that Waybill has removed at the service, as far as its store can know. */
  readonly #gone = new Set<string>();
  /** Rows that the last reading of the ERP met as cancelled. */
  readonly #cancelled = new Set<string>();
  #copy: { moves: number; amended: string; putBack: () => Promise<void> } | null = null;
  #laterMs = 0;

  constructor(
    private readonly kit: StoreKit,
    isCodeId: boolean,
  ) {
    const nowMs = () => Date.now() + this.#laterMs;
    const settings = settingsOf(isCodeId);
    this.#context = {
      store: kit.store,
      settings,
      actor: 'somebody',
      log: silent,
      nowMs,
      clock: { ...systemClock, sinceBoot: () => ({ bootId: 'one', bootMs: nowMs() }) },
      random: () => 0.5,
      thread: sharedThread,
    };
    this.service = new TwinService(isCodeId, keyLifetimeHours * hourMs, nowMs, {
      makerOf: (entity, key) => this.#makerOf(entity, key),
      creates: (entity, maker) => this.#watchCreate(entity, maker),
      updates: (entity, id, key) => this.#watchUpdate(entity, id, key),
    });
    const { adapter } = this.service;
    this.#client = new ServiceClient({ service: settings.service, quickResends: 0, nowMs, adapter });
    for (const key of ['1', '2', '3']) this.erp.customers.push({ key, code: 'K1', name: `Customer ${key}` });
  }

  async end(): Promise<void> {
    await this.#client.close();
  }

  async run(step: Step): Promise<void> {
    const { erp, service } = this;
    switch (step.do) {
      case 'insert':
        if (erp.orders.length < 5) erp.orders.push({ key: String(erp.orders.length + 1), ...step.order });
        return;
      case 'edit': {
        const order = erp.orders[step.order];
        if (order) Object.assign(order, step.change);
        return;
      }
      case 'amend': {
        const order = erp.orders[step.order];
        if (order) order.amended = (order.amended ?? 0) + 1;
        return;
      }
      case 'cancel': {
        const order = erp.orders[step.order];
        if (order) order.isCancelled = !order.isCancelled;
        return;
      }
      case 'recode':
        Object.assign(erp.customers[step.customer] as object, { code: step.code });
        return;
      case 'foreign':
        if (step.entity === 'customer') service.addForeign('customer', { customer_code: step.name, name: 'Foreign' });
        else service.addForeign('order', foreignOrder(step.name));
        return;
      case 'capture':
        await this.#capture(step.force ? { filter: { entity: 'order' }, force: true } : { sweep: true });
        return;
      case 'deliver':
        return this.deliver(step.fates);
      case 'forget-keys':
        this.#laterMs += (keyLifetimeHours + 1) * hourMs;
        return;
      case 'present':
        return this.#present();
      case 'say':
        return this.#say(step.nth, step.says, step.id);
      case 'confirm':
        return this.#confirm();
      case 'adopt':
        return this.#adopt(step.entity, step.lines);
      case 'forget':
        await forgetCustomer(this.#context, erp.keyOf(step.customer), 'a test');
        return;
      case 'lose':
        return this.#lose(step);
      case 'copy':
        this.#copy = { ...this.#keysNow(), putBack: await copyStore(this.kit) };
        return;
      case 'fail-over':
        return this.#failOver(step.way);
      case 'move':
        return this.#move();
    }
  }

  /** The faults of the store as it stands now. */
  async wrongNow(): Promise<string[]> {
    const wrong = this.wrong.splice(0);
    const bindings: BoundRow[] = await this.kit.rows('SELECT entity, source_key, service_id FROM binding');
    const removed = await this.kit.rows("SELECT service_id FROM removed_id WHERE entity='order'");
    for (const { service_id: id } of removed as BoundRow[]) this.#gone.add(id);
    for (const { entity, source_key: key, service_id: id } of bindings) {
      const name = `${entity} ${id}`;
      if (entity === 'order' && this.#gone.has(id) && !this.#named.has(id) && !this.service.lied.has(id))
        wrong.push(`the order ${key} is bound to ${id}, which was removed`);
      const row = this.erp.rowOf(key);
      if (row === null) continue;
      const owner = this.#owners.get(name) ?? row;
      if (owner !== row) wrong.push(`${name} belonged to the row ${owner}, and now belongs to the row ${row}`);
      this.#owners.set(name, row);
      const maker = this.service.records.get(id)?.maker ?? null;
      const isSaid = this.#named.has(id) || this.service.lied.has(id);
      if (maker !== null && maker !== row && !isSaid)
        wrong.push(`the row ${row} is bound to ${name}, which the row ${maker} made`);
    }
    if (new Set(bindings.map(({ entity, service_id: id }) => `${entity} ${id}`)).size < bindings.length)
      wrong.push(`two bindings have one id: ${JSON.stringify(bindings)}`);
    const parked: { entity: string; source_key: string; reason: string | null }[] = await this.kit.rows(
      "SELECT entity, source_key, reason_code, reason_data FROM outbox_message WHERE state='parked'",
    );
    for (const { entity, source_key: key, reason } of parked) {
      if (!reason) wrong.push(`the ${entity} ${key} waits for a person without a reason`);
      const other = /^(?!Before the keys changed: ).* with the key (\S+) already/.exec(reason ?? '')?.[1];
      if (other === key) wrong.push(`the ${entity} ${key} is said to be in its own way: ${reason}`);
    }
    return wrong;
  }

  /** Everything works again. @returns what is lost when all have come to rest */
  async heal(): Promise<string[]> {
    for (let round = 0; round < 3; round++) {
      await this.#capture({ sweep: true });
      await this.deliver(nothingElse);
      this.#laterMs += hourMs;
    }
    const wrong = await this.wrongNow();
    for (const { key, isCancelled } of this.erp.orders) {
      if (isCancelled) continue;
      const [known] = await this.kit.rows(
        `SELECT 1 FROM outbox_message WHERE entity='order' AND source_key=? AND state IN ('pending','in_doubt','parked','discarded')
         UNION SELECT 1 FROM binding WHERE entity='order' AND source_key=?`,
        [this.erp.orderKeyOf(key), this.erp.orderKeyOf(key)],
      );
      if (!known) wrong.push(`the order ${key} is lost`);
    }
    return wrong;
  }

  async deliver(fates: Record<Entity, readonly Fate[]>): Promise<void> {
    this.service.fates = { customer: [...fates.customer], order: [...fates.order] };
    // No failure of the last time keeps anything back.
    await this.kit.store.transaction('go on', async (tx) => {
      await tx.run('DELETE FROM lane_pause');
      await tx.run("UPDATE outbox_message SET next_attempt_at=1 WHERE state IN ('pending','in_doubt')");
    });
    const signal = AbortSignal.timeout(mostMsToDeliver);
    await withServiceLease(this.#context, (lease) =>
      deliver(this.#context, this.#client, lease, {
        untilDrained: true,
        scope: { only: null },
        retryHorizonMs: 0,
        trial: false,
        erp: this.erp,
        signal,
      }),
    );
    if (signal.aborted) this.wrong.push('a delivery did not come to its end');
    this.service.fates = { customer: [], order: [] };
  }

  async #capture(options: CaptureOptions): Promise<void> {
    const { stopped } = await capture(this.#context, this.erp, options);
    if (stopped) this.wrong.push(`the capture stopped: ${stopped.reason}`);
    if (options.filter) return;
    for (const { key, isCancelled } of this.erp.orders) {
      if (isCancelled) this.#cancelled.add(key);
      else this.#cancelled.delete(key);
      if (isCancelled) continue;
      const rows = await this.kit.rows(
        "SELECT 1 FROM outbox_message WHERE entity='order' AND source_key=? UNION SELECT 1 FROM binding WHERE entity='order' AND source_key=?",
        [this.erp.orderKeyOf(key), this.erp.orderKeyOf(key)],
      );
      if (rows.length === 0) this.wrong.push(`the order ${key} was captured and is not known`);
    }
  }

  async #present(): Promise<void> {
    this.#isQuoted = !this.#isQuoted;
    this.#wasQuoted = true;
    const { service } = this.#context.settings;
    const shown = { ...service, idempotency: { ...service.idempotency, quoted: this.#isQuoted } };
    Object.assign(this.#context, { settings: { ...this.#context.settings, service: shown } });
    await this.#client.close();
    const { adapter } = this.service;
    this.#client = new ServiceClient({ service: shown, quickResends: 0, nowMs: this.#context.nowMs, adapter });
  }

  /** A person looks at the service, and says what became of a message: the truth, or that it is another's record. */
  async #say(nth: number, says: Extract<Step, { do: 'say' }>['says'], idNth: number): Promise<void> {
    const open: OpenMessage[] = await this.kit.rows(
      "SELECT id, entity, source_key, operation FROM outbox_message WHERE state IN ('parked','in_doubt') ORDER BY id",
    );
    const message = open[nth % Math.max(open.length, 1)];
    if (!message) return;
    const ids = this.service.of(message.entity).map(({ id }) => id);
    if (says === 'id') {
      const id = ids[idNth % Math.max(ids.length, 1)];
      return id === undefined ? undefined : this.#act('delivered', message.id, id);
    }
    if (says !== 'truth') return this.#act(says, message.id, null);
    // By then the service works on no request any more.
    this.#laterMs += hourMs / 2;
    const own = this.service.of(message.entity).find(({ maker }) => maker === this.#rowOf(message.source_key));
    return own && message.operation === 'create'
      ? this.#act('delivered', message.id, own.id)
      : this.#act('not_delivered', message.id, null);
  }

  async #act(action: OperatorAction, messageId: number, serviceId: string | null): Promise<void> {
    const request = { action, filter: {}, serviceId, reason: 'a person looked' };
    const { done } = await actOnMessages(this.#context, request, [messageId]);
    if (done > 0 && serviceId !== null) this.#named.add(serviceId);
  }

  async #confirm(): Promise<void> {
    const { shown } = await summariseHeld(this.#context, {});
    await confirmHeld(this.#context, {}, 'send', shown, 'looked at');
  }

  async #adopt(entity: Entity, pairs: readonly { row: number; id: number }[]): Promise<void> {
    const ids = this.service.of(entity).map(({ id }) => id);
    const rows = entity === 'order' ? this.erp.orders : this.erp.customers;
    const lines = pairs.flatMap(({ row, id }, index) => {
      const key = rows[row]?.key;
      const serviceId = ids[id % Math.max(ids.length, 1)];
      return key && serviceId ? [{ line: index + 1, sourceKey: this.#keyOf(entity, key), serviceId }] : [];
    });
    const { bound } = await adoptFile(this.#context, this.erp, {
      entity,
      lines: () => each(lines),
      dryRun: false,
      reason: 'a test',
    });
    if (bound > 0) for (const { serviceId } of lines) this.#named.add(serviceId);
  }

  /** The store is lost, and made anew of an export, in which a person may have mixed up two lines. */
  async #lose({ isExported, mixed, way, isWitnessed }: Extract<Step, { do: 'lose' }>): Promise<void> {
    // Keys that were made under other source keys are known from an export alone.
    const rows: ExportedRow[] | null =
      isExported || this.erp.moves > 0 || this.erp.orders.some(({ amended }) => amended) ? await this.#export() : null;
    const bindings = (rows ?? []).filter((row): row is BindingRow => 'content_hash' in row);
    const [one, other] = mixed ? bindings.filter(({ entity }) => entity === mixed) : [];
    if (one && other)
      for (const row of rows ?? [])
        if (row.entity === mixed && row.source_key === other.source_key) row.service_id = one.service_id;
    const [count] = await this.kit.rows("SELECT value FROM store_info WHERE name='beside_first_key'");
    const besideFirstKey = count === undefined ? {} : { besideFirstKey: Number(count.value) };
    await this.kit.empty();
    await holdAsLost(
      this.kit,
      isWitnessed
        ? { witness: { incarnation: 'the lost one', auditId: 1, ...besideFirstKey } }
        : { kind: 'stated', witness: null },
    );
    this.#owners.clear();
    this.#gone.clear();
    this.#copy = null;
    const fate = this.#fateOf(way);
    const result = await recover(this.#context, this.erp, { fate, bindings: rows && exportOf(rows), reason: 'a test' });
    if (!one || !other) return;
    const [refused] = result.bindings.refused;
    if (refused?.sourceKey !== other.source_key || refused.heldBy !== one.source_key)
      this.wrong.push(`an export named ${one.service_id} twice, and was told ${JSON.stringify(result.bindings)}`);
    const adopted = await this.kit.rows('SELECT entity, source_key, service_id FROM adoption');
    for (const line of adopted as BoundRow[])
      if (line.entity === mixed && line.source_key === other.source_key)
        this.wrong.push(`the row ${line.source_key} counts as adopted, and is not bound to ${line.service_id}`);
  }

  /** What a copy must have in common with the ERP: keys that changed since are known from an export alone. */
  #keysNow() {
    return { moves: this.erp.moves, amended: JSON.stringify(this.erp.orders.map(({ amended = 0 }) => amended)) };
  }

  #fateOf(way: Way): UnboundFate {
    if (way === 'look-up') return { to: 'in_doubt', sentSince: null, lookUp: true };
    // A person says since when: the service has to know every key since then, and each is still made and shown in the same way.
    const isRekeyed = this.erp.moves > 0 || this.erp.orders.some(({ amended }) => amended);
    const mayResend = this.#laterMs < keyLifetimeHours * hourMs && !this.#wasQuoted && !isRekeyed;
    return way === 'from-service' && mayResend ? { to: 'in_doubt', sentSince: this.#beganAtMs } : { to: 'parked' };
  }

  async #failOver(way: Way): Promise<void> {
    const now = this.#keysNow();
    if (this.#copy?.moves !== now.moves || !now.amended.startsWith(this.#copy.amended.slice(0, -1))) return;
    await this.#copy.putBack();
    await holdAsLost(this.kit, { kind: 'older', reason: 'the store is an older copy' });
    this.#owners.clear();
    this.#gone.clear();
    this.#copy = null;
    await recover(this.#context, this.erp, { fate: this.#fateOf(way), bindings: null, reason: 'a test' });
  }

  /** The person says which is which where nothing else tells it, and puts the old keys back where even that is not enough. */
  async #move(): Promise<void> {
    const bound: BoundRow[] = await this.kit.rows('SELECT entity, source_key, service_id FROM binding');
    const rows = bound.map((one) => ({ ...one, row: this.#rowOf(one.source_key) }));
    this.erp.moves++;
    const request = (entity: Entity, isNamed: boolean) => {
      const own = rows.filter((one) => one.entity === entity && !one.row.startsWith('gone'));
      const named = new Map(isNamed ? own.map(({ row, service_id: id }) => [this.#keyOf(entity, row), id]) : []);
      const readers = { every: this.erp, reader: this.erp };
      return { ...readers, entity, named, isRestNew: false, reason: 'the ERP moved' };
    };
    for (const isNamed of [false, true]) {
      const both = [request('customer', isNamed), request('order', isNamed)];
      const plans = [];
      for (const one of both) plans.push(await planRekey(this.#context, one));
      if (plans.some(({ problem }) => problem !== null)) continue;
      for (const one of both) await rekey(this.#context, one);
      return;
    }
    this.erp.moves--;
  }

  async #export(): Promise<ExportedRow[]> {
    const adoptions = await this.kit.store.read('export adoptions', async (tx) => [
      ...(await adoptionsAfter(tx, 'customer', '', 100)),
      ...(await adoptionsAfter(tx, 'order', '', 100)),
    ]);
    return [...(await exportRows(this.kit)), ...adoptions];
  }

  /** Whose create has this key. */
  async #makerOf(entity: Entity, idempotencyKey: string): Promise<string | null> {
    const messages: { source_key: string }[] = await this.kit.rows(
      'SELECT DISTINCT source_key FROM outbox_message WHERE entity=? AND idempotency_key=?',
      [entity, idempotencyKey],
    );
    if (messages.length > 1) this.wrong.push(`${entity}s ${JSON.stringify(messages)} have one idempotency key`);
    return messages[0] ? this.#rowOf(messages[0].source_key) : null;
  }

  #keyOf(entity: Entity, row: string): string {
    return entity === 'order' ? this.erp.orderKeyOf(row) : this.erp.keyOf(row);
  }

  /** The row of the ERP, whatever its key is now. */
  #rowOf(sourceKey: string): string {
    return this.erp.rowOf(sourceKey) ?? `gone ${sourceKey}`;
  }

  async #watchCreate(entity: Entity, maker: string | null): Promise<void> {
    if (maker === null) this.wrong.push(`${entity}: a create with a key of no row`);
    const bindings: BoundRow[] = await this.kit.rows('SELECT source_key, service_id FROM binding WHERE entity=?', [
      entity,
    ]);
    const bound = bindings.find(({ source_key: key }) => this.#rowOf(key) === maker);
    if (bound) this.wrong.push(`${entity}: the row ${maker} was created, and is bound to ${bound.service_id}`);
    // Two customers with one code are one record where the code is the id: what the other one holds is not this one's.
    const isTaken = (id: string) =>
      entity === 'customer' && bindings.some((one) => one.service_id === id && this.#rowOf(one.source_key) !== maker);
    if (entity === 'order' && maker !== null && this.#cancelled.has(maker)) {
      const [first] = await this.kit.rows(
        "SELECT 1 FROM outbox_message WHERE entity='order' AND source_key=? AND state='sending' AND operation='create' AND attempts=1",
        [this.erp.orderKeyOf(maker)],
      );
      if (first) this.wrong.push(`the order ${maker} was sent for the first time, and is cancelled in the ERP`);
    }
    if (this.service.of(entity).some((one) => one.maker === maker && !isTaken(one.id)))
      this.wrong.push(`${entity}: the row ${maker} was created a second time`);
  }

  async #watchUpdate(entity: Entity, id: string, idempotencyKey: string): Promise<void> {
    const [message] = await this.kit.rows('SELECT source_key FROM outbox_message WHERE idempotency_key=?', [
      idempotencyKey,
    ]);
    const owner = this.#owners.get(`${entity} ${id}`);
    if (owner !== undefined && owner !== this.#rowOf(message.source_key))
      this.wrong.push(`${entity} ${id}: the row ${message.source_key} wrote over what belongs to the row ${owner}`);
  }
}

function foreignOrder(note: string) {
  return { customer_code: 'K1', items: [{ sku: 'S', qty: 1, price: 250 }], note };
}

function settingsOf(isCodeId: boolean): Settings {
  const around = settingsAround({});
  const look = (path: string, id: string, name: string, total?: string) => ({
    path,
    query: { q: `{${name}}` },
    list: 'data',
    id,
    match: { [name]: `{${name}}` },
    ...(total && { total }),
  });
  return settingsFrom({
    ...around,
    installation,
    customers: { send: 'referenced', query: 'SELECT 1', key: 'id', fields: { customer_code: 'code', name: 'name' } },
    orders: {
      ...around.orders,
      customerKey: 'customer_id',
      number: 'number',
      cancelled: { column: 'status', values: ['cancelled'] },
      onCancelled: 'delete',
    },
    service: {
      environment: 'sandbox',
      baseUrl: 'http://127.0.0.1:1',
      token: 'a-token',
      concurrency: 1,
      limits: [{ requests: 1_000, perSeconds: 0.001 }],
      idempotency: { lifetimeHours: keyLifetimeHours },
      acknowledgement: isCodeId ? {} : { customerId: 'id' },
      endpoints: {
        updateCustomer: { path: '/v1/customers/{id}' },
        lookUpCustomer: look('/v1/customers', isCodeId ? 'customer_code' : 'id', 'customer_code'),
        lookUpOrder: look('/v1/orders', 'order_id', 'note', 'total'),
      },
    },
    delivery: { backoffBaseSeconds: 0.1, backoffMaxSeconds: 0.1, probeSeconds: 0.1 },
  });
}
