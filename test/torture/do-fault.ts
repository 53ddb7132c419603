import { setTimeout as sleep } from 'node:timers/promises';
import type { Shift } from './crew.js';
import { crossLocks, holdLock, killConnections, restartServer } from './database-faults.js';
import { forgetCustomer } from './forget-customer.js';
import { disturb, type Network } from './network.js';
import { doNodeFault, setStoreBack } from './node-faults.js';
import type { Fault } from './plan.js';
import { pruneStore } from './prune-store.js';
import { doRedisFault } from './redis-faults.js';
import { sendBeforeUs } from './send-before-us.js';
import { forgetKeys, serviceFault } from './service-faults.js';
import type { Stage } from './stage.js';
import { readStale, serviceAnnounces } from './tell-back.js';
import { patienceMs, until } from './until.js';

/** Does what a fault says. It is counted where it had its effect, not where it was tried. */
export async function doFault(stage: Stage, fault: Fault): Promise<void> {
  const input = serviceFault(fault);
  // Counted when it has fired.
  if (input) return void stage.sandbox.addFaults([input]);
  const count = () => stage.coverage.count(`fault:${fault.kind}`);
  const toService = Object.values(stage.proxies);
  switch (fault.kind) {
    case 'service-forgets-keys':
      return forgetKeys(stage);
    case 'service-sent-before-us':
      return sendBeforeUs(stage);
    case 'network-cut':
      if (await cut(toService)) count();
      return;
    case 'network-delay':
      if (await disturb(toService, (proxy) => proxy.delay(40), fault.forMs)) count();
      return;
    case 'network-half-open':
      if (await disturb(toService, (proxy) => proxy.halfOpen(), fault.forMs)) count();
      return;
    case 'process-kill': {
      const shift = await hit(stage, fault.who, 'SIGKILL');
      if (shift && (await hasEnded(shift)) && shift.end === 'SIGKILL' && !shift.reached) count();
      return;
    }
    case 'process-stop': {
      const shift = await hit(stage, stage.crew.deliverer(), 'SIGTERM');
      if (shift && (await hasEnded(shift))) count();
      return;
    }
    case 'process-freeze': {
      const shift = await hit(stage, stage.crew.deliverer(), 'SIGSTOP');
      if (!shift) return;
      await sleep(fault.forMs);
      const woken = stage.crew.signal(shift.name, 'SIGCONT');
      if (woken?.pid === shift.pid) count();
      return;
    }
    case 'database-lock':
      return holdLock(stage, fault.forMs);
    case 'database-deadlock':
      return crossLocks(stage);
    case 'database-kill-connections':
      return killConnections(stage);
    case 'database-network-cut':
      if (stage.databaseProxy && (await cut([stage.databaseProxy]))) count();
      return;
    case 'database-restart':
      return restartServer(stage);
    case 'redis-killed':
    case 'redis-emptied':
    case 'redis-slow':
    case 'redis-cut-off':
    case 'redis-of-the-past':
      if (stage.redis && (await doRedisFault(stage.redis, stage.crew, fault))) count();
      return;
    case 'node-stale-token':
    case 'node-other-erp':
    case 'node-other-address':
    case 'node-other-settings':
    case 'node-clock':
    case 'node-suspended':
    case 'node-cut-off':
      if (await doNodeFault(stage, fault)) count();
      return;
    case 'store-clock-back':
      await setStoreBack(stage, fault.byMs);
      return count();
    case 'clock-forward':
    case 'clock-back':
      // It shall have been sent by the fast clock, and its outcome be on record.
      if (stage.plan.keyLifetimeSeconds !== null) await until(patienceMs, () => isOneInDoubt(stage), 10);
      await stage.clock?.set(fault.aheadMs);
      return count();
    case 'operator-forget':
      return forgetCustomer(stage, fault.pick);
    case 'store-pruned':
      return pruneStore(stage);
    case 'service-announces':
      return serviceAnnounces(stage, fault.pick);
    case 'service-stale-read':
      return readStale(stage, fault.pick);
  }
}

/** True if an order is in doubt, such as the one whose key is to be forgotten. */
async function isOneInDoubt({ sandbox, store }: Stage): Promise<boolean> {
  const isSent = sandbox.faults().some(({ fault, fired }) => fault.kind === 'reset-after-commit' && fired > 0);
  if (!isSent) return false;
  const inDoubt = "entity='order' AND operation='create' AND state IN ('sending','in_doubt') AND was_sent=1";
  return (await store.rows(`SELECT id FROM outbox_message WHERE ${inDoubt}`)).length > 0;
}

/** While somebody waits for an answer. A database answers so soon that it takes a few tries, and a busy machine many. @returns whether anybody did */
async function cut(proxies: readonly Network[]): Promise<boolean> {
  const isInUse = async () => (await Promise.all(proxies.map((proxy) => proxy.look()))).some(({ inUse }) => inUse > 0);
  for (let tries = 0; tries < 20; tries++) {
    if (!(await until(7_000, isInUse, 1))) return false;
    const cutOff = await Promise.all(proxies.map((proxy) => proxy.cut()));
    if (cutOff.some((inUse) => inUse > 0)) return true;
  }
  return false;
}

/** Whoever has the name, or else the other one; waits for somebody to be there. */
async function hit({ crew }: Stage, name: string, signal: NodeJS.Signals): Promise<Shift | null> {
  let shift: Shift | null = null;
  await until(
    7_000,
    () => {
      shift = crew.signal(name, signal) ?? crew.signal('A', signal);
      return shift !== null;
    },
    20,
  );
  return shift;
}

function hasEnded(shift: Shift): Promise<boolean> {
  return until(8_000, () => shift.end !== null, 20);
}
