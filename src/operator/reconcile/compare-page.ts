import type { ErpReader, ReadCustomer } from '../../erp/erp-reader.js';
import type { Entity, JsonValue } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { sharedCustomers, withShared } from '../../outbound/capture/customer-of-order.js';
import { type KnownRecord, knownRecords, respell } from '../../outbound/capture/known-records.js';
import { optionalFields } from '../../outbound/deliver/claims.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { type DoubtColumns, doubtColumns, doubtOf, mayTakeEffectUntil } from '../../outbound/outbox/absence.js';
import type { BoundRecord } from '../../service/read-record.js';
import type { ServiceClient } from '../../service/service-client.js';
import { readClock } from '../../store/clock.js';
import { factOf } from '../../store/fact-columns.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { shownNames } from './compare-record.js';
import {
  type BoundRow,
  boundAfter,
  boundBeside,
  eligibleKeys,
  erpTotalOf,
  type KnownPair,
  type ReadRow,
  readPairs,
  rowSide,
} from './known-pairs.js';
import { asUnsendable, judgeBound, judgeUnbound, type ServiceSide } from './name-finding.js';
import type { ComparedPage, NewFinding, Reconciliation, Tally } from './reconcile-rows.js';
import { ServiceReader } from './service-side.js';
import { type RecordAmounts, sumsOf } from './sums.js';

/** Records that are asked for between two commits. */
const pageSize = 40;
/** The number of names beyond ours that is enough to tell what the service shows. */
const mostShown = 500;

export interface ReconcileParts {
  reader: ErpReader;
  client: ServiceClient;
  lease: ServiceLease;
}

/** Records that the service is known to have, the next ones by key: all that is bound is asked for, one by one. */
export async function knownPage(
  context: JobContext,
  { reader, client, lease }: ReconcileParts,
  run: Reconciliation,
  entity: Entity,
  signal?: AbortSignal,
): Promise<ComparedPage> {
  const { store, settings } = context;
  const page = await store.read('read what is bound', (tx) => boundAfter(tx, entity, run.position ?? '', pageSize));
  const last = page.at(-1);
  const service = new ServiceReader(context, client, lease, signal);
  if (!last) {
    const tally = await withWitnesses(context, service, run, entity);
    return { findings: [], sums: [], tally, phase: 'unknown', position: null };
  }
  const pairs = await readPairs(context, reader, entity, page, run.asks);
  const sides = await service.readAll(pairs.map(({ bound, known, row }) => asBound(entity, bound, known, row)));
  const moved = await movedSince(context, entity, pairs);
  const keys = pairs.map(({ bound }) => bound.sourceKey);
  const recent = await store.read('look what is recent', (tx) => mayTakeEffect(tx, context, entity, keys));
  const tally: Tally = { ...run.tally, unshown: { ...run.tally.unshown }, found: { ...run.tally.found } };
  tally.requests += service.requests;
  const shown = new Set(tally.shown);
  // A field that is shown of one record of a page counts for the others as well.
  for (const side of sides) if (side.kind === 'shown') for (const name of shownNames(side.fields)) shown.add(name);
  const { onCancelled } = entity === 'order' ? settings.orders : settings.customers;
  const about = {
    onCancelled: typeof onCancelled === 'string' ? onCancelled : 'patch',
    optional: optionalFields(entity === 'order' ? settings.orders : settings.customers),
    shownBefore: shown,
  };
  const findings: NewFinding[] = [];
  const amounts: RecordAmounts[] = [];
  for (const [at, pair] of pairs.entries()) {
    const side = sides[at] as ServiceSide;
    const hasMoved = moved.has(pair.bound.sourceKey);
    const isRecent = recent.has(pair.bound.sourceKey);
    const { finding, unshown } = judgeBound(pair.erp, side, pair.known.newest, { ...about, hasMoved, isRecent });
    for (const name of unshown) tally.unshown[name] = (tally.unshown[name] ?? 0) + 1;
    const amount = amountsOf(context, pair.row, pair.erp.kind === 'row' || pair.erp.kind === 'unmapped', side);
    if (side.kind === 'unread') tally.unread++;
    else if (entity === 'order') amounts.push(amount);
    tally.read++;
    if (finding === null) tally.same++;
    else {
      tally.found[finding.kind]++;
      const number = numberOf(pair.row) ?? pair.known.newest?.number ?? pair.bound.number;
      const { sourceKey, serviceId } = pair.bound;
      findings.push({
        ...finding,
        ...described(entity, sourceKey, serviceId, number, amount),
        fields: bounded(finding.fields),
      });
    }
  }
  tally.shown = [...shown].slice(0, mostShown);
  const repairable = findings.filter(({ kind }) => kind === 'missing' || kind === 'different');
  const sendable = await eligibleKeys(
    context,
    reader,
    entity,
    repairable.map(({ sourceKey }) => sourceKey),
  );
  const told = findings.map((one) => (sendable.has(one.sourceKey) ? one : asUnsendable(one)));
  const sums = sumsOf(amounts);
  return { findings: told, sums, tally, phase: 'known', position: last.sourceKey };
}

