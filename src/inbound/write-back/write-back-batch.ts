import type { ErpReader } from '../../erp/erp-reader.js';
import { clearPendingOf, type ErpWriter, WriteBackError } from '../../erp/write-back/erp-writer.js';
import type { AlertFact } from '../../model/facts/alerts.js';
import type { Fact } from '../../model/facts/fact.js';
import type { ListFact } from '../../model/facts/lists.js';
import { defaultSource, type Entity, parseSourceKey, sourceOf } from '../../model/record.js';
import type { WriteBackChange, WriteBackKind, WriteBackRow } from '../../model/write-back.js';
import type { JobContext } from '../../ops/job-context.js';
import { canonicalJson, sha256 } from '../../outbound/outbox/content-hash.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import type { Lease } from '../../store/lease.js';
import { clearable, stillPending } from './clear-pending.js';
import { entityOf, wantedRows, writeBackForm } from './wanted-rows.js';
import { writeBackCauses } from './write-back-alerts.js';
import {
  dropWritten,
  isWaitOver,
  readWritten,
  refusalRetryMs,
  saveWritten,
  type WrittenRow,
} from './write-back-state.js';

/** A row that the ERP should have; null: it should have none. `hash` is remembered. */
interface PlannedWrite {
  key: string;
  row: WriteBackRow | null;
  hash: string;
}

/**
 * The writes after which the ERP holds these rows. Leaves out what it holds already, and what it refused and is not due again.
 * A key without a row is one of which nothing is known any more. Pure.
 */
export function planWrites(
  keys: readonly string[],
  rows: ReadonlyMap<string, WriteBackRow>,
  written: ReadonlyMap<string, WrittenRow>,
  nowMs: number,
): PlannedWrite[] {
  return [...new Set(keys)].flatMap((key) => {
    const row = rows.get(key) ?? null;
    const last = written.get(key);
    if (row === null && last === undefined) return [];
    const hash = sha256(canonicalJson(row));
    const isKnown = last !== undefined && last.contentHash === hash;
    if (isKnown && (last.refusal === null || !isWaitOver(last.nextTryAt, nowMs, refusalRetryMs))) return [];
    return [{ key, row, hash }];
  });
}

/** Rows looked at: enough to tell our own change from a clerk's. */
const sampleSize = 20;

/**
 * Tells if our own statement moves the column by which capture finds changes: compares it before and after a write.
 * @returns true: it moved for every row that was looked at; false: it did not; null: nothing could be compared
 */
async function movesChangedAt(
  reader: ErpReader,
  entity: Entity,
  keys: readonly string[],
  write: () => Promise<void>,
): Promise<boolean | null> {
  const before = await changedAtOf(reader, entity, keys.slice(0, sampleSize));
  await write();
  const known = [...before.keys()];
  if (known.length === 0) return null;
  const after = await changedAtOf(reader, entity, known);
  return known.every((key) => after.has(key) && after.get(key) !== before.get(key));
}

/** A reader that fails here fails for capture too, which reports it. */
async function changedAtOf(reader: ErpReader, entity: Entity, keys: readonly string[]): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map();
  const filter = { keys: [...keys] };
  try {
    const { rows } = await reader.sweep(entity, null, sampleSize, filter);
    return new Map(rows.flatMap(({ sourceKey, changedAt }) => (changedAt === null ? [] : [[sourceKey, changedAt]])));
  } catch {
    return new Map();
  }
}

/** The settings with which one kind is written back. */
export interface WriteBackParts {
  context: JobContext;
  writer: ErpWriter;
  /** Tells whether our own statements move the column that capture follows. */
  reader: ErpReader;
  lease: Lease;
  kind: WriteBackKind;
}

/** Brings records of one kind into the ERP, some at a time. */
export class WriteBackBatch {
  /** The count so far. */
  written = 0;
  refused = 0;
  /** Records whose flags could not be set back yet: their rows changed a moment ago, or could not be read. */
  readonly later = new Set<string>();
  #watchedOwnChange = false;

  constructor(private readonly parts: WriteBackParts) {}

  /** Writes what the ERP does not hold yet of these records, and remembers it. After a crash in between, they are written again. */
  async write(asked: readonly string[]): Promise<void> {
    const { context, lease, kind } = this.parts;
    // Nothing is written back into a named source.
    const keys = kind === 'invoices' ? asked : asked.filter((key) => sourceOf(key) === defaultSource);
    if (keys.length === 0) return;
    const { store, settings, nowMs } = context;
    const form = writeBackForm(settings);
    const { rows, written } = await store.read('compare with what was written', async (tx) => ({
      rows: await wantedRows(tx, kind, keys, form),
      written: await readWritten(tx, kind, keys),
    }));
    const planned = planWrites(keys, rows, written, nowMs());
    if (planned.length > 0) await this.#noteIntent(planned, written);
    const refusals = planned.length > 0 ? await this.#sendWatched(planned) : new Map<string, Fact>();
    this.written += planned.length - refusals.size;
    const hashes = new Map(planned.map(({ key, hash }) => [key, hash]));
    const rests = (key: string) => {
      const { refusal = null, nextTryAt = null } = written.get(key) ?? {};
      return refusal !== null && !hashes.has(key) && !isWaitOver(nextTryAt, nowMs(), refusalRetryMs);
    };
    const stillSet = await this.#clearPending(keys.filter((key) => !refusals.has(key) && !rests(key)));
    this.refused += refusals.size + stillSet.size;
    if (planned.length + stillSet.size === 0) return;
    const nextTryAt = nowMs() + refusalRetryMs;
    await lease.write('note what was written back', async (tx) => {
      const kept = planned.filter(({ key, row }) => (row !== null || refusals.has(key)) && !stillSet.has(key));
      const gone = planned.filter(({ key, row }) => row === null && !refusals.has(key)).map(({ key }) => key);
      const rowOf = ({ key, hash }: PlannedWrite): WrittenRow => {
        const refusal = refusals.get(key) ?? null;
        return { recordKey: key, contentHash: hash, refusal, nextTryAt: refusal === null ? null : nextTryAt };
      };
      const again = [...stillSet].map(([recordKey, refusal]) => {
        const contentHash = hashes.get(recordKey) ?? written.get(recordKey)?.contentHash ?? null;
        return { recordKey, contentHash, refusal, nextTryAt };
      });
      await saveWritten(tx, kind, [...kept.map(rowOf), ...again]);
      await dropWritten(tx, kind, gone);
    });
  }

