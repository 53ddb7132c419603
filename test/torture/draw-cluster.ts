import { SeededRandom } from '../../src/lab/seeded-random.js';
import { type Fault, type Plan, type Worker, workers } from './plan.js';

export const redisFaults = [
  'redis-killed',
  'redis-emptied',
  'redis-slow',
  'redis-cut-off',
  'redis-of-the-past',
] as const;
/** Faults of one node, or of how nodes see each other. */
export const nodeFaults = [
  'node-stale-token',
  'node-cut-off',
  'node-other-erp',
  'node-clock',
  'node-other-address',
  'node-suspended',
  'node-other-settings',
  'store-clock-back',
] as const;
type NodeFaultKind = (typeof nodeFaults)[number];

/**
 * The differences with three nodes that deliver at a time: two faults of nodes come with most seeds, two of Redis with each seed that
 * has one, and any node may be killed.
 */
export function drawCluster(plan: Plan, spanMs: number): Plan {
  const { seed } = plan;
  const random = new SeededRandom(seed * 49_979_687);
  for (let i = 0; i < 8; i++) random.below(2);
  const drawn = [seed, seed + 1 + (Math.floor(seed / 5) % 4)].map((nth) => {
    const kind = redisFaults[nth % redisFaults.length] as (typeof redisFaults)[number];
    return { atMs: random.between(0, spanMs - 500), fault: drawFault(kind, random) };
  });
  const faults = plan.faults.map(({ atMs, fault }) =>
    fault.kind === 'process-kill' ? { atMs, fault: { ...fault, who: random.pick(workers) } } : { atMs, fault },
  );
  // The limit is so tight that nodes that each take it for theirs alone exceed it, also on a busy machine; and every
  // other time its window is so long that the requests of a dead node still count when its places are free.
  const windows = seed % 2 === 0 ? 1 : 4;
  const limit = {
    requests: Math.floor(plan.limit.requests / 4) * windows,
    perSeconds: plan.limit.perSeconds * windows,
  };
  const all = [...faults, ...(plan.dispatcher === 'cluster' ? drawn : []), ...drawNodeFaults(plan)];
  return { ...plan, limit, faults: all.sort((a, b) => a.atMs - b.atMs) };
}

/**
 * Two faults, of two nodes, so that one is well. Not where a store is lost, which all nodes have to leave, nor where keys are
 * forgotten, whose age is judged by the clock. Drawn from numbers of their own, so that the rest of a plan is as it was.
 */
function drawNodeFaults({ seed, storeFault, keyLifetimeSeconds, clockAheadMs }: Plan): Plan['faults'] {
  if (storeFault !== null || keyLifetimeSeconds !== null) return [];
  const random = new SeededRandom(seed * 67_867_967);
  for (let i = 0; i < 8; i++) random.below(2);
  // The clock of all is set in some seeds.
  const kinds = clockAheadMs === null ? nodeFaults : nodeFaults.filter((kind) => !ofClock.includes(kind));
  // Five of eight seeds come here.
  const turn = Math.floor(seed / 8) * 5 + Math.floor(((seed % 8) + 1) / 2);
  const first = random.below(workers.length);
  return [turn, turn + 4].map((nth, index) => {
    const who = workers[(first + index) % workers.length] as Worker;
    const fault = drawNodeFault(kinds[nth % kinds.length] as NodeFaultKind, who, random);
    return { atMs: random.between(200, 2_000), fault };
  });
}

const ofClock: readonly NodeFaultKind[] = ['node-clock', 'node-suspended'];

function drawNodeFault(kind: NodeFaultKind, who: Worker, random: SeededRandom): Fault {
  const forMs = random.between(2_500, 4_000);
  switch (kind) {
    case 'node-clock':
      return { kind, who, forMs, aheadMs: random.pick([20_000, -20_000, 400_000, -400_000]) };
    case 'store-clock-back':
      return { kind, byMs: 600_000 };
    default:
      return { kind, who, forMs };
  }
}

function drawFault(kind: (typeof redisFaults)[number], random: SeededRandom): Fault {
  const forMs = random.between(700, 1_800);
  switch (kind) {
    case 'redis-emptied':
      return { kind };
    case 'redis-killed':
      return { kind, forMs };
    case 'redis-slow':
      // Nodes wait for half a second.
      return { kind, forMs, byMs: random.pick([60, 250, 600]) };
    case 'redis-cut-off':
      return { kind, forMs, who: random.pick(workers) };
    case 'redis-of-the-past':
      return { kind, jobs: random.between(50, 500) };
  }
}
