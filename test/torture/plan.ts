import { type KillPoint, killPoints } from '../../src/jobs/kill-point.js';
import { SeededRandom } from '../../src/sample-erp/seeded-random.js';

export type StoreKind = 'sqlite' | 'mariadb';

/** What people do at the ERP. `pick` chooses among the rows that are there when it happens. */
export type Deed =
  | { kind: 'new-order'; lines: { product: number; qty: number }[]; pick: number }
  /** A transaction that began a while ago and commits only now: its changed-at lies in the past. */
  | { kind: 'late-commit'; lines: { product: number; qty: number }[]; pick: number; lateMs: number }
  | { kind: 'edit-order'; pick: number; qty: number }
  /** A quantity changes and no changed-at moves with it: only a sweep finds it. */
  | { kind: 'silent-edit'; pick: number; qty: number }
  | { kind: 'edit-customer'; pick: number; name: string }
  /** From A to B and back, and once more. */
  | { kind: 'there-and-back'; pick: number; qty: number }
  | { kind: 'cancel-order'; pick: number }
  /** Longer than the service takes: it refuses the order until somebody shortens the text. */
  | { kind: 'refused-order'; pick: number }
  | { kind: 'correct-refused-order' }
  | { kind: 'correct-bad-row' };
export type DeedKind = Deed['kind'];

export const retryAfterForms = ['seconds', 'http-date', 'absent', 'junk', 'past', 'absurd'] as const;
export type RetryAfterForm = (typeof retryAfterForms)[number];

export type Fault =
  | { kind: 'service-429'; form: RetryAfterForm; times: number }
  | { kind: 'service-5xx'; status: number; times: number }
  | { kind: 'service-hang' | 'service-reset-before' | 'service-reset-after-commit'; times: number }
  | { kind: 'service-trickle' | 'service-cut-off' | 'service-html' | 'service-wrong-total'; times: number }
  /** Keys outlive what the settings promise by little, and one order stays in doubt for longer than that. */
  | { kind: 'service-forgets-keys' }
  /** An error that repeats our credential to us. */
  | { kind: 'service-echoes-token'; times: number }
  | { kind: 'network-cut' }
  | { kind: 'network-delay' | 'network-half-open'; forMs: number }
  | { kind: 'process-kill' | 'process-stop'; who: 'A' | 'B' }
  | { kind: 'process-freeze'; who: 'A' | 'B'; forMs: number }
  | { kind: 'database-restart' | 'database-kill-connections' | 'database-network-cut' }
  | { kind: 'database-lock'; forMs: number }
  | { kind: 'database-deadlock' };
export type FaultKind = Fault['kind'];

