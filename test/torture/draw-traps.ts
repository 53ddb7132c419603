import type { SeededRandom } from '../../src/lab/seeded-random.js';
import { type KillPoint, killPoints } from '../../src/ops/kill-point.js';
import type { OperatorTrap, Plan, Trap } from './plan.js';

/** While there is something to deliver; what belongs to leases and pulls comes up at any time. */
const needsWork = /capture|cursor|claim|send|answer|settle/;
/** Only where something was edited or cancelled after it was acknowledged. */
const needsChanges = /pass-end|removal/;

/**
 * Four points a seed, each point in its turn. With a standby the two processes take turns as well: whoever dies is
 * followed by the other one, which comes to the next point.
 */
export function drawTraps(seed: number, random: SeededRandom): Plan['traps'] {
  const at = (index: number) => killPoints[index % killPoints.length] as (typeof killPoints)[number];
  // Others meet in each round; of the twenty-two points four that are never the same.
  const round = Math.floor(seed / killPoints.length) % 3;
  const points = [at(seed), at(seed + 5 + round), at(seed + 11 + round), at(seed + 16 + round)];
  // Seeds in which keys are forgotten have none, and most of them would have ended a pass.
  if (seed % 16 === 3 && !points.includes('before-pass-end')) points[3] = 'before-pass-end';
  const rank = (point: KillPoint) => {
    if (needsWork.test(point)) return 0;
    return needsChanges.test(point) ? 2 : 1;
  };
  const ordered = [...points].sort((a, b) => rank(a) - rank(b));
  const traps = ordered.map(
    (point, index): Trap => ({
      point,
      // Later on there is less to do.
      nth: /send|answer/.test(point) ? random.between(1, index === 0 ? 12 : 2) : 1,
      signal: 'SIGKILL',
    }),
  );
  const freezes = seed % 4 === 1;
  const [first, second, third, fourth] = traps as [Trap, Trap, Trap, Trap];
  if (freezes) first.signal = 'SIGSTOP';
  const standby = freezes || seed % 4 === 2;
  const daemons = standby ? { A: [first, third], B: [second, fourth] } : { A: traps, B: [] };
  return { ...daemons, operator: operatorTraps };
}

/** Each command dies before its commit when it is typed first, and after it when it is typed again. */
export const operatorTraps: OperatorTrap[] = [
  { command: 'confirm', point: 'before-confirm-commit' },
  { command: 'confirm', point: 'after-confirm-commit' },
  { command: 'recover', point: 'before-recover-commit' },
  { command: 'recover', point: 'after-recover-commit' },
  { command: 'outbox resolve', point: 'before-resolve-commit' },
  { command: 'outbox resolve', point: 'after-resolve-commit' },
];
