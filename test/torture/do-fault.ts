import { setTimeout as sleep } from 'node:timers/promises';
import type { Shift } from './crew.js';
import { crossLocks, holdLock, killConnections, restartServer } from './database-faults.js';
import type { Fault } from './plan.js';
import { forgetKeys, serviceFault } from './service-faults.js';
import type { Stage } from './stage.js';
import type { TcpProxy } from './tcp-proxy.js';
import { until } from './until.js';

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
  }
}

/** While somebody waits for an answer. @returns whether anybody did */
async function cut(proxies: readonly TcpProxy[]): Promise<boolean> {
  const isInUse = await until(7_000, () => proxies.some((proxy) => proxy.inUse > 0), 1);
  for (const proxy of proxies) proxy.cut();
  return isInUse;
}

/** @returns whether anything was late or held */
async function disturb(proxies: readonly TcpProxy[], how: (proxy: TcpProxy) => void, forMs: number): Promise<boolean> {
  const disturbed = () => proxies.reduce((sum, proxy) => sum + proxy.disturbed, 0);
  const before = disturbed();
  for (const proxy of proxies) how(proxy);
  await sleep(forMs);
  await until(6_000, () => disturbed() > before, 20);
  for (const proxy of proxies) proxy.heal();
  return disturbed() > before;
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