/**
 * Where the service showed none of the records compared, it may show others: then its address is right, and these are gone.
 * @returns the tally with the names that it shows of others
 */
async function withWitnesses(
  { store }: JobContext,
  service: ServiceReader,
  { id, tally }: Reconciliation,
  entity: Entity,
): Promise<Tally> {
  if (tally.shown.length > 0 || tally.found.missing === 0) return tally;
  const asked = await store.read('look for other records', async (tx) => {
    const others = await boundBeside(tx, entity, id);
    const known = await knownRecords(
      tx,
      entity,
      others.map(({ sourceKey }) => sourceKey),
    );
    return others.map((bound) => asBound(entity, bound, known.get(bound.sourceKey) as KnownRecord, null));
  });
  const sides = await service.readAll(asked);
  const shown = new Set(sides.flatMap((side) => (side.kind === 'shown' ? shownNames(side.fields) : [])));
  return { ...tally, shown: [...shown].slice(0, mostShown), requests: tally.requests + service.requests };
}

/** Eligible rows of the ERP that are bound to nothing, the next ones by key. */
export async function unknownPage(
  context: JobContext,
  reader: ErpReader,
  run: Reconciliation,
  entity: Entity,
): Promise<ComparedPage> {
  const { store, settings } = context;
  const { from, to } = run.asks;
  const filter = { forPeople: true, ...(from !== null && { from }), ...(to !== null && { to }) };
  const after = run.position === null ? null : (JSON.parse(run.position) as string[]);
  const read = await reader.sweep(entity, after, settings.capture.pageSize, filter);
  const page = await respell(context, reader, entity, read);
  const customers = entity === 'customer' ? (page.rows as ReadCustomer[]) : [];
  // The source that sends a shared customer compares it.
  const { rows } = withShared(page, await sharedCustomers(context, customers));
  const keys = rows.map(({ sourceKey }) => sourceKey);
  const [known, recent, waits] = await store.read('look what is known', async (tx) => [
    await knownRecords(tx, entity, keys),
    await mayTakeEffect(tx, context, entity, keys),
    new Map(
      entity === 'order' && keys.length > 0
        ? (
            await tx.rows<{ sourceKey: string; reasonCode: string; reasonData: string }>(
              `SELECT source_key, reason_code, reason_data FROM unsettled WHERE source_key IN ${placeholders(keys.length)}`,
              keys,
            )
          ).map((row) => [row.sourceKey, factOf(row.reasonCode, row.reasonData)])
        : [],
    ),
  ]);
  const tally: Tally = { ...run.tally, found: { ...run.tally.found } };
  const findings: NewFinding[] = [];
  const amounts: RecordAmounts[] = [];
  for (const row of rows) {
    const { sourceKey } = row;
    const { newest, binding } = known.get(sourceKey) as KnownRecord;
    // Customers that no order refers to are not sent.
    const isWanted = entity === 'order' || settings.customers.send !== 'referenced' || newest !== null;
    if (binding !== null || !isWanted) continue;
    const finding = judgeUnbound(rowSide(row), newest, waits.get(sourceKey) ?? null, recent.has(sourceKey));
    const amount = amountsOf(context, row, true, { kind: 'absent' });
    // The service may have it: what it amounts to there is not known.
    if (entity === 'order' && finding.cause !== 'in_doubt') amounts.push(amount);
    tally.read++;
    tally.found[finding.kind]++;
    findings.push({ ...finding, ...described(entity, sourceKey, null, numberOf(row), amount) });
  }
  const position = read.last ? JSON.stringify(read.last.key) : null;
  const isEnd = !read.more || read.last === null;
  if (isEnd) {
    const eligible = await reader.count(entity, filter);
    tally.filtered = (await reader.count(entity, { ...filter, anyStanding: true })) - eligible;
  }
  return { findings, sums: sumsOf(amounts), tally, phase: isEnd ? 'ended' : 'unknown', position };
}

