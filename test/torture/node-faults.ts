import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WallClock } from './clock-steps.js';
import { disturb } from './network.js';
import type { Fault } from './plan.js';
import type { Stage } from './stage.js';
import { patienceMs, until } from './until.js';

type NodeFault = Extract<Fault, { kind: `node-${string}` }>;

/** The words of a node that has met its fault, or works with it. */
const words: Partial<Record<NodeFault['kind'], RegExp>> = {
  'node-other-erp': /Nothing is delivered from here/,
  'node-other-address': /other service\.baseUrl/,
};
const atWork = /Delivering from here/;

/** One node alone is another one than its operator thinks, for a while. @returns whether it had an effect */
export async function doNodeFault(stage: Stage, fault: NodeFault): Promise<boolean> {
  const { crew, proxies } = stage;
  const { who } = fault;
  if (fault.kind === 'node-cut-off') return disturb([proxies[who]], (proxy) => proxy.halfOpen(), fault.forMs);
  // The first capture says which name the ERP has.
  await until(patienceMs, async () => (await stage.store.rows('SELECT 1 FROM binding')).length > 0, 50);
  const clock = await clockOf(stage, fault);
  const refusals = refusalsOf(stage);
  const began = crew.shifts.length;
  // A clock of its own belongs to a machine of its own.
  const machine = clock && { ...clock.environment, WAYBILL_BOOT_ID: `machine${who}` };
  crew.restart(who, { ...othersOf(stage, fault), ...machine });
  const its = () => crew.shifts.slice(began).filter(({ name }) => name === who);
  const hasSaid = () => its().some(({ output }) => (words[fault.kind] ?? atWork).test(output));
  const isFelt = await until(
    patienceMs,
    () => (fault.kind === 'node-stale-token' ? refusalsOf(stage) > refusals : hasSaid()),
    20,
  );
  if (fault.kind === 'node-suspended') await suspend(stage, fault, clock as WallClock);
  else await sleep(fault.forMs);
  if (fault.kind === 'node-clock') for (const { pid } of its()) stage.clocksApart.set(pid, fault.aheadMs);
  crew.restart(who, {});
  return isFelt;
}

function refusalsOf({ sandbox }: Stage): number {
  return sandbox.ledger().requests.filter(({ status }) => status === 401).length;
}

/** The settings of the node that are not those of the others. */
function othersOf({ erpElsewhere, elsewhere }: Stage, { kind }: NodeFault): NodeJS.ProcessEnv {
  switch (kind) {
    case 'node-stale-token':
      return { WAYBILL_SERVICE_TOKEN: 'stale' };
    case 'node-other-erp':
      return erpElsewhere;
    case 'node-other-address':
      return { WAYBILL_SERVICE_BASE_URL: `http://127.0.0.1:${elsewhere.port}` };
    case 'node-other-settings':
      return { WAYBILL_ORDERS_SETTLE_SECONDS: '0.9' };
    default:
      return {};
  }
}

async function clockOf({ folder }: Stage, fault: NodeFault): Promise<WallClock | null> {
  if (fault.kind !== 'node-clock' && fault.kind !== 'node-suspended') return null;
  const own = join(folder, `machine-${fault.who}`);
  await mkdir(own, { recursive: true });
  return WallClock.start(own, fault.kind === 'node-clock' ? fault.aheadMs : 0);
}

async function suspend({ crew, resumed }: Stage, { who, forMs }: NodeFault, clock: WallClock): Promise<void> {
  await sleep(500);
  if (crew.signal(who, 'SIGSTOP') === null) return;
  const stoppedAt = performance.now();
  await sleep(forMs);
  clock.standStill(performance.now() - stoppedAt);
  const shift = crew.signal(who, 'SIGCONT');
  if (shift) resumed.push({ pid: shift.pid, atMs: Date.now() });
  await sleep(1_000);
}

/** The times of leases lie ahead, as after a failover to a server whose clock is behind. */
export async function setStoreBack({ store }: Stage, byMs: number): Promise<void> {
  await store.change(`UPDATE lease SET released_at=released_at+${byMs}, expires_at=expires_at+${byMs}`);
}
