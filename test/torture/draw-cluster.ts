import { SeededRandom } from '../../src/lab/seeded-random.js';
import { type Fault, type Plan, workers } from './plan.js';

export const redisFaults = ['redis-killed', 'redis-emptied', 'redis-slow', 'redis-cut-off'] as const;

/**
 * The differences with three nodes that deliver at a time: two faults of Redis come with each seed, and any node may be
 * killed.
 */
export function drawCluster(plan: Plan, spanMs: number): Plan {
  const { seed } = plan;
  const random = new SeededRandom(seed * 49_979_687);
  for (let i = 0; i < 8; i++) random.below(2);
  const drawn = [seed, seed + 1 + (Math.floor(seed / 4) % 3)].map((nth) => {
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
  return { ...plan, limit, faults: [...faults, ...drawn].sort((a, b) => a.atMs - b.atMs) };
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
  }
}
