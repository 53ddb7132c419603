import type { ChangedFrom, ErpPage, ErpReader, ReadCustomer, ReadOrder, RowFilter } from '../../erp/erp-reader.js';
import { isShortened } from '../../erp/source-key.js';
import { compareChangedAt, laterChangedAt, shiftChangedAt } from '../../erp/time/time-form.js';
import { type Entity, pluralOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { beginSweep, isSweepAsked, readCursor, type SourceMarks, writeCursor } from '../../store/cursors.js';
import { activePauses, listPauses } from '../../store/lane-pauses.js';
import { Lease } from '../../store/lease.js';
import { changedKeys } from '../recovery/source-keys.js';
import { readRecoveryHold } from '../recovery/store-witness.js';
import { capturePage, type TouchedRecord } from './capture-page.js';
import { captureCancelled, type RemovalPass, sweepRemovals } from './capture-removals.js';
import { addPage, addTouched, type CaptureOptions, type CaptureResult, emptyCaptureResult } from './capture-result.js';
import { PassBrakes } from './pass-brakes.js';
import { mappingFingerprint } from './plan-row.js';

type AnyPage = ErpPage<ReadCustomer | ReadOrder>;

/** Reads the ERP and writes what is new or changed into the outbox: messages and cursor in one transaction a page. */
export async function capture(
  context: JobContext,
  reader: ErpReader,
  options: CaptureOptions = {},
): Promise<CaptureResult> {
  if (options.dryRun) return new CapturePass(context, reader, options, null).run();
  const lease = await acquireCaptureLease(context);
  if (typeof lease === 'string') return { ...emptyCaptureResult(), busy: true, stopped: { reason: lease } };
  try {
    return await new CapturePass(context, reader, options, lease).run();
  } finally {
    await lease.release();
  }
}

class CapturePass {
  readonly result = emptyCaptureResult();
  #pageSize: number;
  readonly #fingerprints: Record<Entity, string>;
  readonly #waiting = new Set<string>();
  /** In a dry run nothing is written, so that the customers of the next page would count again. */
  readonly #shownCustomers = new Set<string>();
  readonly #brakes: PassBrakes;

  constructor(
    private readonly context: JobContext,
    private readonly reader: ErpReader,
    private readonly options: CaptureOptions /** Null in a dry run. */,
    private readonly lease: Lease | null,
  ) {
    this.#brakes = new PassBrakes(context);
    const { settings } = context;
    const { capture } = settings;
    // A trial of five orders must not read five hundred.
    this.#pageSize = Math.min(capture.pageSize, Math.max(options.limit ?? capture.pageSize, 1));
    this.#fingerprints = {
      customer: mappingFingerprint(settings, 'customer'),
      order: mappingFingerprint(settings, 'order'),
    };
  }

  async run(): Promise<CaptureResult> {
    const { filter, dryRun } = this.options;
    const rekeyed = await changedKeys(this.context, this.reader.identity(), this.lease);
    if (rekeyed !== null) {
      this.result.stopped = { reason: rekeyed };
      return this.result;
    }
    await this.#brakes.begin(this.#isPartial());
    if (filter) await this.#sweep(filter.entity, filter);
    else {
      if (this.context.settings.customers.send !== 'none') await this.#entity('customer');
      if (!this.result.stopped) await this.#entity('order');
    }
    if (this.result.stopped) return this.result;
    const held = dryRun ? await this.#brakes.foresee() : await this.#brakes.end(this.#writing);
    this.result.held += held;
    this.result.parked += held;
    this.result.brakes = this.#brakes.reasons;
    return this.result;
  }

  /** One entity by its cursor: changes since the overlap, or everything when a sweep is due. */
  async #entity(entity: Entity): Promise<void> {
    const { store, settings, nowMs } = this.context;
    const cursor = await store.read('read the cursor', (tx) => readCursor(tx, entity));
    const startedAt = nowMs();
    const sinceSweepMs = cursor.sweptAt === null ? Number.POSITIVE_INFINITY : startedAt - cursor.sweptAt;
    // One in the future says that the clock was set back since, and nothing of how long ago it was.
    const due = sinceSweepMs >= settings.capture.sweepMinutes * 60_000 || sinceSweepMs < 0;
    // The upper bound comes from the ERP's clock, before anything is read: a row from the future must not move the cursor.
    const upper = await this.reader.nowAsChangedAt(entity);
    // A sweep reads every change as well, so that the first pass, and each one after that, needs no second read.
    const whole = due || this.options.sweep || this.options.dryRun || this.options.limit !== undefined;
    const source = await this.#watchSource(entity, null);
    if (entity === 'order') await this.#unsettled();
    if (whole) {
      // A request for a sweep from now on asks for another one.
      if (!this.options.dryRun) await this.#writing.write('begin a sweep', (tx) => beginSweep(tx, entity));
      await this.#sweep(entity);
      if (this.#isPartial()) return;
      const after = await this.#watchSource(entity, this.result.read[pluralOf(entity)]);
      const sweep = { startedAt, lastStartedAt: cursor.sweptAt };
      if (await this.#decidesRemovals(after))
        await sweepRemovals(this.context, this.reader, this.#removalPass(entity), sweep);
      if (this.options.dryRun || this.result.stopped) return;
      const changedAt = laterChangedAt(cursor.changedAt, upper ?? cursor.changedAt);
      await moveCursor(this.#writing, entity, { changedAt, sweptAt: startedAt });
      return;
    }
    if (upper === null) return;
    // Before the cursor moves: a process that dies in between meets the same cancellations again.
    if (await this.#decidesRemovals(source))
      await captureCancelled(this.context, this.reader, this.#removalPass(entity), this.#since(cursor.changedAt));
    await this.#changes(entity, cursor.changedAt, upper);
  }

  /** Where reading begins: an overlap before the cursor, because rows may commit late. */
  #since(changedAt: string | null): string | null {
    return changedAt === null ? null : shiftChangedAt(changedAt, -this.context.settings.capture.overlapSeconds);
  }

  async #decidesRemovals(source: SourceMarks | null): Promise<boolean> {
    if (this.result.stopped) return false;
    // From an empty table nothing was deleted one by one.
    if (source?.brake?.cause === 'empty') return false;
    // While it is not known what was sent, a create that seems unsent may exist: then nothing of it is withdrawn.
    return (await this.context.store.read('read the hold', readRecoveryHold)) === null;
  }

  async #watchSource(entity: Entity, sweptRows: number | null): Promise<SourceMarks | null> {
    if (this.#isPartial() || this.result.stopped) return null;
    return this.#brakes.watch(this.reader, this.lease, entity, sweptRows);
  }

  #removalPass(entity: Entity): RemovalPass {
    return {
      entity,
      lease: this.lease,
      fingerprint: this.#fingerprints[entity],
      stop: async () => {
        await this.#mayGoOn();
        return this.result.stopped?.reason ?? null;
      },
      report: (removed) => this.#note(removed),
    };
  }

  async #changes(entity: Entity, from: string | null, upper: string): Promise<void> {
    let position: ChangedFrom = { since: this.#since(from) };
    let cursor = from;
    for (;;) {
      const page: AnyPage = await this.reader.readChanged(entity, position, this.#pageSize);
      if (page.last) {
        const reached = compareChangedAt(page.last.changedAt, upper) > 0 ? upper : page.last.changedAt;
        cursor = laterChangedAt(cursor, reached);
      }
      if (page.last || page.rows.length > 0)
        await this.#page(entity, page, cursor === null ? null : { changedAt: cursor });
      if (this.result.stopped || !page.more || !page.last) return;
      position = { after: page.last };
    }
  }

  /** Everything eligible (or what the filter names) in key order. */
  async #sweep(entity: Entity, filter?: RowFilter): Promise<void> {
    const total = this.options.onProgress ? await this.reader.count(entity, filter) : null;
    let after: string[] | null = null;
    for (;;) {
      const page: AnyPage = await this.reader.sweep(entity, after, this.#pageSize, filter);
      const before = this.result.captured.orders + this.result.captured.customers;
      if (page.rows.length > 0) await this.#page(entity, page, null);
      // A page as small as the limit is right for a fresh store; where everything is known already, it would take for ever.
      if (this.result.captured.orders + this.result.captured.customers === before)
        this.#pageSize = Math.min(this.#pageSize * 2, this.context.settings.capture.pageSize);
      this.options.onProgress?.({ entity, read: this.result.read[pluralOf(entity)], total });
      if (this.result.stopped || this.#room(entity) <= 0 || !page.more || !page.last) return;
      after = page.last.key;
    }
  }

  /** Orders that waited for their lines in an earlier pass: their changed-at may lie behind the overlap by now. */
  async #unsettled(): Promise<void> {
    // A dry run meets them when it reads everything.
    if (this.#isPartial() || this.options.dryRun) return;
    const rows = await this.context.store.read('read the orders that wait for their lines', (tx) =>
      tx.rows<{ sourceKey: string }>('SELECT source_key FROM unsettled ORDER BY first_seen_at'),
    );
    // An order with a shortened key is met among the changes and by the sweep.
    const all = rows.map((row) => row.sourceKey).filter((key) => !isShortened(key));
    for (let start = 0; start < all.length && !this.result.stopped; start += this.#pageSize) {
      const keys = all.slice(start, start + this.#pageSize);
      const page = await this.reader.sweep('order', null, keys.length, { keys });
      await this.#page('order', page, null, keys);
    }
  }

  async #page(
    entity: Entity,
    page: AnyPage,
    cursor: { changedAt: string } | null,
    unsettledKeys: readonly string[] = [],
  ): Promise<void> {
    const { settings } = this.context;
    await this.#mayGoOn();
    if (this.result.stopped) return;
    const keepCursor = cursor !== null && !this.#isPartial() && !this.options.dryRun;
    const work = await capturePage(this.context, {
      reader: this.reader,
      entity,
      page,
      unsettledKeys,
      fingerprints: this.#fingerprints,
      givenUpTo: this.#brakes.givenUpTo,
      lease: this.lease,
      force: this.options.force ?? false,
      // Who names records wants them now.
      isResync: this.options.filter !== undefined && this.options.filter.keys === undefined,
      // Customers that no eligible order refers to are only followed once they are known.
      knownCustomersOnly: settings.customers.send === 'referenced' && !this.options.filter?.keys,
      room: this.#room(entity),
      cursor: keepCursor ? cursor : null,
      shownCustomers: this.#shownCustomers,
      turnedKeys: this.#brakes.turnedKeys,
      onJudged: this.options.onJudged,
    });
    this.#brakes.count(work.held, work.turnedKeys);
    this.#brakes.see(entity, work.seen);
    if (work.alert !== null) this.context.log.error(work.alert);
    this.result.read[pluralOf(entity)] += page.rows.length;
    addPage(this.result, this.#waiting, work);
    this.#note(work.touched);
  }

  #note(touched: readonly TouchedRecord[]): void {
    const { limit, filter, dryRun, onTouched } = this.options;
    if (dryRun) this.#brakes.plan(touched);
    addTouched(this.result, touched, limit !== undefined || filter?.keys !== undefined);
    onTouched?.(touched);
  }

  /** The lease to write under. A dry run has none: whatever writes asks for it, and fails there. */
  get #writing(): Lease {
    if (this.lease === null) throw new Error('A dry run writes nothing.');
    return this.lease;
  }

  /** Asked before each page: an operator's pause or a stop ends the pass. */
  async #mayGoOn(): Promise<void> {
    const { store, nowMs } = this.context;
    const pauses = await store.read('read the pauses', listPauses);
    const pause = activePauses(pauses, 'capture', nowMs())[0];
    if (pause && !this.options.dryRun) {
      this.result.stopped = { reason: `capture is paused: ${pause.reason}` };
      this.result.paused = true;
    } else if (this.options.signal?.aborted) this.result.stopped = { reason: 'stopping' };
    else await this.lease?.keep();
  }

  #room(entity: Entity): number {
    if (this.options.limit === undefined) return Number.POSITIVE_INFINITY;
    // The limit counts what was asked for; the customers of five orders come along.
    const counted = this.options.filter?.entity ?? 'order';
    if (counted !== entity) return 0;
    const { captured, waiting } = this.result;
    // Five orders that wait for their lines are five as well, or a trial would read the whole ERP. A dry run has captured them.
    const waited = this.options.dryRun ? 0 : waiting;
    return this.options.limit - (counted === 'order' ? captured.orders + waited : captured.customers);
  }

  #isPartial(): boolean {
    return this.options.limit !== undefined || this.options.filter !== undefined;
  }
}

/** Puts on record that a sweep came to its end. @throws LeaseLost */
async function moveCursor(
  lease: Lease,
  entity: Entity,
  reached: { changedAt: string | null; sweptAt: number },
): Promise<void> {
  await lease.write('move the cursor', async (tx) => {
    // A request for another one meanwhile is heard: this one may have passed the record by then.
    const isAsked = await isSweepAsked(tx, entity);
    await writeCursor(tx, entity, isAsked ? { changedAt: reached.changedAt } : reached);
    killPoint('before-cursor-commit');
  });
  killPoint('after-cursor-commit');
}

/** The right to capture, one process at a time. @returns the lease, or in words who holds it instead */
export async function acquireCaptureLease({ store, settings, actor, clock }: JobContext): Promise<Lease | string> {
  const answer = await Lease.acquire(store, 'capture', actor, settings.delivery.leaseSeconds * 1000, clock);
  if (answer.held) return answer.lease;
  return `${answer.holder} is capturing; its place is free in ${Math.ceil(answer.freeInMs / 1000)} s at the latest`;
}
