import { type KillPoint, killPoints } from '../../src/jobs/kill-point.js';
import type { SeededRandom } from '../../src/sample-erp/seeded-random.js';
import type { Plan, Trap } from './plan.js';

/** While there is something to deliver; what belongs to leases and pulls comes up at any time. */
const needsWork = /capture|claim|send|answer|settle/;

/**
 * Three points a seed, each point in its turn. With a standby the two processes take turns as well: whoever dies is
 * followed by the other one, which comes to the next point.
 */
export function drawTraps(seed: number, random: SeededRandom): Plan['traps'] {
  const at = (index: number) => killPoints[index % killPoints.length] as KillPoint;
  // Fifteen points: these three never meet, and each of them comes to every point.
  const points = [at(seed), at(seed * 7 + 5), at(seed * 4 + 4)];
  const ordered = [...points.filter((point) => needsWork.test(point)), ...points.filter((p) => !needsWork.test(p))];
  const traps = ordered.map(
    (point, index): Trap => ({
      point,
      // Later on there is less to do.
      nth: /send|answer/.test(point) ? random.between(1, index === 0 ? 12 : 2) : 1,
      signal: 'SIGKILL',
    }),
  );
  const freezes = seed % 4 === 1;
  const [first, second, third] = traps as [Trap, Trap, Trap];
  if (freezes) first.signal = 'SIGSTOP';
  const standby = freezes || seed % 4 === 2;
  return standby ? { A: [first, third], B: [second] } : { A: traps, B: [] };
}
