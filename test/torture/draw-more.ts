import { SeededRandom } from '../../src/lab/seeded-random.js';
import { type Plan, storeKinds } from './plan.js';

const hourMs = 3_600_000;
/** Times at and beyond which a waiter gives up; an odd number locks attempts. */
const oddMs = 1_301;

/**
 * Later additions: drawn from numbers of their own, and at seeds that take turns, so that the rest of a plan is as it
 * was. Nothing of it goes with a store that is lost, where most of it could not be told from the loss.
 */
export function drawMore(plan: Plan): Plan {
  const { seed, storeFault, sweeps, removals, keyLifetimeSeconds } = plan;
  const random = new SeededRandom(seed * 15_485_863 + storeKinds.indexOf(plan.store));
  for (let i = 0; i < 8; i++) random.below(2);
  const forgets = keyLifetimeSeconds !== null;
  const drawn: Plan = { ...plan, deeds: [...plan.deeds], faults: [...plan.faults] };
  const pick = () => random.below(1_000_000);
  const deed = (atMs: number, deed: Plan['deeds'][number]['deed']) => drawn.deeds.push({ atMs, deed });
  const fault = (atMs: number, fault: Plan['faults'][number]['fault']) => drawn.faults.push({ atMs, fault });

  if (forgets && seed % 16 === 4) {
    // Fast from the start; set right when the order in doubt was sent, and before its key is forgotten.
    drawn.clockAheadMs = 2 * hourMs;
    fault(random.between(1_500, 1_900), { kind: 'clock-back', aheadMs: 0 });
  }
  if (!forgets && storeFault === null && seed % 8 === 5) {
    drawn.clockAheadMs = 0;
    const aheadMs = random.pick([1, 2, 5]) * hourMs;
    const [first, second] = [random.between(300, 1_500), random.between(2_000, 3_200)];
    const isFast = random.chance(50);
    fault(first, isFast ? { kind: 'clock-forward', aheadMs } : { kind: 'clock-back', aheadMs: -aheadMs });
    fault(second, isFast ? { kind: 'clock-back', aheadMs: 0 } : { kind: 'clock-forward', aheadMs: 0 });
  }
  if (sweeps && removals.onDeleted !== 'nothing' && seed % 2 === 1)
    for (let i = 0; i < 2; i++) deed(random.between(1_000, 3_000), { kind: 'vanish-order', pick: pick() });
  if (storeFault === null && seed % 4 === 3) {
    deed(random.between(200, 2_500), { kind: 'long-order', pick: pick() });
    deed(random.between(200, 2_500), { kind: 'long-code' });
    fault(random.between(200, 2_500), { kind: 'service-long-id', times: 2 });
  }
  if (storeFault === null && !forgets && seed % 8 === 3)
    fault(random.between(500, 1_500), { kind: 'operator-forget', pick: pick() });
  if (storeFault === null && !forgets && (seed % 8 === 7 || seed % 16 === 0))
    fault(random.between(2_500, 3_500), { kind: 'store-pruned' });
  if (storeFault === null && !forgets && seed % 8 === 0) {
    drawn.tellsBack = true;
    fault(random.between(1_500, 2_500), { kind: 'service-announces', pick: pick() });
    fault(random.between(2_000, 3_000), { kind: 'service-stale-read', pick: pick() });
  }
  // One lock is soon met where half of something is written, or it is not: each of three has its chance.
  if (plan.store !== 'sqlite' && seed % 10 === 7)
    for (const atMs of [300, 1_700, 3_100])
      fault(atMs + random.between(0, 300), { kind: 'database-lock', forMs: oddMs });
  const byTime = (a: { atMs: number }, b: { atMs: number }) => a.atMs - b.atMs;
  return { ...drawn, deeds: drawn.deeds.sort(byTime), faults: drawn.faults.sort(byTime) };
}