export const serviceFaults = [
  'service-429',
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
const otherFaults = [
  'network-cut',
  'network-delay',
  'network-half-open',
  'process-kill',
  'process-stop',
  'process-freeze',
  'database-lock',
] as const;
const serverFaults = [
  'database-restart',
  'database-kill-connections',
  'database-network-cut',
  'database-deadlock',
] as const;

/** A process to end or freeze when it comes to a named point for the nth time. */
export interface Trap {
  point: KillPoint;
  nth: number;
  signal: 'SIGKILL' | 'SIGSTOP';
}

export interface Plan {
  seed: number;
  store: StoreKind;
  erp: { seed: number; customers: number; orders: number; bad: Record<string, number> };
  limit: { requests: number; perSeconds: number };
  concurrency: number;
  replaysRefusals: boolean;
  /** Short key lifetimes go with a service that forgets; null leaves the usual day. */
  keyLifetimeSeconds: number | null;
  overlapSeconds: number;
  sweepSeconds: number;
  /** Whether sweeps come often enough to count on them. */
  sweeps: boolean;
  standby: boolean;
  traps: { A: Trap[]; B: Trap[] };
  deeds: { atMs: number; deed: Deed }[];
  faults: { atMs: number; fault: Fault }[];
}

/** The span in which deeds and faults happen; afterwards everything heals. */
const spanMs = 3_500;

/** The same seed gives the same plan, whatever the machine. Neighbouring seeds take turns, so that no kind is left out by chance. */
export function drawPlan(seed: number, store: StoreKind): Plan {
  const random = new SeededRandom(seed * 7919 + (store === 'mariadb' ? 1 : 0));
  for (let i = 0; i < 8; i++) random.below(2);
  const sweeps = random.chance(50);
  const forgets = seed % 9 === 4;
  const traps = drawTraps(seed, random);
  const faults = drawFaults(seed, store, random);
  if (forgets) faults.push({ atMs: 0, fault: { kind: 'service-forgets-keys' } });
  const freezes =
    [...traps.A, ...traps.B].some((trap) => trap.signal === 'SIGSTOP') ||
    faults.some(({ fault }) => fault.kind === 'process-freeze');
  return {
    seed,
    store,
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
    overlapSeconds: sweeps ? 0.5 : 6,
    sweepSeconds: sweeps ? 1.2 : 3_600,
    sweeps,
    standby: freezes || random.chance(25),
    traps,
    deeds: drawDeeds(sweeps, random),
    faults: faults.sort((a, b) => a.atMs - b.atMs),
  };
}

function drawTraps(seed: number, random: SeededRandom): Plan['traps'] {
  const freeze = random.chance(25);
  const trap = (point: KillPoint): Trap => ({
    point,
    nth: /claim|takeover|lease|pull|release/.test(point) ? 1 : random.between(1, /send|answer/.test(point) ? 12 : 2),
    signal: 'SIGKILL',
  });
  const at = (index: number) => killPoints[index % killPoints.length] as KillPoint;
  const A = [trap(at(seed)), trap(at(seed * 2 + 7)), trap(at(seed * 4 + 3))];
  if (freeze && A[0]) A[0].signal = 'SIGSTOP';
  return { A, B: [] };
}

function drawFaults(seed: number, store: StoreKind, random: SeededRandom): Plan['faults'] {
  const kinds: FaultKind[] = [
    serviceFaults[seed % serviceFaults.length] as FaultKind,
    serviceFaults[(seed * 3 + 1) % serviceFaults.length] as FaultKind,
    // Three pages for people in a row would park a record, and rightly so: one kind takes its turn, and is not drawn beside it.
    random.pick(serviceFaults.filter((kind) => kind !== 'service-html') as unknown as typeof serviceFaults),
    otherFaults[seed % otherFaults.length] as FaultKind,
    otherFaults[(seed * 2 + 3) % otherFaults.length] as FaultKind,
  ];
  if (store === 'mariadb') kinds.push(serverFaults[seed % serverFaults.length] as FaultKind);
  return kinds.map((kind) => ({ atMs: random.between(0, spanMs - 500), fault: drawFault(kind, seed, random) }));
}

function drawFault(kind: FaultKind, seed: number, random: SeededRandom): Fault {
  switch (kind) {
    case 'service-429':
      return {
        kind,
        form: retryAfterForms[(seed + Math.floor(seed / 10)) % retryAfterForms.length] as RetryAfterForm,
        times: random.between(1, 3),
      };
    case 'service-5xx':
      return { kind, status: random.pick([500, 502, 503, 504, 520]), times: random.between(1, 8) };
    case 'service-html':
      return { kind, times: 1 };
    case 'network-delay':
    case 'network-half-open':
      return { kind, forMs: random.between(100, 900) };
    case 'database-lock':
      return { kind, forMs: random.between(200, 1_400) };
    case 'process-kill':
    case 'process-stop':
      return { kind, who: seed % 4 === 0 ? 'B' : 'A' };
    case 'process-freeze':
      return { kind, who: 'A', forMs: random.between(2_300, 3_200) };
    case 'service-forgets-keys':
    case 'network-cut':
    case 'database-restart':
    case 'database-kill-connections':
    case 'database-network-cut':
    case 'database-deadlock':
      return { kind };
    default:
      return { kind, times: random.between(1, 4) };
  }
}

function drawDeeds(sweeps: boolean, random: SeededRandom): Plan['deeds'] {
  const kinds: readonly [DeedKind, ...DeedKind[]] = [
    'new-order',
    'new-order',
    'late-commit',
    'edit-order',
    'edit-order',
    'edit-customer',
    'there-and-back',
    'cancel-order',
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
      case 'edit-customer':
        return { kind, pick, name: `Renamed ${random.below(1_000_000)}` };
      case 'refused-order':
      case 'cancel-order':
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
  return deeds.sort((a, b) => a.atMs - b.atMs);
}
