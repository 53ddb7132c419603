import { deliveriesIn } from '../support/every-attempt.js';
import { readErp } from './erp-desk.js';
import type { AttemptRow, BindingRow, History, Life, MessageRow, OperatedRow, PastLife } from './history.js';
import { workers } from './plan.js';
import { longIdStart } from './service-faults.js';
import { type Stage, token } from './stage.js';
import { webhookSecret } from './stage-tables.js';
import { attemptsSql, type WitnessEvent, withEpochsInForce } from './store-witness.js';

/** The means to read a store. */
type StoreView = Pick<Stage, 'store' | 'plan' | 'clock' | 'clocksApart'>;

/** Everything of a store that is judged, copied. */
export async function readLife(stage: StoreView): Promise<Omit<PastLife, 'endedAtMs'>> {
  return { ...(await readRecords(stage)), ...(await readDoings(stage)), text: await stage.store.everything() };
}

/** The part that tells if all is quiet. */
export async function takeInterimHistory(stage: Stage): Promise<History> {
  // Only they tell since when a record was in doubt.
  const events = stage.plan.keyLifetimeSeconds === null ? [] : await readEvents(stage);
  return { ...(await common(stage)), ...(await readRecords(stage)), ...nothingDone, events };
}

/** All that was seen, when the daemons have ended. @param ends how they ended when they were told to stop */
export async function takeHistory(stage: Stage, ends: readonly (number | string)[]): Promise<History> {
  const { crew, databases, proxies, past, elsewhere } = stage;
  const pidAt = (name: string, atMs: number) =>
    crew.shifts.findLast((shift) => shift.name === name && shift.startedAtMs <= atMs)?.pid ?? -1;
  return {
    ...(await common(stage)),
    ...(await readRecords(stage)),
    ...(await readDoings(stage)),
    arrivals: (
      await Promise.all(
        workers.map(async (name) =>
          (await proxies[name].arrivals()).map((arrival) => ({ ...arrival, pid: pidAt(name, arrival.atMs) })),
        ),
      )
    )
      .flat()
      .filter((arrival) => !leftWithResumption(stage, arrival)),
    operatorArrivals: await proxies.operator.arrivals(),
    breaches: [
      ...stage.breaches,
      ...(await elsewhere.arrivals()).map(({ request }) => `a node that stands by sent ${request} to another address`),
    ],
    erpTouched: await stage.erpTouched(),
    texts: [
      { where: 'the store', text: await stage.store.everything() },
      ...(past ? [{ where: 'the store that was lost', text: past.text }] : []),
      ...crew.shifts.map((shift) => ({ where: `the output of ${shift.name}`, text: shift.output })),
      { where: 'what the commands printed', text: stage.operator.printed.join('\n') },
    ],
    secrets: [
      token,
      webhookSecret,
      ...(stage.redis ? [stage.redis.server.password] : []),
      ...(databases?.users.map(({ password }) => password) ?? []),
    ],
    ends,
    endedByForce: crew.shifts.some((shift) => shift.reached && shift.end === 'SIGKILL'),
  };
}

/** A look at the store counts for 20 ms, so a request that was about to leave on a suspended machine may still go. */
const stillKnownMs = 50;

function leftWithResumption({ resumed }: Stage, { pid, atMs }: { pid: number; atMs: number }): boolean {
  return resumed.some((one) => one.pid === pid && atMs >= one.atMs - 5 && atMs <= one.atMs + stillKnownMs);
}

const nothingDone = {
  attempts: [],
  operated: [],
  resumedAt: [],
  arrivals: [],
  operatorArrivals: [],
  erpTouched: [],
  texts: [],
  secrets: [],
  ends: [],
  endedByForce: false,
} satisfies Partial<History>;

async function common(stage: Stage) {
  const { plan, sandbox, erp, past, exportedAtMs, everRefused, resolved, foreign, clock, announced, forgotten } = stage;
  const { respelled, breaches } = stage;
  const ledger = sandbox.ledger();
  return {
    limit: { requests: plan.limit.requests, windowMs: plan.limit.perSeconds * 1000 },
    replaysRefusals: plan.replaysRefusals,
    keyLifetimeMs: plan.keyLifetimeSeconds === null ? null : plan.keyLifetimeSeconds * 1000,
    everRefused,
    removals: plan.removals,
    maxUpdates: plan.maxUpdates,
    past,
    recoveredAtMs: past ? await recoveredAt(stage) : null,
    exportedAtMs,
    resolved,
    respelled,
    breaches,
    // Nobody here has sent the rest.
    ledger: {
      ...ledger,
      requests: ledger.requests.filter(
        ({ body_sha256: hash, idempotency_key: key }) =>
          !foreign.bodies.has(hash ?? '') && !foreign.keys.has(key ?? ''),
      ),
      orders: ledger.orders.filter(({ order_id: id }) => !foreign.serviceIds.has(id)),
    },
    erp: await readErp(erp),
    clockForwardAt: clock?.forwardAt ?? null,
    announced,
    forgotten,
    writtenBack: plan.tellsBack ? await erp.read('SELECT * FROM waybill_orders') : null,
    pruned: await readPruned<MessageRow>(stage, 'outbox_message'),
  };
}

