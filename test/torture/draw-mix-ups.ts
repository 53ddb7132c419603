import type { SeededRandom } from '../../src/lab/seeded-random.js';
import type { MixUp, MixUpKind, Plan } from './plan.js';

/**
 * Two in each of these seeds, by their place among eight. The others lose a store or forget keys, where a person has enough to
 * answer for; and a second sender under our keys (3 and 7) can't be looked up without meeting a twin.
 */
const byPlace: Readonly<Record<number, readonly MixUpKind[]>> = {
  0: ['twin-orders', 'long-key'],
  1: ['resolve-then-force', 'id-taken'],
  3: ['twin-customers', 'wide-key'],
  5: ['swapped-code', 'respelled-key'],
  7: ['id-taken', 'swapped-code'],
};

export function drawMixUps(seed: number, forgets: boolean, random: SeededRandom): MixUp[] {
  if (forgets) return [];
  return (byPlace[seed % 8] ?? []).map((kind) => ({
    kind,
    atMs: random.between(0, 1_500),
    // In turn, so that each form comes up in any few of its seeds.
    form: Math.floor(seed / 8),
  }));
}

/** The form of the ERP's keys that these need. */
export function orderKeyFor(mixUps: readonly MixUp[]): Plan['orderKey'] {
  const isDrawn = (...kinds: MixUpKind[]) => mixUps.some(({ kind }) => kinds.includes(kind));
  if (isDrawn('long-key', 'respelled-key')) return 'text';
  return isDrawn('wide-key') ? 'bigint' : 'id';
}