/** Keys of the records that something was written of since they were read: what was compared may be of two moments. */
async function movedSince({ store }: JobContext, entity: Entity, pairs: readonly KnownPair[]): Promise<Set<string>> {
  const keys = pairs.map(({ bound }) => bound.sourceKey);
  const now = await store.read('look what has moved', (tx) => knownRecords(tx, entity, keys));
  const mark = (one: KnownRecord | undefined) =>
    JSON.stringify([one?.newest?.id, one?.newest?.state, one?.binding?.revision, one?.binding?.contentHash]);
  return new Set(
    pairs
      .filter(({ bound, known }) => mark(now.get(bound.sourceKey)) !== mark(known))
      .map(({ bound }) => bound.sourceKey),
  );
}

/**
 * Keys of the records whose creation may still take effect, or show, at the service. Once acknowledged it is there, but a service
 * that reads from a copy may show it later.
 */
async function mayTakeEffect(
  tx: Tx,
  context: JobContext,
  entity: Entity,
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const maxProcessingMs = context.settings.service.maxProcessingSeconds * 1000;
  const now = readClock(context);
  const rows = await tx.rows<DoubtColumns & { sourceKey: string; claimedAt: number; acknowledgedAt: number | null }>(
    `SELECT m.source_key, m.claimed_at, b.acknowledged_at, ${doubtColumns}
       FROM outbox_message m LEFT JOIN binding b ON b.entity=m.entity AND b.source_key=m.source_key
      WHERE m.source_key IN ${placeholders(keys.length)} AND m.entity=? AND m.operation='create' AND m.claimed_at IS NOT NULL`,
    [...keys, entity],
  );
  const isRecent = ({ acknowledgedAt, claimedAt, ...row }: (typeof rows)[number]) =>
    acknowledgedAt === null
      ? mayTakeEffectUntil({ ...doubtOf(row), claimedAt }, now, maxProcessingMs) !== null
      : now.wallMs - acknowledgedAt < maxProcessingMs;
  return new Set(rows.filter(isRecent).map(({ sourceKey }) => sourceKey));
}

function asBound(entity: Entity, bound: BoundRow, known: KnownRecord, row: ReadRow | null): BoundRecord {
  const { serviceId, acknowledged } = bound;
  return { entity, serviceId, record: recordSent(acknowledged, row), idempotencyKey: known.createKey };
}

function recordSent(acknowledged: string | null, row: ReadRow | null): { [name: string]: JsonValue } | null {
  if (acknowledged !== null) return JSON.parse(acknowledged);
  return row?.content.mapped ? row.content.record : null;
}

function amountsOf({ settings }: JobContext, row: ReadRow | null, isInErp: boolean, side: ServiceSide): RecordAmounts {
  const order = row?.entity === 'order' ? row : null;
  return {
    day: order?.day ?? null,
    currency: order?.currency ?? settings.amounts.currency,
    isInErp,
    erpTotal: isInErp ? erpTotalOf(row) : null,
    isAtService: side.kind === 'shown',
    serviceTotal: side.kind === 'shown' ? side.total : null,
  };
}

function described(
  entity: Entity,
  sourceKey: string,
  serviceId: string | null,
  number: string | null,
  { day, currency, erpTotal, serviceTotal }: RecordAmounts,
): Pick<
  NewFinding,
  'entity' | 'sourceKey' | 'serviceId' | 'number' | 'day' | 'currency' | 'erpTotal' | 'serviceTotal'
> {
  const isOrder = entity === 'order';
  const text = (total: bigint | null) => (total === null ? null : `${total}`);
  return {
    entity,
    sourceKey,
    serviceId,
    number,
    day,
    currency: isOrder ? currency : null,
    erpTotal: text(erpTotal),
    serviceTotal: text(serviceTotal),
  };
}

function numberOf(row: ReadRow | null): string | null {
  return row?.entity === 'order' ? row.number : null;
}

const mostFields = 50;
const longestValue = 300;

/** The size to which differences are cut: no text from outside is unbounded. */
function bounded(fields: NewFinding['fields']): NewFinding['fields'] {
  const short = (value: JsonValue): JsonValue => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.length <= longestValue ? value : `${Array.from(text.slice(0, longestValue)).slice(0, -1).join('')}…`;
  };
  return fields.slice(0, mostFields).map(({ field, erp, service }) => ({
    field: field.slice(0, 200),
    erp: short(erp),
    service: short(service),
  }));
}
