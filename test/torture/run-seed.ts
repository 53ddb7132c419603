import { setTimeout as sleep } from 'node:timers/promises';
import { Attendant } from './attendant.js';
import type { DatabaseServer } from './database-server.js';
import { doDeed } from './do-deed.js';
import { doFault } from './do-fault.js';
import { drawPlan } from './draw-plan.js';
import { keyOf } from './erp-desk.js';
import type { History, MessageRow } from './history.js';
import { violationsOf } from './invariants.js';
import { judgeOrder } from './judge-erp.js';
import { mixUp } from './mix-ups.js';
import { type Deed, type DispatcherKind, isOfNodes, type StoreKind, workers } from './plan.js';
import { everyRowAccountedFor, removalsAsConfigured, serviceEqualsErp, waitsForPerson } from './record-invariants.js';
import { countServiceFaults } from './service-faults.js';
import { openStage, type Stage } from './stage.js';
import { breakStore, type Copies, copyStore } from './store-faults.js';
import { takeHistory, takeInterimHistory } from './take-history.js';
import { announcedIsRead, writtenBackAsAcknowledged } from './told-invariants.js';
import { until } from './until.js';
import { vanishOrder } from './vanish-order.js';

export interface SeedResult {
  seed: number;
  violations: { invariant: string; detail: string }[];
  /** The number of effects of each fault, deed and point. */
  coverage: ReadonlyMap<string, number>;
  seconds: number;
  /** For a failed seed: what the daemons and the commands said, and the store. */
  output: string;
}

/** One history with faults on real processes, databases and sockets, from its seed to its verdict. */
export async function runSeed(
  seed: number,
  { store, dispatcher }: { store: StoreKind; dispatcher: DispatcherKind },
  server: DatabaseServer | null,
  patienceSeconds = 480,
): Promise<SeedResult> {
  const startedAt = performance.now();
  const stage = await openStage(drawPlan(seed, store, dispatcher), server);
  try {
    const { ends, unrest } = await play(stage, patienceSeconds * 1000);
    countPoints(stage);
    const violations = [
      ...violationsOf(await takeHistory(stage, ends)),
      ...unrest.map((detail) => ({ invariant: 'comes-to-rest', detail })),
    ];
    return {
      seed,
      violations,
      coverage: stage.coverage.times,
      seconds: (performance.now() - startedAt) / 1000,
      output: violations.length > 0 ? `${outputOf(stage)}\n${await stage.store.everything()}` : '',
    };
  } catch (error) {
    // A mistake of this machine's own must not end a run of hundreds, nor pass for a seed that held.
    const detail = (error as Error).stack ?? String(error);
    return {
      seed,
      violations: [{ invariant: 'the-harness-itself', detail }],
      coverage: stage.coverage.times,
      seconds: (performance.now() - startedAt) / 1000,
      output: outputOf(stage),
    };
  } finally {
    await stage.close();
  }
}

/** @returns how the daemons ended when they were told to stop, and what was under way still when patience ended */
async function play(stage: Stage, patienceMs: number): Promise<{ ends: (number | string)[]; unrest: string[] }> {
  const { plan, crew } = stage;
  const attendant = new Attendant(stage);
  const alone = plan.standby ? 2 : 1;
  const names = workers.slice(0, isOfNodes(plan) ? 3 : alone);
  for (const name of names) {
    if (name !== 'A') await sleep(400);
    crew.start(name, name === 'C' ? [] : plan.traps[name]);
  }
  await until(5_000, () => crew.shifts.some((shift) => shift.reached || shift.output.includes('from here')), 20);
  attendant.start();
  const [copies] = await Promise.all([copyAsPlanned(stage), doDeeds(stage), doFaults(stage), mixUp(stage)]);
  if (plan.storeFault && copies) await breakStore(stage, plan.storeFault, copies, attendant);
  await goOnWorking(stage);
  await heal(stage);
  // Long, because a machine may be busy with other things, and a hundred orders that a person answers for one by one are a hundred
  // commands; it costs nothing where all is well.
  const isAtRest = await until(patienceMs, async () => !(await attendant.hasWork()) && (await isQuiet(stage)), 120);
  const unrest = isAtRest ? [] : await whatIsOpen(stage, attendant);
  await attendant.end();
  return { ends: await crew.stop(), unrest };
}

async function copyAsPlanned(stage: Stage): Promise<Copies | null> {
  if (stage.plan.storeFault === null) return null;
  await sleep(stage.plan.storeFault.copyAtMs);
  return copyStore(stage);
}

async function doDeeds(stage: Stage): Promise<void> {
  const { plan, erp, store, coverage, everRefused, nextOrder } = stage;
  const isDone = async (order: string, sinceMs: number) => {
    const [newest] = await store.rows<{ state: string }>(
      `SELECT state FROM outbox_message WHERE entity='order' AND source_key='${order}' AND captured_at>=${sinceMs} ORDER BY revision DESC LIMIT 1`,
    );
    return newest !== undefined && !['pending', 'sending', 'in_doubt'].includes(newest.state);
  };
  const startedAt = performance.now();
  const late: Promise<void>[] = [];
  for (const { atMs, deed } of plan.deeds) {
    await sleep(Math.max(0, atMs - (performance.now() - startedAt)));
    const doing = deed.kind === 'vanish-order' ? vanishOrder(stage, deed) : doDeed(erp, deed, nextOrder, isDone);
    const done = doing.then((record) => {
      if (record === null) return;
      coverage.count(`deed:${deed.kind}`);
      if (deed.kind === 'refused-order') everRefused.add(record);
    });
    // Awaited at the end, or not at all where something else went wrong before: then that is what is told.
    void done.catch(() => undefined);
    // Nobody waits for somebody else's open transaction, or for one who can't make up his mind.
    if (['late-commit', 'there-and-back', 'vanish-order'].includes(deed.kind)) late.push(done);
    else await done;
  }
  await Promise.all(late);
}