async function recoveredAt({ store }: Stage): Promise<number | null> {
  const [line] = await store.rows<{ at: number }>(
    "SELECT at FROM audit_log WHERE event='operator' AND outcome='recover' ORDER BY id LIMIT 1",
  );
  return line ? Number(line.at) : null;
}

/** Rows that were there once. */
async function readPruned<Row>(
  { plan, store }: StoreView,
  table: string,
  select = (from: string) => `SELECT * FROM ${from}`,
): Promise<Row[]> {
  const isPruned = plan.faults.some(({ fault }) => fault.kind === 'store-pruned');
  return isPruned ? store.rows<Row>(select(`torture_pruned_${table}`)) : [];
}

async function readRecords(stage: StoreView): Promise<Pick<Life, 'messages' | 'bindings'>> {
  const { store } = stage;
  const pruned = await readPruned<MessageRow>(stage, 'outbox_message');
  const messages = [...pruned, ...(await store.rows<MessageRow>('SELECT * FROM outbox_message'))];
  return {
    messages: inOrder(numbers(messages, 'id', 'revision', 'generation')),
    bindings: await store.rows<BindingRow>('SELECT entity, source_key, service_id FROM binding'),
  };
}

async function readDoings(stage: StoreView): Promise<Pick<Life, 'attempts' | 'events' | 'operated' | 'resumedAt'>> {
  const { store } = stage;
  const attempts = [
    ...(await readPruned<AttemptRow>(stage, 'attempt')),
    ...(await readPruned<AttemptRow>(stage, 'outbox_message', deliveriesIn)),
    ...(await store.rows<AttemptRow>(attemptsSql)),
  ];
  const operated = await store.rows<OperatedRow>(
    "SELECT message_id, at, outcome FROM audit_log WHERE event='operator' AND message_id IS NOT NULL ORDER BY id",
  );
  const resumed = await store.rows<{ at: number }>(
    "SELECT at FROM audit_log WHERE event='resume' AND outcome='operator' ORDER BY id",
  );
  const events = await readEvents(stage);
  const read = numbers(attempts, 'id', 'message_id', 'number', 'epoch', 'intended_at', 'started_at').map(withKnownId);
  return {
    // One that is its message has no id that says when it was made.
    attempts: trueTimes(stage, byOneClock(stage, read, events), 'intended_at', 'started_at').sort(
      (a, b) => a.intended_at - b.intended_at || a.number - b.number,
    ),
    events,
    operated: trueTimes(stage, numbers(operated, 'message_id', 'at'), 'at'),
    resumedAt: resumed.map(({ at }) => stage.clock?.trueTime(Number(at)) ?? Number(at)),
  };
}

async function readEvents(stage: StoreView): Promise<WitnessEvent[]> {
  const events = await stage.store.rows<WitnessEvent>('SELECT * FROM torture_witness ORDER BY seq');
  const read = numbers(events, 'seq', 'at_ms', 'message_id', 'attempt_id', 'old_first_sent', 'new_first_sent', 'epoch');
  return trueTimes(stage, withEpochsInForce(read), 'old_first_sent', 'new_first_sent');
}

/** Attempts of nodes whose clock was not that of the others, with the times that others would have noted. */
function byOneClock({ clocksApart }: StoreView, attempts: AttemptRow[], events: readonly WitnessEvent[]): AttemptRow[] {
  const leads = new Map<number | null, number>();
  for (const { what, text, epoch } of events)
    for (const [pid, aheadMs] of clocksApart)
      if (what === 'lease' && text?.endsWith(`:${pid}`)) leads.set(epoch, aheadMs);
  return attempts.map((attempt) => {
    const aheadMs = leads.get(attempt.epoch) ?? 0;
    const { intended_at, started_at } = attempt;
    return { ...attempt, intended_at: intended_at - aheadMs, started_at: started_at && started_at - aheadMs };
  });
}

/** The times of the machine's clock are brought back to the true time, in which everything else is noted. */
function trueTimes<Row extends object>({ clock }: StoreView, rows: Row[], ...columns: (keyof Row)[]): Row[] {
  if (clock === null) return rows;
  const time = (value: unknown) => (typeof value === 'number' ? clock.trueTime(value) : value);
  return rows.map((row) => ({ ...row, ...Object.fromEntries(columns.map((name) => [name, time(row[name])])) }));
}

/** An id that the service made up for an answer stands in no ledger. */
function withKnownId(attempt: AttemptRow): AttemptRow {
  return attempt.request_id?.startsWith(longIdStart) ? { ...attempt, request_id: null } : attempt;
}

/** As they came to be: PostgreSQL hands out a row that was changed behind those that were not. */
function inOrder<Row extends { id: number }>(rows: Row[]): Row[] {
  return rows.sort((a, b) => a.id - b.id);
}

/** Drivers give large integers as texts. */
function numbers<Row extends object>(rows: Row[], ...columns: (keyof Row)[]): Row[] {
  const number = (value: unknown) => (value === null ? null : Number(value));
  return rows.map((row) => ({ ...row, ...Object.fromEntries(columns.map((name) => [name, number(row[name])])) }));
}
