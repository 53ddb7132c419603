import type { SeededRandom } from '../../src/lab/seeded-random.js';
import type { Deed, DeedKind, Plan } from './plan.js';

/**
 * @param sweeps whether what no changed-at tells of is found
 * @param holdsUpdates whether several edits at once are held for a person
 */
export function drawDeeds(sweeps: boolean, holdsUpdates: boolean, spanMs: number, random: SeededRandom): Plan['deeds'] {
  const kinds: readonly [DeedKind, ...DeedKind[]] = [
    'new-order',
    'new-order',
    'late-commit',
    'edit-order',
    'edit-order',
    'edit-customer',
    'there-and-back',
    'cancel-orders',
    'delete-order',
    sweeps ? 'silent-edit' : 'late-commit',
  ];
  const lines = () =>
    Array.from({ length: random.between(1, 3) }, () => ({
      product: random.between(1, 60),
      qty: random.between(1, 9),
    }));
  const draw = (kind: DeedKind): Deed => {
    const pick = random.below(1_000_000);
    switch (kind) {
      case 'new-order':
        return { kind, lines: lines(), pick };
      case 'late-commit':
        // Beyond the overlap only a sweep finds it.
        return { kind, lines: lines(), pick, lateMs: sweeps ? random.between(200, 5_000) : random.between(200, 2_500) };
      case 'edit-order':
      case 'silent-edit':
      case 'there-and-back':
        return { kind, pick, qty: random.between(1, 9) };
      case 'edit-orders':
        return { kind, pick, count: 8, qty: random.between(10, 19) };
      case 'edit-customer':
        return { kind, pick, name: `Renamed ${random.below(1_000_000)}` };
      case 'cancel-orders':
        return { kind, pick, count: random.pick([1, 1, 3]) };
      case 'refused-order':
      case 'delete-order':
      case 'vanish-order':
      case 'long-order':
        return { kind, pick };
      default:
        return { kind };
    }
  };
  const deeds = Array.from({ length: random.between(20, 30) }, () => ({
    atMs: random.between(0, spanMs),
    deed: draw(random.pick(kinds)),
  }));
  if (random.chance(50)) {
    const atMs = random.between(0, 1_200);
    deeds.push({ atMs, deed: draw('refused-order') });
    if (random.chance(70)) deeds.push({ atMs: atMs + 1_800, deed: draw('correct-refused-order') });
  }
  if (random.chance(50)) deeds.push({ atMs: random.between(1_500, spanMs), deed: draw('correct-bad-row') });
  // Late, when most of the orders are acknowledged.
  if (holdsUpdates) deeds.push({ atMs: random.between(2_500, spanMs), deed: draw('edit-orders') });
  return deeds.sort((a, b) => a.atMs - b.atMs);
}
