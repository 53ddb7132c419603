import { SeededRandom } from '../../src/lab/seeded-random.js';
import { drawCluster } from './draw-cluster.js';
import { drawDeeds } from './draw-deeds.js';
import { drawFaults, drawStoreFault } from './draw-faults.js';
import { drawMixUps, orderKeyFor } from './draw-mix-ups.js';
import { drawMore } from './draw-more.js';
import { drawTraps } from './draw-traps.js';
import {
  type DispatcherKind,
  isOfNodes,
  type Plan,
  type RemovalEffect,
  type Removals,
  type StoreKind,
  storeKinds,
} from './plan.js';

/** The span in which deeds and faults happen; afterwards everything heals. */
const spanMs = 3_500;

/** The same seed gives the same plan, whatever the machine. Neighbouring seeds take turns, so that no kind is left out by chance. */
export function drawPlan(seed: number, store: StoreKind, dispatcher: DispatcherKind = 'local'): Plan {
  const random = new SeededRandom(seed * 7919 + storeKinds.indexOf(store));
  for (let i = 0; i < 8; i++) random.below(2);
  const forgets = seed % 8 === 4 || seed % 40 === 1;
  // Drawn from numbers of its own, so that another point moves nothing else of a plan.
  const drawn = drawTraps(seed, new SeededRandom(seed * 104_729));
  // Keys that live for two seconds: whoever dies among the first customers leaves nothing that could be proven.
  const traps = forgets ? { ...drawn, A: [], B: [] } : drawn;
  const points = [...traps.A, ...traps.B].map(({ point }) => point);
  const removals = drawRemovals(
    seed,
    points.some((point) => point.includes('removal')),
  );
  // A deletion is only found by sweeps.
  const sweeps = random.chance(35) || removals.onDeleted !== 'nothing';
  const storeFault = drawStoreFault(seed, random);
  // Drawn from numbers of its own, so that the rest of a plan is as it was.
  const mixUps = drawMixUps(seed, forgets, new SeededRandom(seed * 32_452_843));
  const faults = drawFaults(seed, store, spanMs, random).map(({ atMs, fault }) => ({
    atMs: forgets ? atMs + 3_000 : atMs,
    fault,
  }));
  if (forgets) faults.push({ atMs: 0, fault: { kind: 'service-forgets-keys' } });
  // Only a process that is told to stop comes to the point where it lets go.
  if (points.includes('before-lease-release'))
    faults.push({ atMs: random.between(1_500, 2_500), fault: { kind: 'process-stop' } });
  const holdsUpdates = seed % 3 === 2;
  const plan = drawMore({
    seed,
    store,
    dispatcher,
    erp: {
      seed: random.between(1, 1_000_000),
      customers: random.between(12, 18),
      orders: random.between(80, 100),
      bad: {
        ordersWithoutLines: random.below(2),
        fractionalQuantities: random.below(2),
        negativeQuantities: random.below(2),
        pricesWithThreeDecimals: random.below(2),
        missingCustomers: random.below(2),
        totalMismatches: random.below(2),
      },
    },
    limit: random.pick([
      { requests: 60, perSeconds: 1 },
      { requests: 30, perSeconds: 0.5 },
      { requests: 80, perSeconds: 1 },
    ]),
    concurrency: random.pick([4, 8, 16]),
    replaysRefusals: random.chance(50),
    keyLifetimeSeconds: forgets ? 2 : null,
    // On a busy machine a deed commits seconds after the time that it wrote.
    overlapSeconds: sweeps ? 0.5 : 30,
    sweepSeconds: sweeps ? 1.2 : 3_600,
    sweeps,
    standby: traps.B.length > 0,
    lookUps: storeFault?.recovery === 'look-up' || mixUps.some(({ kind }) => kind === 'twin-orders'),
    mixUps,
    orderKey: orderKeyFor(mixUps),
    removals,
    maxUpdates: holdsUpdates ? 2 : 200,
    clockAheadMs: null,
    tellsBack: false,
    storeFault,
    traps,
    deeds: drawDeeds(sweeps, holdsUpdates, spanMs, random),
    faults: faults.sort((a, b) => a.atMs - b.atMs),
  });
  return isOfNodes(plan) ? drawCluster(plan, spanMs) : plan;
}

const patched = (remark: string): RemovalEffect => ({ patch: { remark } });

/** @param isTrapped whether somebody dies while a removal is written, so that one has to be */
function drawRemovals(seed: number, isTrapped: boolean): Removals {
  const effects: readonly Omit<Removals, 'maxRemovals'>[] = [
    { onCancelled: 'nothing', onDeleted: 'nothing' },
    { onCancelled: 'delete', onDeleted: 'nothing' },
    { onCancelled: patched('cancelled'), onDeleted: 'delete' },
    { onCancelled: 'delete', onDeleted: patched('deleted') },
    { onCancelled: patched('cancelled'), onDeleted: 'nothing' },
  ];
  const drawn = effects[
    isTrapped && seed % effects.length === 0 ? 1 : seed % effects.length
  ] as (typeof effects)[number];
  return { ...drawn, maxRemovals: Math.floor(seed / effects.length) % 3 === 0 ? 1 : 10 };
}
