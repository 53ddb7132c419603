import type { ChangedFrom, ErpPage, ErpReader, ReadCustomer, ReadOrder, RowFilter } from '../../erp/erp-reader.js';
import { compareChangedAt, isReached, laterChangedAt, shiftChangedAt } from '../../erp/time/time-form.js';
import { type Entity, inSource, pluralOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { beginSweep, type CursorName, isAnythingWaiting, noteScans, type SourceMarks } from '../../store/job-runs.js';
import { activePauses, listPauses } from '../../store/lane-pauses.js';
import type { Lease } from '../../store/lease.js';
import { mappingFingerprint } from '../outbox/content-hash.js';
import { changedKeys } from '../recovery/source-keys.js';
import { readRecoveryHold } from '../recovery/store-witness.js';
import { PassHolds } from './apply-safety-limits.js';
import { capturePage, type TouchedRecord } from './capture-page.js';
import { captureCancelled, type RemovalPass, sweepRemovals } from './capture-removals.js';
import {
  acquireCaptureLease,
  addPage,
  addTouched,
  type CaptureOptions,
  type CaptureResult,
  emptyCaptureResult,
  moveCursor,
  openCursor,
  roomOf,
} from './capture-result.js';
import { isFullScanDue } from './full-scan-due.js';
import { partsOf, rowsAtOnce, setUnchangedAside, waitingPages } from './rows-aside.js';
import type { ReadBefore, SourceLook } from './safety-limits.js';
import { overSources } from './sources.js';

type AnyPage = ErpPage<ReadCustomer | ReadOrder>;

/** Reads the ERP and writes what is new or changed into the outbox: messages and cursor in one transaction a page. */
export async function capture(
  context: JobContext,
  reader: ErpReader,
  options: CaptureOptions = {},
): Promise<CaptureResult> {
  const { bySource } = reader;
  return bySource ? overSources(context, bySource, options, captureSource) : captureSource(context, reader, options);
}

async function captureSource(context: JobContext, reader: ErpReader, options: CaptureOptions): Promise<CaptureResult> {
  if (options.dryRun) return new CapturePass(context, reader, options, null).run();
  const lease = await acquireCaptureLease(context);
  if ('code' in lease) return { ...emptyCaptureResult(), busy: true, stopped: { reason: lease } };
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
  readonly #replaced = new Set<string>();
  /** When the scans of this pass began that came to their end. */
  readonly #ended = new Map<CursorName, number>();
  readonly #readBefore: Record<Entity, ReadBefore> = { customer: null, order: null };
  readonly #holds: PassHolds;

  constructor(
    private readonly context: JobContext,
    private readonly reader: ErpReader,
    private readonly options: CaptureOptions /** Null in a dry run. */,
    private readonly lease: Lease | null,
  ) {
    this.#holds = new PassHolds(context);
    const { settings } = context;
    // A trial of five orders must not read five hundred.
    this.#pageSize = Math.min(settings.capture.pageSize, Math.max(options.limit ?? settings.capture.pageSize, 1));
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
    await this.#holds.begin(this.#isPartial());
    if (filter) await this.#sweep(filter.entity, filter);
    else {
      if (this.context.settings.customers.send !== 'none') await this.#entity('customer');
      if (!this.result.stopped) await this.#entity('order');
    }
    if (this.result.stopped) return this.result;
    await this.#noteScans();
    const held = dryRun ? await this.#holds.foresee() : await this.#holds.end(this.#writing);
    this.result.held += held;
    this.result.parked += held;
    this.result.holds = this.#holds.reasons;
    return this.result;
  }

  /** One entity by its cursor: changes since the overlap, or everything when a sweep is due. */
  async #entity(entity: Entity): Promise<void> {
    const { settings, nowMs } = this.context;
    const name = inSource(entity, settings.source);
    const cursor = await openCursor(this.context, this.lease, entity);
    const startedAt = nowMs();
    const due = isFullScanDue(cursor.sweptAt, startedAt, settings.capture.sweepMinutes);
    // The upper bound comes from the ERP's clock, before anything is read: a row from the future must not move the cursor.
    const upper = await this.reader.nowAsChangedAt(entity);
    // A time that the ERP's clock has not come to is no place to go on from: the clock was set back, or the column
    // changed its type.
    const isLost = cursor.changedAt !== null && !isReached(cursor.changedAt, upper);
    // A sweep reads every change as well, so that the first pass, and each one after that, needs no second read.
    const whole = due || isLost || this.options.sweep || this.options.dryRun || this.options.limit !== undefined;
    const look = { clock: upper, isAnew: cursor.isAnew };
    const source = await this.#watchSource(entity, { ...look, sweptRows: null });
    this.#readBefore[entity] = source === null || source.sweptRows === null ? null : source;
    if (entity === 'order') await this.#unsettled();
    if (whole) {
      // A request for a sweep from now on asks for another one.
      if (!this.options.dryRun) await this.#writing.write('begin a sweep', (tx) => beginSweep(tx, name, startedAt));
      await this.#sweep(entity);
      if (this.#isPartial()) return;
      const after = await this.#watchSource(entity, { ...look, sweptRows: this.result.read[pluralOf(entity)] });
      const sweep = { startedAt, lastStartedAt: cursor.sweptAt };
      if (await this.#decidesRemovals(after))
        await sweepRemovals(this.context, this.reader, this.#removalPass(entity), sweep);
      if (this.options.dryRun || this.result.stopped) return;
      await moveCursor(this.#writing, name, { changedAt: upper ?? cursor.changedAt, sweptAt: startedAt });
      this.#ended.set(name, startedAt);
      return;
    }
    if (upper === null) return;
    // Before the cursor moves: a process that dies in between meets the same cancellations again.
    if (settings[pluralOf(entity)].cancelled && (await this.#decidesRemovals(source)))
      await captureCancelled(this.context, this.reader, this.#removalPass(entity), this.#since(cursor.changedAt));
    await this.#changes(entity, cursor.changedAt, upper);
    if (!this.result.stopped) this.#ended.set(name, startedAt);
  }

  /** A scan matters to what it found waiting: where nothing is, there is nothing to note. */
  async #noteScans(): Promise<void> {
    if (this.#ended.size === 0) return;
    const { store } = this.context;
    if (await store.read('look whether anything waits', isAnythingWaiting))
      await this.#writing.write('note that a scan has ended', (tx) => noteScans(tx, this.#ended));
  }

  /** Reading begins an overlap before the cursor, because rows may commit late. */
  #since(changedAt: string | null): string | null {
    return changedAt === null ? null : shiftChangedAt(changedAt, -this.context.settings.capture.overlapSeconds);
  }

  async #decidesRemovals(source: SourceMarks | null): Promise<boolean> {
    if (this.result.stopped) return false;
    // From an empty table nothing was deleted one by one.
    if (source?.hold?.code === 'source_empty') return false;
    // While it is not known what was sent, a create that seems unsent may exist: then nothing of it is withdrawn.
    return (await this.context.store.read('read the hold', readRecoveryHold)) === null;
  }

  async #watchSource(entity: Entity, look: SourceLook): Promise<SourceMarks | null> {
    if (this.#isPartial() || this.result.stopped) return null;
    return this.#holds.watch(this.reader, this.lease, entity, look);
  }

  #removalPass(entity: Entity): RemovalPass {
    return {
      entity,
      lease: this.lease,
      replaced: this.#replaced,
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
        await this.#page(entity, page, cursor === null || cursor === from ? null : { changedAt: cursor });
      if (this.result.stopped || !page.more || !page.last) return;
      position = { after: page.last };
    }
  }

  /** Everything eligible (or what the filter names) in key order. */
  async #sweep(entity: Entity, filter?: RowFilter): Promise<void> {
    const total = this.options.onProgress ? await this.reader.count(entity, filter) : null;
    const asked = this.options.onJudged ? { ...filter, forPeople: true } : filter;
    let after: string[] | null = null;
    for (;;) {
      const page: AnyPage = await this.reader.sweep(entity, after, this.#pageSize, asked);
      const before = this.result.captured.orders + this.result.captured.customers;
      if (page.rows.length > 0) await this.#page(entity, page, null);
      // A page as small as the limit is right for a fresh store; where everything is known already, it would take for ever.
      if (this.result.captured.orders + this.result.captured.customers === before)
        this.#pageSize = Math.min(this.#pageSize * 2, this.context.settings.capture.pageSize);
      this.options.onProgress?.({ entity, read: this.result.read[pluralOf(entity)], total });
      if (this.result.stopped || roomOf(this.result, this.options, entity) <= 0 || !page.more || !page.last) return;
      after = page.last.key;
    }
  }

  /** Orders that waited for their lines in an earlier pass: their changed-at may lie behind the overlap by now. */
  async #unsettled(): Promise<void> {
    // A dry run meets them when it reads everything.
    if (this.#isPartial() || this.options.dryRun) return;
    for await (const { keys, page } of waitingPages(this.context, this.reader)) {
      await this.#page('order', page, null, keys);
      if (this.result.stopped) return;
    }
  }

  async #page(
    entity: Entity,
    page: AnyPage,
    cursor: { changedAt: string } | null,
    unsettledKeys: readonly string[] = [],
  ): Promise<void> {
    await this.#mayGoOn();
    if (this.result.stopped) return;
    const keepCursor = cursor !== null && !this.#isPartial() && !this.options.dryRun;
    const pass = {
      fingerprints: this.#fingerprints,
      givenUpTo: this.#holds.givenUpTo,
      readBefore: this.#readBefore,
      force: this.options.force ?? false,
      // A person who names records wants them now.
      isResync: this.options.filter !== undefined && this.options.filter.keys === undefined,
    };
    let rest = page;
    const settledCustomers = new Set<string>();
    // A trial takes its rows as they come, and a dry run shows them all.
    const isWhole = this.options.limit === undefined && this.lease !== null;
    if (isWhole && !pass.force && unsettledKeys.length === 0) {
      const { page: changed, unchanged, seen } = await setUnchangedAside(this.context, pass, entity, page);
      rest = changed;
      this.result.unchanged += unchanged;
      this.#holds.see(entity, seen);
      for (const row of seen) if (row.entity === 'order' && row.customerKey) settledCustomers.add(row.customerKey);
    }
    for (const part of partsOf(rest, isWhole ? rowsAtOnce : Number.POSITIVE_INFINITY)) {
      const writesCursor = keepCursor && part.isLast;
      if (part.rows.length + part.customers.length + unsettledKeys.length === 0 && !writesCursor) continue;
      await this.#mayGoOn();
      if (this.result.stopped) return;
      const work = await capturePage(this.context, {
        ...pass,
        reader: this.reader,
        entity,
        page: part,
        unsettledKeys,
        settledCustomers,
        lease: this.lease,
        // Customers that no eligible order refers to are only followed once they are known.
        knownCustomersOnly: this.context.settings.customers.send === 'referenced' && !this.options.filter?.keys,
        room: roomOf(this.result, this.options, entity),
        cursor: writesCursor ? cursor : null,
        shownCustomers: this.#shownCustomers,
        replaced: this.#replaced,
        turnedKeys: this.#holds.turnedKeys,
        onJudged: this.options.onJudged,
      });
      this.#holds.count(work.held, work.turnedKeys);
      this.#holds.see(entity, work.seen);
      if (work.alert !== null) this.context.log.error('Updates and removals are held', { alert: work.alert });
      addPage(this.result, this.#waiting, work);
      this.#note(work.touched);
    }
    this.result.read[pluralOf(entity)] += page.rows.length;
  }

  #note(touched: readonly TouchedRecord[]): void {
    const { limit, filter, dryRun, onTouched } = this.options;
    if (dryRun) this.#holds.plan(touched);
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
    const { store, nowMs, settings } = this.context;
    // With an ERP and a store in files nothing ever waits: timers, sockets and signals have their turn here.
    await this.context.thread.turn();
    const pauses = await store.read('read the pauses', listPauses);
    const pause = activePauses(pauses, inSource('capture', settings.source), nowMs())[0];
    if (pause && !this.options.dryRun) {
      this.result.stopped = { reason: { code: 'capture_paused', reason: pause.reason } };
      this.result.paused = true;
    } else if (this.options.signal?.aborted) this.result.stopped = { reason: { code: 'stopping' } };
    else await this.lease?.keep();
  }

  #isPartial(): boolean {
    return this.options.limit !== undefined || this.options.filter !== undefined;
  }
}
