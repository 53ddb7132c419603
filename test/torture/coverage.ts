import { killPoints, operatorKillPoints } from '../../src/ops/kill-point.js';
import { otherFaults, serverFaults, serviceFaults } from './draw-faults.js';
import { deedKinds, retryAfterForms, type StoreKind } from './plan.js';

/** How often each fault, deed and point had its effect. */
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
export function expectedCoverage(store: StoreKind): string[] {
  const faults = store === 'mariadb' ? [...everywhere, ...serverFaults] : everywhere;
  return [
    ...faults.map((name) => `fault:${name}`),
    ...deedKinds.map((kind) => `deed:${kind}`),
    ...[...killPoints, ...operatorKillPoints].map((point) => `point:${point}`),
  ];
}

/** What came up less than once in ten seeds. Empty under a hundred seeds: few say nothing. */
export function missingCoverage(coverage: Readonly<Record<string, number>>, seeds: number, store: StoreKind): string[] {
  if (seeds < 100) return [];
  return expectedCoverage(store).filter((name) => (coverage[name] ?? 0) < seeds / 10);
}