async function doFaults(stage: Stage): Promise<void> {
  const startedAt = performance.now();
  await Promise.all(
    stage.plan.faults.map(async ({ atMs, fault }) => {
      await sleep(Math.max(0, atMs - (performance.now() - startedAt)));
      await doFault(stage, fault);
    }),
  );
}

/** While something was drawn that has not come up: it comes up only where there is something to do. */
async function goOnWorking({ crew, sandbox, erp, coverage, nextOrder }: Stage): Promise<void> {
  const isUp = () => crew.trapsLeft === 0 && sandbox.faults().every(({ fired }) => fired > 0);
  for (let round = 0; round < 40 && !isUp(); round++) {
    const deeds: Deed[] = [
      { kind: 'new-order', lines: [{ product: round + 1, qty: 1 }], pick: round },
      { kind: 'edit-order', pick: 31 * round, qty: 1 + (round % 9) },
      { kind: 'cancel-orders', pick: 17 * round, count: 1 },
    ];
    for (const deed of deeds) if ((await doDeed(erp, deed, nextOrder)) !== null) coverage.count(`deed:${deed.kind}`);
    await until(500, isUp, 50);
  }
}

async function heal(stage: Stage): Promise<void> {
  countServiceFaults(stage);
  stage.sandbox.clearFaults();
  for (const proxy of Object.values(stage.proxies)) await proxy.heal();
  for (const proxy of Object.values(stage.redis?.proxies ?? {})) await proxy.heal();
  await stage.databaseProxy?.heal();
  stage.crew.heal();
}

async function isQuiet(stage: Stage): Promise<boolean> {
  if ((await openMessages(stage)).length > 0) return false;
  const history = await takeInterimHistory(stage);
  if ((await wholeUpdatesAwaited(stage, history)).length > 0) return false;
  return mustAgreeAtRest.every((check) => check(history).length === 0);
}

const mustAgreeAtRest = [
  everyRowAccountedFor,
  serviceEqualsErp,
  removalsAsConfigured,
  announcedIsRead,
  writtenBackAsAcknowledged,
];

/** Why patience ended: never empty, so that no seed which did not come to rest passes for one that did. */
async function whatIsOpen(stage: Stage, attendant: Attendant): Promise<string[]> {
  const history = await takeInterimHistory(stage);
  const open = [
    ...(await openMessages(stage)),
    ...(await wholeUpdatesAwaited(stage, history)),
    ...((await attendant.hasWork()) ? ['a person still has something to say'] : []),
    ...mustAgreeAtRest.flatMap((check) => check(history)),
  ];
  return open.length > 0 ? open : ['it came to rest only when patience had ended'];
}

/** Records that the next pass will say whole, because nobody knows what the service holds of them. */
async function wholeUpdatesAwaited({ store }: Stage, { erp }: History): Promise<string[]> {
  const rows = await store.rows<{ entity: string; source_key: string }>(
    `SELECT b.entity, b.source_key FROM binding b WHERE b.content_hash IS NULL AND NOT EXISTS
      (SELECT 1 FROM outbox_message m WHERE m.entity=b.entity AND m.source_key=b.source_key AND m.state='parked')`,
  );
  return rows
    .filter(({ entity, source_key: key }) => {
      if (entity === 'customer') return erp.customers.some(({ id }) => id === key);
      const order = erp.orders.find((one) => keyOf(one) === key);
      return order !== undefined && judgeOrder(order, erp).kind === 'good';
    })
    .map(({ entity, source_key: key }) => `${entity} ${key} has not been said whole since the loss`);
}

/** Work that should go on by itself, and has not. */
async function openMessages(stage: Stage): Promise<string[]> {
  const rows = await stage.store.rows<MessageRow & { customer_key: string | null }>(
    `SELECT * FROM outbox_message m WHERE state IN ('sending','in_doubt')
       OR (state='pending' AND (operation='create' OR EXISTS
            (SELECT 1 FROM binding b WHERE b.entity=m.entity AND b.source_key=m.source_key)))`,
  );
  // An order may wait for ever for a customer that rightly waits for a person, where keys are forgotten.
  const forgets = stage.plan.keyLifetimeSeconds !== null && rows.length > 0;
  const history = forgets ? await takeInterimHistory(stage) : null;
  const open = rows.filter(
    ({ state, customer_key: key }) =>
      history === null || state !== 'pending' || key === null || !waitsForPerson(history, 'customer', key),
  );
  return open.map(
    ({ entity, source_key, revision, operation, state, reason }) =>
      `${entity} ${source_key}, revision ${revision} (${operation}) is still ${state}: ${reason ?? 'it is due'}`,
  );
}

function countPoints({ crew, coverage }: Stage): void {
  for (const { reached, trap } of crew.shifts) {
    if (!reached) continue;
    coverage.count(`point:${reached}`);
    if (trap?.signal === 'SIGSTOP') coverage.count('fault:process-freeze-at-point');
  }
  const takeovers = crew.shifts.filter((shift) => shift.output.includes('Took over from')).length;
  coverage.count('fault:takeover', takeovers);
  if (crew.shifts.some((shift) => shift.output.includes('Standing by'))) coverage.count('fault:standby');
}

function outputOf({ crew, operator }: Stage): string {
  const daemons = crew.shifts.map((shift) => `--- ${shift.name} ${shift.pid}\n${shift.output}`);
  return [...daemons, ...operator.printed].join('\n');
}
