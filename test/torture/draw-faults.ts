import type { SeededRandom } from '../../src/lab/seeded-random.js';
import {
  type Fault,
  type FaultKind,
  type Plan,
  type RecoveryForm,
  type RetryAfterForm,
  retryAfterForms,
  type StoreFault,
  type StoreKind,
} from './plan.js';

/** A 429 comes in every seed, each time in another form; these take turns beside it. */
export const serviceFaults = [
  'service-5xx',
  'service-hang',
  'service-reset-before',
  'service-reset-after-commit',
  'service-trickle',
  'service-cut-off',
  'service-html',
  'service-wrong-total',
  'service-echoes-token',
] as const;
export const otherFaults = [
  'network-cut',
  'network-delay',
  'network-half-open',
  'process-kill',
  'process-stop',
  'process-freeze',
  'database-lock',
] as const;
/** A file has no server that could be restarted, and no row locks that could cross. */
export const serverFaults = [
  'database-restart',
  'database-kill-connections',
  'database-network-cut',
  'database-deadlock',
] as const;

export function drawFaults(seed: number, store: StoreKind, spanMs: number, random: SeededRandom): Plan['faults'] {
  const turn = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
  // Three pages for people in a row would park a record, and rightly so: never twice in one seed.
  const second = turn(serviceFaults, seed * 2 + 4);
  const kinds: FaultKind[] = [
    'service-429',
    turn(serviceFaults, seed),
    second === 'service-html' && turn(serviceFaults, seed) === second ? 'service-5xx' : second,
    turn(otherFaults, seed),
    turn(otherFaults, seed * 2 + 3),
  ];
  if (store !== 'sqlite') kinds.push(turn(serverFaults, seed + Math.floor(seed / 4)));
  const faults = kinds.map((kind) => ({ atMs: random.between(0, spanMs - 500), fault: drawFault(kind, seed, random) }));
  // Never where keys are forgotten or a store is lost: there it would prove nothing.
  if (seed % 4 === 3) faults.push({ atMs: (seed * 37) % 2_000, fault: { kind: 'service-sent-before-us' } });
  return faults;
}

function drawFault(kind: FaultKind, seed: number, random: SeededRandom): Fault {
  switch (kind) {
    case 'service-429':
      return { kind, form: retryAfterForms[seed % retryAfterForms.length] as RetryAfterForm, times: 1 };
    case 'service-5xx':
      return { kind, status: random.pick([500, 502, 503, 504, 520]), times: random.between(1, 8) };
    case 'service-html':
      return { kind, times: 1 };
    case 'network-delay':
    case 'network-half-open':
      return { kind, forMs: random.between(200, 900) };
    case 'database-lock':
      return { kind, forMs: random.between(800, 1_400) };
    case 'process-kill':
      return { kind, who: seed % 4 === 0 ? 'B' : 'A' };
    case 'process-freeze':
      return { kind, forMs: random.between(2_300, 3_200) };
    case 'service-forgets-keys':
    case 'service-sent-before-us':
    case 'network-cut':
    case 'process-stop':
    case 'database-restart':
    case 'database-kill-connections':
    case 'database-network-cut':
    case 'database-deadlock':
      return { kind };
    case 'clock-forward':
    case 'clock-back':
    case 'redis-killed':
    case 'redis-emptied':
    case 'redis-slow':
    case 'redis-cut-off':
    case 'redis-of-the-past':
    case 'node-stale-token':
    case 'node-other-erp':
    case 'node-other-address':
    case 'node-other-settings':
    case 'node-clock':
    case 'node-suspended':
    case 'node-cut-off':
    case 'store-clock-back':
    case 'operator-forget':
    case 'store-pruned':
    case 'service-announces':
    case 'service-stale-read':
      throw new Error(`${kind} is drawn apart`);
    default:
      return { kind, times: random.between(1, 4) };
  }
}

const recoveries: Record<StoreFault['kind'], readonly RecoveryForm[]> = {
  'store-lost': ['from-service', 'bindings', 'look-up', 'by-hand', 'bindings-from-service'],
  'store-restored': ['from-service', 'look-up', 'bindings', 'by-hand'],
};

export function drawStoreFault(seed: number, random: SeededRandom): StoreFault | null {
  const restored = seed % 8 === 6 ? 'store-restored' : null;
  const kind = seed % 8 === 2 ? 'store-lost' : restored;
  if (kind === null) return null;
  const forms = recoveries[kind];
  return {
    kind,
    copyAtMs: random.between(900, 2_200),
    recovery: forms[Math.floor(seed / 8) % forms.length] as RecoveryForm,
  };
}
