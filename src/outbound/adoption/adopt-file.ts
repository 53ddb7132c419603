import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { ErpReader, ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import type { RefusalFact } from '../../model/facts/actions.js';
import type { Fact } from '../../model/facts/fact.js';
import { rowFact } from '../../model/facts/rows.js';
import type { Entity } from '../../model/record.js';
import { idIsCode } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';

import { type Lease, lockLease } from '../../store/lease.js';
import { inChunks } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { acquireCaptureLease } from '../capture/capture-result.js';
import { respell } from '../capture/known-records.js';
import { contentHash, identityOf } from '../capture/plan-row.js';
import { canonicalJson, mappingFingerprint } from '../outbox/content-hash.js';
import { readRecoveryHold } from '../recovery/store-witness.js';
import { type AdoptedRecord, bindClaimed, boundCustomers, knownOfClaims, readClaimedRows } from './adopt-records.js';
import { decideAdoption } from './decide-adoption.js';

/** One line of a list of adoptions, or what is wrong with it. */
export type AdoptionLine =
  | { line: number; sourceKey: string; serviceId: string }
  | { line: number; problem: RefusalFact };

type ClaimLine = Extract<AdoptionLine, { sourceKey: string }>;

interface AdoptFileOptions {
  entity: Entity;
  /** Reads the list from its beginning: once to check it, and once to write. */
  lines: () => AsyncIterable<AdoptionLine>;
  dryRun: boolean;
  /** Why, for the audit. */
  reason: string;
}

export interface AdoptFileResult {
  lines: number;
  /** Bindings that were made, or would be. */
  bound: number;
  /** Bound to the same id before. */
  known: number;
  /** Messages that never go out, because the service has their records. */
  superseded: number;
  /** Records that we may have sent before: every field of them is sent once more. */
  ours: number;
  /** Orders whose customer the service has not acknowledged: changes to them wait for it. */
  ordersWithoutCustomer: number;
  /** The fault of the list; then nothing was written, except for the bindings in `bound`. */
  problems: { line: number; sourceKey: string | null; why: Fact }[];
  problemCount: number;
}

/** Lines that become one transaction: a list that is not longer is written whole or not at all. */
const linesPerTransaction = 10_000;
const chunkSize = 500;
const maxProblems = 100;

/**
 * Makes bindings as a list says, and sends nothing. The whole list is checked before anything is
 * written, and checked again as it is written; what a stop left out is made by the next run, which
 * takes what is bound already for done. Nothing is captured meanwhile, and nothing delivered while
 * a transaction runs.
 */
export async function adoptFile(
  context: JobContext,
  reader: ErpReader,
  options: AdoptFileOptions,
): Promise<AdoptFileResult> {
  const hold = await context.store.read('look for a loss of the store', readRecoveryHold);
  if (hold)
    throw new AdoptionRefused(
      'A loss of the store holds everything, until it is known what was sent. First: waybill recover',
    );
  const lease = await captureLease(context);
  try {
    const run = new Adopting(context, reader, lease, options);
    await run.check();
    if (options.dryRun) return run.result;
    if (run.result.problemCount === 0) await run.write();
    else Object.assign(run.result, { bound: 0, superseded: 0, ours: 0, ordersWithoutCustomer: 0 });
    return run.result;
  } finally {
    await lease.release();
  }
}

/** Nothing can be adopted now. The message says what to do. */
class AdoptionRefused extends Error {
  override readonly name = 'AdoptionRefused';
}

async function captureLease(context: JobContext): Promise<Lease> {
  const giveUpAt = performance.now() + (context.settings.delivery.leaseSeconds + 5) * 1000;
  for (;;) {
    const lease = await acquireCaptureLease(context);
    if (!('code' in lease)) return lease;
    if (performance.now() > giveUpAt)
      throw new AdoptionRefused(`${lease.holder} is capturing. Nothing was done: try again.`);
    await sleep(200);
  }
}

class Adopting {
  result: AdoptFileResult = emptyResult();

  constructor(
    private readonly context: JobContext,
    private readonly reader: ErpReader,
    private readonly lease: Lease,
    private readonly options: AdoptFileOptions,
  ) {}

  /** Reads the whole list, and notes what would be done and what is wrong. */
  async check(): Promise<void> {
    const firstOf = { key: new Map<string, number>(), id: new Map<string, number>() };
    for await (const chunk of inChunks(this.options.lines(), chunkSize)) {
      await this.lease.keep();
      const claims: ClaimLine[] = [];
      for (const one of chunk) {
        this.result.lines++;
        if ('problem' in one) {
          this.#problem(one.line, null, one.problem);
          continue;
        }
        const twice =
          this.#twice(firstOf.key, one.sourceKey, one.line, 'key') ??
          this.#twice(firstOf.id, one.serviceId, one.line, 'id');
        if (twice === null) claims.push(one);
        else this.#problem(one.line, one.sourceKey, twice);
      }
      const rows = await this.#rowsOf(claims);
      // Counted apart: a store that is busy runs the whole function again.
      const decided = await this.context.store.read('look what is known of a list', async (tx) => {
        const result = emptyResult();
        await this.#decide(tx, claims, rows, result);
        return result;
      });
      this.#count(decided);
      for (const { line, sourceKey, why } of decided.problems) this.#problem(line, sourceKey, why);
      this.result.problemCount += decided.problemCount - decided.problems.length;
    }
  }

  async write(): Promise<void> {
    this.result = { ...emptyResult(), lines: this.result.lines };
    const claimed = claimsOnly(this.options.lines());
    for await (const batch of inChunks(claimed, linesPerTransaction)) {
      const rows = new Map<string, ReadCustomer | ReadOrder>();
      for (let start = 0; start < batch.length; start += chunkSize)
        for (const [key, row] of await this.#rowsOf(batch.slice(start, start + chunkSize))) rows.set(key, row);
      const written = await this.lease
        .write('adopt records', async (tx) => {
          const result = emptyResult();
          await lockLease(tx, 'service');
          for (let start = 0; start < batch.length; start += chunkSize)
            await this.#bind(tx, batch.slice(start, start + chunkSize), rows, result);
          // The list was fine a moment ago: what changed since is the same for a whole batch.
          if (result.problemCount > 0) throw new BatchRefused(result);
          if (result.bound > 0) killPoint('before-adopt-commit');
          return result;
        })
        .catch((error: unknown) => {
          if (error instanceof BatchRefused) return error.result;
          throw error;
        });
      if (written.problemCount > 0) {
        this.result.problems = written.problems;
        this.result.problemCount = written.problemCount;
        return;
      }
      if (written.bound > 0) killPoint('after-adopt-commit');
      this.#count(written);
    }
  }

  #count(chunk: AdoptFileResult): void {
    for (const count of ['bound', 'known', 'superseded', 'ours', 'ordersWithoutCustomer'] as const)
      this.result[count] += chunk[count];
  }

  async #bind(
    tx: Tx,
    claims: readonly ClaimLine[],
    rows: ReadonlyMap<string, ReadCustomer | ReadOrder>,
    result: AdoptFileResult,
  ): Promise<void> {
    const { actor, nowMs } = this.context;
    const records = await this.#decide(tx, claims, rows, result, true);
    if (result.problemCount > 0) return;
    const at = nowMs();
    await bindClaimed(tx, records, actor, at);
    await appendAudit(
      tx,
      records.flatMap(({ entity, sourceKey, serviceId, decision }): AuditEntry[] => [
        {
          event: 'adopted',
          outcome: 'file',
          entity,
          sourceKey,
          actor,
          detail: { serviceId, reason: this.options.reason },
        },
        ...decision.supersedes.map(
          (messageId): AuditEntry => ({
            event: 'superseded',
            entity,
            sourceKey,
            messageId,
            actor,
            detail: { reason: { code: 'already_there_adopted' } },
          }),
        ),
      ]),
      at,
    );
  }

  /** @returns the records to bind; what speaks against the others is noted in `result` */
  async #decide(
    tx: Tx,
    claims: readonly ClaimLine[],
    rows: ReadonlyMap<string, ReadCustomer | ReadOrder>,
    result: AdoptFileResult,
    lock = false,
  ): Promise<AdoptedRecord[]> {
    const { entity } = this.options;
    const known = await knownOfClaims(tx, entity, claims, lock);
    const records: AdoptedRecord[] = [];
    const customerKeys: string[] = [];
    for (const { line, sourceKey, serviceId } of claims) {
      const row = rows.get(sourceKey) ?? null;
      const claim = { entity, sourceKey, serviceId };
      const record = {
        ...(known.get(sourceKey) as NonNullable<ReturnType<typeof known.get>>),
        row: row && {
          unmapped: row.content.mapped ? null : rowFact(row.content.problems),
          customerCode: row.content.mapped ? row.content.record.customer_code : null,
        },
      };
      const decision = decideAdoption(claim, record, idIsCode(this.context.settings.service.acknowledgement));
      if (decision.to === 'known') result.known++;
      if (decision.to === 'refused') this.#problem(line, sourceKey, decision.why, result);
      if (decision.to !== 'bound' || row === null || !row.content.mapped) continue;
      result.bound++;
      result.superseded += decision.supersedes.length;
      if (decision.isOurs) result.ours++;
      if (row.entity === 'order' && row.customerKey !== null) customerKeys.push(row.customerKey);
      records.push({
        ...claim,
        decision,
        contentHash: decision.isOurs ? null : contentHash(row),
        mappingFingerprint: mappingFingerprint(this.context.settings, entity),
        identity: identityOf(row),
        record: canonicalJson(row.content.record),
      });
    }
    const bound = await boundCustomers(tx, customerKeys);
    result.ordersWithoutCustomer += customerKeys.filter((key) => !bound.has(key)).length;
    return records;
  }

  async #rowsOf(claims: readonly ClaimLine[]): Promise<Map<string, ReadCustomer | ReadOrder>> {
    await this.lease.keep();
    const { entity } = this.options;
    const keys = claims.map(({ sourceKey }) => sourceKey);
    const rows = await readClaimedRows(this.reader, entity, keys);
    // A record that is known under another spelling of its key is adopted under that one.
    const page = await respell(this.context, this.reader, entity, { rows: [...rows.values()], customers: [] });
    return new Map(page.rows.map((row) => [row.sourceKey, row]));
  }

  #twice(seen: Map<string, number>, value: string, line: number, what: 'key' | 'id'): Fact | null {
    const first = seen.get(value);
    if (first === undefined) seen.set(value, line);
    return first === undefined ? null : { code: 'stands_twice', what, value, line: first };
  }

  #problem(line: number, sourceKey: string | null, why: Fact, result = this.result): void {
    result.problemCount++;
    if (result.problems.length < maxProblems) result.problems.push({ line, sourceKey, why });
  }
}

/** A batch that is rolled back, with what speaks against it. */
class BatchRefused extends Error {
  constructor(readonly result: AdoptFileResult) {
    super('The list does not hold any more.');
  }
}

function emptyResult(): AdoptFileResult {
  return {
    lines: 0,
    bound: 0,
    known: 0,
    superseded: 0,
    ours: 0,
    ordersWithoutCustomer: 0,
    problems: [],
    problemCount: 0,
  };
}

async function* claimsOnly(lines: AsyncIterable<AdoptionLine>): AsyncGenerator<ClaimLine> {
  for await (const one of lines) if ('sourceKey' in one) yield one;
}