  /** From here on the ERP may hold these rows as planned, or as before, so the next writer writes them again. */
  async #noteIntent(planned: readonly PlannedWrite[], written: ReadonlyMap<string, WrittenRow>): Promise<void> {
    const { lease, kind } = this.parts;
    await lease.keep();
    const rows = planned.map(({ key }): WrittenRow => {
      const { refusal = null, nextTryAt = null } = written.get(key) ?? {};
      return { recordKey: key, contentHash: null, refusal, nextTryAt };
    });
    await lease.write('note what is about to be written back', (tx) => saveWritten(tx, kind, rows));
  }

  /**
   * Asked while the ERP holds our rows locked, right before the commit. A process that was frozen and lost its lease rolls back; one
   * that still has it commits before a successor can write the same rows.
   */
  readonly #mayCommit = () => this.parts.lease.renew();

  /** Sets back the flags by which these records are pending, where the service has what their rows say. @returns why not, by key */
  async #clearPending(keys: readonly string[]): Promise<Map<string, Fact>> {
    const { context, reader, writer, lease, kind } = this.parts;
    const entity = entityOf[kind];
    if (kind === 'invoices' || entity === null || !clearPendingOf(context.settings.writeBack, entity)) return new Map();
    const { clear, later } = await clearable(context, reader, entity, keys);
    for (const key of later) this.later.add(key);
    if (clear.length === 0) return new Map();
    await lease.keep();
    const refusals = await this.#send(clear, (changes) => writer.clearPending(kind, changes, this.#mayCommit));
    const left = clear.filter(({ key }) => !refusals.has(key));
    return new Map([...refusals, ...(await stillPending(reader, entity, left))]);
  }

  /** The first write of a run is watched, where a statement may touch what capture reads. */
  async #sendWatched(planned: readonly PlannedWrite[]): Promise<Map<string, Fact>> {
    const { context, reader, writer, lease, kind } = this.parts;
    const { settings, log, nowMs } = context;
    const entity = entityOf[kind];
    if (this.#watchedOwnChange || entity === null || settings.writeBack[kind].upsert === undefined)
      return this.#send(planned, (changes) => writer.write(kind, changes, this.#mayCommit));
    this.#watchedOwnChange = true;
    let refusals = new Map<string, Fact>();
    const keys = planned.map(({ key }) => key);
    const moves = await movesChangedAt(reader, entity, keys, async () => {
      refusals = await this.#send(planned, (changes) => writer.write(kind, changes, this.#mayCommit));
    });
    if (moves === null || refusals.size > 0) return refusals;
    const cause = `${writeBackCauses.moves}.${kind}` as const;
    const alert: AlertFact = { code: 'write_back_moves_changed_at', kind };
    if (moves) log.warn('Our own statement changes what capture reads', { alert });
    await lease.write('note whether capture sees our own change', (tx) =>
      moves ? raiseAlert(tx, cause, alert, nowMs()) : endAlert(tx, cause, nowMs()),
    );
    return refusals;
  }

  /** Writes these together; where the ERP refuses a row, halves them until it stands alone. @returns why, by key */
  async #send(
    planned: readonly Pick<PlannedWrite, 'key' | 'row'>[],
    write: (changes: readonly WriteBackChange[]) => Promise<void>,
  ): Promise<Map<string, Fact>> {
    const { context, lease, kind } = this.parts;
    const { orders, customers } = context.settings;
    const parts = { orders: orders.key.length, customers: customers.key?.length ?? 1, invoices: 1 }[kind];
    try {
      const changes = planned.map(({ key, row }) => ({ key, keyParts: parseSourceKey(key, parts) ?? [], row }));
      await write(changes);
      return new Map();
    } catch (error) {
      if (!(error instanceof WriteBackError) || error.kind !== 'row') throw error;
      const [only] = planned;
      if (planned.length === 1 && only) return new Map([[only.key, this.#refusalOf(error)]]);
      const middle = Math.ceil(planned.length / 2);
      await lease.keep();
      const first = await this.#send(planned.slice(0, middle), write);
      return new Map([...first, ...(await this.#send(planned.slice(middle), write))]);
    }
  }

  /** A database may quote the row, and personal data stays only where `waybill forget` finds it. */
  #refusalOf(error: WriteBackError): ListFact {
    if (this.parts.kind !== 'customers') return error.fact;
    const { code } = (error.cause ?? {}) as { code?: string };
    return { code: 'erp_refuses_row', errorCode: code ?? null };
  }
}
