import { isDeepStrictEqual } from 'node:util';
import { appendAudit } from '../../audit/audit-log.js';
import { clearPendingOf, type ErpWriter, WriteBackError } from '../../erp/write-back/erp-writer.js';
import { doubledMs } from '../../model/backoff.js';
import type { WriteBackKind } from '../../model/write-back.js';
import type { JobContext } from '../../ops/job-context.js';
import { canonicalJson, sha256 } from '../../outbound/outbox/content-hash.js';
import { boundKeys } from '../../outbound/outbox/exported-bindings.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo } from '../../store/store-info.js';
import { dueRecords, markDue, removeAllDue, removeDue } from '../../store/write-back-due.js';
import { invoiceNumbersAfter } from '../invoices/list-invoices.js';
import { hasPulled } from '../invoices/pull-record.js';
import { entityOf } from './wanted-rows.js';
import { WriteBackBatch, type WriteBackParts } from './write-back-batch.js';
import {
  dueRefusals,
  forgetWritten,
  isWaitOver,
  listWriteBack,
  readWritten,
  type SweepPhase,
  type SweepPosition,
  saveWriteBack,
  saveWritten,
  sweepStart,
  type WriteBackProgress,
  writtenKeysAfter,
} from './write-back-state.js';

export interface WriteBackOptions {
  signal?: AbortSignal;
  /** A sweep goes on in the next run after so long. */
  sweepMs?: number;
  /** Does not wait after a failure: a person asks for it. */
  triesAtOnce?: boolean;
}

/** One page of a sweep: its keys, and where the next one begins; null: the sweep is done. */
interface SweepPage {
  keys: string[];
  /** Null: the sweep has come to its end. */
  next: SweepPosition | null;
}

const backoff = { baseMs: 30_000, maxMs: 900_000 };

/** The wait after so many failures in a row: doubled with each, up to a quarter of an hour. */
export function writeBackDelayMs(failures: number): number {
  return doubledMs(failures, backoff);
}

/** Writes back the records of one kind: refused ones that are due again, those marked as due, and in a sweep all of them. */
export class WriteBackRun {
  readonly #context: JobContext;
  readonly #lease: Lease;
  readonly #kind: WriteBackKind;
  readonly #writer: ErpWriter;
  readonly #batch: WriteBackBatch;

  constructor(
    parts: WriteBackParts,
    private readonly options: WriteBackOptions,
  ) {
    this.#context = parts.context;
    this.#lease = parts.lease;
    this.#kind = parts.kind;
    this.#writer = parts.writer;
    this.#batch = new WriteBackBatch(parts);
  }

