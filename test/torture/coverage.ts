import { killPoints, operatorKillPoints } from '../../src/jobs/kill-point.js';
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
  'service-5xx',
  'service-hang',
  'service-reset-before',
  'service-reset-after-commit',
  'service-trickle',
  'service-cut-off',
  'service-html',
  'service-wrong-total',
  'service-echoes-token',
  'service-forgets-keys',
  'network-cut',
  'network-delay',
  'network-half-open',
  'process-kill',
  'process-stop',
  'process-freeze',
  'process-freeze-at-point',
  'standby',
  'takeover',
  'database-lock',
  'store-lost',
  'store-restored',
];
/** A file has no server that could be restarted, and no row locks that could cross. */
const atServers = ['database-restart', 'database-kill-connections', 'database-network-cut', 'database-deadlock'];

/** Everything that has to come up. */
export function expectedCoverage(store: StoreKind): string[] {
  const faults = store === 'mariadb' ? [...everywhere, ...atServers] : everywhere;
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
