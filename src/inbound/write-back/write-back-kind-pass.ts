import { appendAudit } from '../../audit/audit-log.js';
import { WriteBackError } from '../../erp/write-back/erp-writer.js';
import type { Entity } from '../../model/record.js';
import type { WriteBackKind } from '../../model/write-back.js';
import type { JobContext } from '../../ops/job-context.js';
import { canonicalJson, sha256 } from '../../outbound/outbox/canonical-json.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { invoicesChangedSince } from '../invoices/known-invoices.js';
import { hasPulled } from '../invoices/last-pull.js';
import { WriteBackBatch, type WriteBackPartners } from './write-back-batch.js';
import { writeBackDelayMs } from './write-back-decisions.js';
import {
  dueRefusals,
  forgetMarks,
  listWriteBack,
  readMarks,
  saveMarks,
  saveWriteBack,
  type WriteBackProgress,
} from './write-back-marks.js';
import { entityOf, foundStart, type SweepPage, sweepPage, sweepStart } from './write-back-source.js';

/** Audit lines after an id, in their order: of which records something was noted. */
export interface AuditStretch {
  lines: { id: number; at: number; entity: Entity | null; sourceKey: string | null }[];
  /** Whether there may be more. */
  isFull: boolean;
}

export async function auditAfter(tx: Tx, id: number, limit: number): Promise<AuditStretch> {
  const rows = await tx.select(
    `SELECT id, at, entity, source_key FROM audit_log WHERE id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [id],
  );
  return {
    lines: rows.map((row) => ({
      id: Number(row.id),
      at: Number(row.at),
      entity: row.entity,
      sourceKey: row.source_key,
    })),
    isFull: rows.length >= limit,
  };
}

/** The last line that is older than this; 0: there is none. */
export async function lastAuditBefore(tx: Tx, beforeMs: number): Promise<number> {
  const [row] = await tx.select<{ id: number | null }>('SELECT MAX(id) AS id FROM audit_log WHERE at<?', [beforeMs]);
  return Number(row?.id ?? 0);
}

export interface WriteBackOptions {
  signal?: AbortSignal;
  /** A sweep goes on in the next pass after so long. */
  sweepMs?: number;
  /** Does not wait after a failure: a person asks for it. */
  triesAtOnce?: boolean;
}

/** What one pass did about one kind. */
export interface KindOutcome {
  written: number;
  refused: number;
  failure: WriteBackError | null;
}

const auditLines = 2_000;
/** A transaction that began earlier than its neighbours may commit later: what is younger is read again. */
const auditOverlapMs = 60_000;
const invoiceOverlapMs = 300_000;

/** The part of a pass that is about one kind. */
export class WriteBackKindPass {
  readonly #context: JobContext;
  readonly #partners: WriteBackPartners;
  readonly #options: WriteBackOptions;
  readonly #lease: Lease;
  readonly #kind: WriteBackKind;
  readonly #batch: WriteBackBatch;

  constructor(
    context: JobContext,
    partners: WriteBackPartners,
    options: WriteBackOptions,
    lease: Lease,
    kind: WriteBackKind,
  ) {
    this.#context = context;
    this.#partners = partners;
    this.#options = options;
    this.#lease = lease;
    this.#kind = kind;
    this.#batch = new WriteBackBatch(context, partners, lease, kind);
  }

  async run(): Promise<KindOutcome> {
    const { nowMs } = this.#context;
    let progress = await this.#begin();
    let failure: WriteBackError | null = null;
    if (this.#options.triesAtOnce || progress.nextTryAt <= nowMs())
      try {
        await this.#writeRefused();
        progress = await (entityOf[this.#kind] === null ? this.#writeInvoices(progress) : this.#writeRecords(progress));
        progress = await this.#sweep(progress);
        const fine = { failures: 0, failingSince: null, failure: null, nextTryAt: 0 };
        await this.#save({ ...progress, ...fine, succeededAt: nowMs() });
      } catch (error) {
        if (!(error instanceof WriteBackError)) throw error;
        failure = error;
        await this.#fail(error);
      }
    return { written: this.#batch.written, refused: this.#batch.refused, failure };
  }

  /** Another table, statement or database knows nothing of what was written before. */
  async #begin(): Promise<WriteBackProgress> {
    const { store, settings, nowMs } = this.#context;
    const { table, upsert, gone } = settings.writeBack[this.#kind];
    const place = upsert === undefined ? ['table', table] : ['statements', upsert, gone ?? null];
    const fingerprint = sha256(canonicalJson([this.#partners.writer.identity(), ...place]));
    const known = await this.#progress();
    if (known?.fingerprint === fingerprint) return known;
    const isInvoices = entityOf[this.#kind] === null;
    const progress = await store.read(
      'look where the audit stands',
      async (tx): Promise<WriteBackProgress> => ({
        kind: this.#kind,
        fingerprint,
        changeCursor: isInvoices ? nowMs() : await lastAuditBefore(tx, nowMs() - auditOverlapMs),
        // A sandbox takes nothing away that it did not write: the table may be in use by production.
        sweepAfter: upsert === undefined && settings.service.environment === 'production' ? foundStart : sweepStart,
        sweptAt: null,
        succeededAt: null,
        failures: 0,
        failingSince: null,
        failure: null,
        nextTryAt: 0,
      }),
    );
    await this.#lease.write('begin to write back', async (tx) => {
      await forgetMarks(tx, this.#kind);
      await saveWriteBack(tx, progress);
    });
    return progress;
  }

  async #progress(): Promise<WriteBackProgress | undefined> {
    const all = await this.#context.store.read('look how far the write-back is', listWriteBack);
    return all.find(({ kind }) => kind === this.#kind);
  }

  async #save(progress: WriteBackProgress): Promise<void> {
    await this.#lease.write('note how far the write-back is', async (tx) => {
      await saveWriteBack(tx, progress);
    });
  }

  async #writeRefused(): Promise<void> {
    const { store, settings, nowMs } = this.#context;
    const at = nowMs();
    const keys = await store.read('look for refused rows', (tx) =>
      dueRefusals(tx, this.#kind, at, settings.writeBack.batchSize),
    );
    await this.#batch.write(keys);
  }

  async #writeRecords(progress: WriteBackProgress): Promise<WriteBackProgress> {
    const { store, settings, nowMs } = this.#context;
    const settledBefore = nowMs() - auditOverlapMs;
    let current = progress;
    for (let after = progress.changeCursor; !this.#stops; ) {
      const { lines, isFull } = await store.read('read what has changed', (tx) => auditAfter(tx, after, auditLines));
      const keys = lines.flatMap(({ entity, sourceKey }) =>
        entity === entityOf[this.#kind] && sourceKey !== null ? [sourceKey] : [],
      );
      await this.#writeInBatches([...new Set(keys)], settings.writeBack.batchSize);
      if (this.#stops) break;
      after = lines.at(-1)?.id ?? after;
      const settled = lines.filter(({ at }) => at < settledBefore).at(-1);
      if (settled && settled.id > current.changeCursor) {
        current = { ...current, changeCursor: settled.id };
        await this.#save(current);
      }
      if (!isFull) break;
    }
    return current;
  }

  async #writeInvoices(progress: WriteBackProgress): Promise<WriteBackProgress> {
    const { store, settings, nowMs } = this.#context;
    const startedAt = nowMs();
    for (let after = ''; !this.#stops; ) {
      const numbers = await store.read('read which invoices have changed', (tx) =>
        invoicesChangedSince(tx, progress.changeCursor - invoiceOverlapMs, after, settings.writeBack.batchSize),
      );
      await this.#batch.write(numbers);
      if (numbers.length < settings.writeBack.batchSize) return { ...progress, changeCursor: startedAt };
      after = numbers.at(-1) as string;
    }
    return progress;
  }

  async #sweep(progress: WriteBackProgress): Promise<WriteBackProgress> {
    const { store, settings, nowMs, clock } = this.#context;
    const { sweepHours, batchSize } = settings.writeBack;
    const isDue = progress.sweptAt === null || nowMs() - progress.sweptAt > sweepHours * 3_600_000;
    let current = progress;
    let position = progress.sweepAfter ?? (isDue ? sweepStart : null);
    // Before the first list, nothing says which invoices of an earlier store are due no more.
    if (
      position?.startsWith(foundStart) &&
      entityOf[this.#kind] === null &&
      !(await store.read('look for a pull', hasPulled))
    )
      return current;
    const endsAt = clock.monotonicMs() + (this.#options.sweepMs ?? Number.POSITIVE_INFINITY);
    while (position !== null && !this.#stops && clock.monotonicMs() < endsAt) {
      const from: string = position;
      const page = from.startsWith(foundStart)
        ? await this.#noteFound(from.slice(foundStart.length))
        : await store.read('read what is to be in the ERP', (tx) => sweepPage(tx, this.#kind, from, batchSize));
      await this.#batch.write(page.keys);
      position = page.next;
      current = { ...current, sweepAfter: position, ...(position === null ? { sweptAt: nowMs() } : {}) };
      await this.#save(current);
    }
    return current;
  }

  /** What an earlier store wrote counts as written, as something unknown: so the end of the sweep finds what is known no more. */
  async #noteFound(after: string): Promise<SweepPage> {
    const { settings } = this.#context;
    const { batchSize } = settings.writeBack;
    const keys = await this.#partners.writer.keysAfter(this.#kind, after, batchSize);
    await this.#lease.write('note what the ERP held before', async (tx) => {
      const marks = await readMarks(tx, this.#kind, keys);
      const unknown = keys.filter((key) => !marks.has(key));
      await saveMarks(
        tx,
        this.#kind,
        unknown.map((key) => ({ key, hash: '', refusal: null, nextTryAt: null })),
      );
    });
    return { keys: [], next: keys.length < batchSize ? sweepStart : `${foundStart}${keys.at(-1)}` };
  }

  get #stops(): boolean {
    return this.#options.signal?.aborted ?? false;
  }

  async #writeInBatches(keys: readonly string[], size: number): Promise<void> {
    for (let start = 0; start < keys.length && !this.#stops; start += size)
      await this.#batch.write(keys.slice(start, start + size));
  }

  async #fail(error: WriteBackError): Promise<void> {
    const { actor, nowMs, log } = this.#context;
    const progress = await this.#progress();
    if (!progress) throw error;
    const at = nowMs();
    const failures = progress.failures + 1;
    if (progress.failure !== error.message) log.error('Write-back failed', { kind: this.#kind, error: error.message });
    await this.#lease.write('note that the write-back failed', async (tx) => {
      await saveWriteBack(tx, {
        ...progress,
        failures,
        failingSince: progress.failingSince ?? at,
        failure: error.message,
        nextTryAt: at + writeBackDelayMs(failures),
      });
      if (progress.failure !== error.message)
        await appendAudit(
          tx,
          [{ event: 'write_back', outcome: 'failed', actor, detail: { kind: this.#kind, reason: error.message } }],
          at,
        );
    });
  }
}