  /** The rows that were written and refused, and the reason why the run did not come to its end, or null. */
  async run(): Promise<{ written: number; refused: number; failure: WriteBackError | null }> {
    const { nowMs } = this.#context;
    let progress = await this.#begin();
    let failure: WriteBackError | null = null;
    if (this.options.triesAtOnce || isWaitOver(progress.nextTryAt, nowMs(), backoff.maxMs))
      try {
        await this.#writeRefused();
        await this.#writeDue();
        progress = await this.#sweep(progress);
        await this.#lookAgain();
        const fine = { failures: 0, failingSince: null, failure: null, nextTryAt: null };
        await this.#save({ ...progress, ...fine, succeededAt: nowMs() });
      } catch (error) {
        if (!(error instanceof WriteBackError)) throw error;
        failure = error;
        await this.#fail(error);
      }
    return { written: this.#batch.written, refused: this.#batch.refused, failure };
  }

  /** A new table, statement or database holds nothing yet, so everything is written anew. */
  async #begin(): Promise<WriteBackProgress> {
    const { settings } = this.#context;
    const { table, upsert, gone } = settings.writeBack[this.#kind];
    const place = upsert === undefined ? ['table', table] : ['statements', upsert, gone ?? null];
    const clears = clearPendingOf(settings.writeBack, entityOf[this.#kind]);
    const fingerprint = sha256(
      canonicalJson([this.#writer.identity(), ...place, ...(clears === undefined ? [] : [clears])]),
    );
    const known = await this.#progress();
    if (known?.fingerprint === fingerprint) return known;
    const progress: WriteBackProgress = {
      kind: this.#kind,
      fingerprint,
      sweep: upsert === undefined && (await this.#takesAway()) ? foundStart : sweepStart,
      sweptAt: null,
      succeededAt: null,
      failures: 0,
      failingSince: null,
      failure: null,
      nextTryAt: null,
    };
    await this.#lease.write('begin to write back', async (tx) => {
      await forgetWritten(tx, this.#kind);
      // The sweep that begins here looks at every record. Before a first go-live the marks may be a million.
      await removeAllDue(tx, this.#kind);
      await saveWriteBack(tx, progress);
    });
    return progress;
  }

  /**
   * A sandbox takes nothing away that it did not write: the table may be in use by production. After a recovery the ids of records
   * that nobody knows any more are the only proof that the service has them; invoices are read anew.
   */
  async #takesAway(): Promise<boolean> {
    const { store, settings } = this.#context;
    if (settings.service.environment !== 'production') return false;
    if (entityOf[this.#kind] === null) return true;
    return (await store.read('look for a recovery', (tx) => readStoreInfo(tx, 'recovered_to'))) === null;
  }

  async #progress(): Promise<WriteBackProgress | undefined> {
    const all = await this.#context.store.read('look how far the write-back is', listWriteBack);
    return all.find(({ kind }) => kind === this.#kind);
  }

  async #save(progress: WriteBackProgress): Promise<void> {
    await this.#lease.write('note how far the write-back is', (tx) => saveWriteBack(tx, progress));
  }

  async #writeRefused(): Promise<void> {
    const { store, settings, nowMs } = this.#context;
    const at = nowMs();
    const keys = await store.read('look for refused rows', (tx) =>
      dueRefusals(tx, this.#kind, at, settings.writeBack.batchSize),
    );
    await this.#batch.write(keys);
  }

  /** Flags that could not be set back yet are for the next run. */
  async #lookAgain(): Promise<void> {
    const { later } = this.#batch;
    if (later.size > 0) await this.#lease.write('look at flags again', (tx) => markDue(tx, this.#kind, [...later]));
  }

  /** A mark is removed after the record is written: a crash in between compares it once more, and finds it written. */
  async #writeDue(): Promise<void> {
    const { store, settings } = this.#context;
    const { batchSize } = settings.writeBack;
    while (!this.#stops) {
      const due = await store.read('look what is due', (tx) => dueRecords(tx, this.#kind, batchSize));
      if (due.length === 0) return;
      await this.#batch.write(due.map(({ recordKey }) => recordKey));
      await this.#lease.write('note that what was due is written', (tx) => removeDue(tx, due));
      if (due.length < batchSize) return;
    }
  }

  async #sweep(progress: WriteBackProgress): Promise<WriteBackProgress> {
    const { store, settings, nowMs, clock } = this.#context;
    const { sweepHours, batchSize } = settings.writeBack;
    const isDue = progress.sweptAt === null || nowMs() - progress.sweptAt > sweepHours * 3_600_000;
    let current = progress;
    let position = progress.sweep ?? (isDue ? sweepStart : null);
    // Before the first list, nothing says which invoices of an earlier store are due no more.
    if (
      position?.phase === 'found' &&
      entityOf[this.#kind] === null &&
      !(await store.read('look for a pull', hasPulled))
    )
      return current;
    const endsAt = clock.monotonicMs() + (this.options.sweepMs ?? Number.POSITIVE_INFINITY);
    while (position !== null && !this.#stops && clock.monotonicMs() < endsAt) {
      const from: SweepPosition = position;
      const page: SweepPage =
        from.phase === 'found'
          ? await this.#noteFound(from.after)
          : await store.read('read what is to be in the ERP', (tx) => sweepPage(tx, this.#kind, from, batchSize));
      await this.#batch.write(page.keys);
      position = page.next;
      current = { ...current, sweep: position, ...(position === null ? { sweptAt: nowMs() } : {}) };
      await this.#save(current);
    }
    return current;
  }

  /** Rows that an earlier store wrote count as written, with unknown content: the end of the sweep removes unknown records. */
  async #noteFound(after: string | null): Promise<SweepPage> {
    const { batchSize } = this.#context.settings.writeBack;
    const found = await this.#writer.rowsAfter(this.#kind, after ?? '', batchSize);
    const keys = found.map(({ key }) => key);
    await this.#lease.write('note what the ERP held before', async (tx) => {
      const written = await readWritten(tx, this.#kind, keys);
      const unknown = keys.filter((key) => !written.has(key));
      const rows = unknown.map((recordKey) => ({ recordKey, contentHash: null, refusal: null, nextTryAt: null }));
      await saveWritten(tx, this.#kind, rows);
    });
    return { keys: [], next: following('found', keys, batchSize, sweepStart) };
  }

  get #stops(): boolean {
    return this.options.signal?.aborted ?? false;
  }

  async #fail(error: WriteBackError): Promise<void> {
    const { actor, nowMs, log } = this.#context;
    const progress = await this.#progress();
    if (!progress) throw error;
    const at = nowMs();
    const kind = this.#kind;
    const { fact: failure } = error;
    const failures = progress.failures + 1;
    const isNew = !isDeepStrictEqual(progress.failure, failure);
    if (isNew) log.error('Write-back failed', { kind, error: failure });
    await this.#lease.write('note that the write-back failed', async (tx) => {
      const nextTryAt = at + writeBackDelayMs(failures);
      const failingSince = progress.failingSince ?? at;
      await saveWriteBack(tx, { ...progress, failures, failingSince, failure, nextTryAt });
      const detail = { kind, reason: failure };
      if (isNew) await appendAudit(tx, [{ event: 'write_back', outcome: 'failed', actor, detail }], at);
    });
  }
}

const foundStart: SweepPosition = { phase: 'found', after: null };

/** The position after a page of keys: further in this phase, or `next` where the page was the last one. */
function following(phase: SweepPhase, keys: readonly unknown[], limit: number, next: SweepPosition | null) {
  return keys.length < limit ? next : { phase, after: String(keys.at(-1)) };
}

/** First known records, then parked ones, then written ones that may no longer be known: each in their own order. */
async function sweepPage(
  tx: Tx,
  kind: WriteBackKind,
  { phase, after }: SweepPosition,
  limit: number,
): Promise<SweepPage> {
  const entity = entityOf[kind];
  if (phase === 'known') {
    const from = after ?? '';
    const keys = await (entity === null ? invoiceNumbersAfter(tx, from, limit) : boundKeys(tx, entity, from, limit));
    return { keys, next: following(phase, keys, limit, { phase: 'parked', after: null }) };
  }
  if (phase === 'parked') {
    const parked =
      entity === null
        ? []
        : await tx.rows<{ id: number; sourceKey: string }>(
            `SELECT id, source_key FROM outbox_message
              WHERE state='parked' AND entity=? AND id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
            [entity, Number(after ?? 0)],
          );
    const ids = parked.map(({ id }) => id);
    return {
      keys: parked.map(({ sourceKey }) => sourceKey),
      next: following(phase, ids, limit, { phase: 'written', after: null }),
    };
  }
  const keys = await writtenKeysAfter(tx, kind, after ?? '', limit);
  return { keys, next: following(phase, keys, limit, null) };
}
