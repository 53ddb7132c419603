import { killPoints, operatorKillPoints } from '../../src/ops/kill-point.js';
import { nodeFaults, redisFaults } from './draw-cluster.js';
import { otherFaults, serverFaults, serviceFaults } from './draw-faults.js';
import { type DispatcherKind, deedKinds, isOfNodes, mixUps, retryAfterForms, type StoreKind } from './plan.js';

/** Names that come up in every twentieth seed, in some of them more than once. */
export const seldom = [
  'deed:vanish-order',
  'deed:long-order',
  'deed:long-code',
  'fault:service-long-id',
  'fault:clock-forward',
  'fault:clock-back',
  'fault:operator-forget',
  'fault:store-pruned',
  'fault:service-announces',
  'fault:service-stale-read',
  ...mixUps.map((kind) => `mix-up:${kind}`),
] as const;

/** The number of effects of each fault, deed and point. */
export class Coverage {
  readonly times = new Map<string, number>();

  count(what: string, times = 1): void {
    if (times > 0) this.times.set(what, (this.times.get(what) ?? 0) + times);
  }
}

const everywhere = [
  ...retryAfterForms.map((form) => `service-429-${form}`),
  ...serviceFaults,
  'service-forgets-keys',
  'service-sent-before-us',
  ...otherFaults,
  'process-freeze-at-point',
  'standby',
  'takeover',
  'store-lost',
  'store-restored',
];

/** Everything that has to come up. */
export function expectedCoverage(store: StoreKind, dispatcher: DispatcherKind = 'local'): string[] {
  const faults = [
    // All nodes of a cluster deliver.
    ...everywhere.filter((name) => name !== 'standby' || dispatcher === 'local'),
    ...(store !== 'sqlite' ? serverFaults : []),
    ...(dispatcher === 'cluster' ? redisFaults : []),
    ...(isOfNodes({ dispatcher }) ? nodeFaults : []),
  ];
  return [
    ...faults.map((name) => `fault:${name}`),
    ...deedKinds.map((kind) => `deed:${kind}`).filter((name) => !isSeldom(name)),
    ...[...killPoints, ...operatorKillPoints].map((point) => `point:${point}`),
  ];
}

function isSeldom(name: string): boolean {
  return (seldom as readonly string[]).includes(name);
}

/**
 * Names that came up less than once in ten seeds, or in twenty if they are seldom. Empty under a hundred seeds: few say
 * nothing.
 */
export function missingCoverage(
  coverage: Readonly<Record<string, number>>,
  seeds: number,
  store: StoreKind,
  dispatcher: DispatcherKind = 'local',
): string[] {
  if (seeds < 100) return [];
  return [...expectedCoverage(store, dispatcher), ...seldom].filter(
    (name) => (coverage[name] ?? 0) < seeds / (isSeldom(name) ? 20 : 10),
  );
}
