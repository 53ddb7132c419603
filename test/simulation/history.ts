import type { Command } from 'commander';
import { setKnownAside } from './known-faults.js';
import { commandOperations } from './world/command-operations.js';
import { deskOperations } from './world/desk-operations.js';
import { Dice } from './world/dice.js';
import { branchOperations, erpOperations, orderOperations } from './world/erp-operations.js';
import { heal } from './world/heal.js';
import { copyStore, machineOperations, timeOperations } from './world/machine-operations.js';
import type { Operations, Step } from './world/operation.js';
import { operatorOperations, workOperations } from './world/operator-operations.js';
import { watchEffects, wrongCommands, wrongHistory, wrongKeys } from './world/oracle.js';
import type { Arrival, Personality } from './world/service.js';
import { serviceOperations } from './world/service-operations.js';
import { settingsOperations } from './world/settings-operations.js';
import { type Run, World } from './world/world.js';

/** Areas of the vocabulary, with how often one of each is drawn. */
export interface Area {
  weight: number;
  /** A history knows so many of its operations: those that it knows come back, and meet what they did before. */
  most: number;
  operations: Operations;
}

export function vocabulary(commands: readonly Command[]): Record<string, Area> {
  return {
    work: { weight: 9, most: 4, operations: workOperations },
    // The daily work of an ERP goes on in every history.
    orders: { weight: 4, most: 3, operations: orderOperations },
    time: { weight: 3, most: 3, operations: timeOperations },
    erp: { weight: 8, most: 6, operations: erpOperations },
    branch: { weight: 2, most: 2, operations: branchOperations },
    service: { weight: 4, most: 4, operations: serviceOperations },
    operator: { weight: 3, most: 5, operations: operatorOperations },
    desk: { weight: 2, most: 4, operations: deskOperations },
    commands: { weight: 2, most: 3, operations: commandOperations(commands) },
    settings: { weight: 1, most: 2, operations: settingsOperations },
    machine: { weight: 4, most: 6, operations: machineOperations },
  };
}

export interface History {
  seed: number;
  personality: Personality;
  steps: Step[];
}

export interface Told {
  wrong: string[];
  /** Faults that are known to be open, and were met. */
  known: ReadonlySet<string>;
  story: string[];
  steps: number;
  /** The requests that came to the service. */
  arrivals: Arrival[];
}

const hourMs = 3_600_000;

function drawPersonality(dice: Dice): Personality {
  const told = () => dice.pick(['nothing', 'delete'] as const);
  return {
    keyLifetimeMs: dice.pick([null, hourMs, 24 * hourMs, 24 * hourMs]),
    comparesBodies: dice.chance(0.8),
    replayStatus: dice.chance(0.7) ? 'as first' : 200,
    stores: dice.pick(['successes', 'successes', 'refusals', 'all']),
    customerIds: dice.chance(0.6) ? 'code' : 'own',
    lookUp: dice.pick(['none', 'at once', 'late']),
    lagMs: dice.pick([5_000, 60_000, 600_000]),
    updates: dice.chance(0.6) ? 'PATCH' : 'PUT',
    limit: dice.pick([null, { requests: 5, perMs: 1_000 }, { requests: 10, perMs: 1_000 }]),
    flagsRefusals: dice.chance(0.15),
    keepsRemoved: dice.chance(0.2),
    shiftsLists: dice.chance(0.3),
    repeatsNumbers: dice.chance(0.1),
    announces: dice.chance(0.4),
    hasBranch: dice.chance(0.2),
    hasDesk: dice.chance(0.4),
    writesBack: dice.chance(0.25),
    removals: {
      orders: { onCancelled: told(), onDeleted: told() },
      customers: { onCancelled: told(), onDeleted: told() },
    },
  };
}

/** Two operations, one right after the other. */
export type Pair = readonly [string, string];

export const namesOf = (areas: Record<string, Area>) =>
  Object.values(areas).flatMap(({ operations }) => Object.keys(operations));

/**
 * Two histories of three are short. So many pairs of each are chosen; the others come as the weights have it.
 * `before`: pairs that the seeds before this one had of the eight that three seeds have.
 */
const shapes = [
  { least: 8, more: 14, mostSettings: 3, chosenPairs: 4, before: 0 },
  { least: 5, more: 4, mostSettings: 1, chosenPairs: 2, before: 4 },
  { least: 5, more: 4, mostSettings: 1, chosenPairs: 2, before: 6 },
] as const;
type Shape = (typeof shapes)[number];
const shapeOf = (seed: number) => shapes[seed % 3] as Shape;
const firstTurn = (seed: number) => Math.floor(seed / 3) * 8 + shapeOf(seed).before;

/**
 * The pair of a turn. Turns go through all pairs before one comes again, in an order in which neighbours have nothing in common.
 */
function pairOfTurn(turn: number, names: readonly string[]): Pair {
  const all = names.length ** 2;
  let stride = Math.floor(all * 0.618);
  while (divisor(stride, all) > 1) stride++;
  const at = Number((BigInt(turn) * BigInt(stride)) % BigInt(all));
  return [names[at % names.length] as string, names[Math.floor(at / names.length)] as string];
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

/**
 * Draws a history. Each one knows a part of the vocabulary, and all of them together know all of it. Some pairs of operations
 * stand next to one another whatever the weights say.
 * @param unmet pairs that earlier histories never had, which come first; without them the seed alone decides
 */
export function drawHistory(
  seed: number,
  areas: Record<string, Area>,
  focus: string | null,
  unmet: readonly Pair[] = [],
): History {
  const dice = new Dice(seed);
  const personality = drawPersonality(dice);
  const isThere = (area: string) =>
    area === 'desk' ? personality.hasDesk : area !== 'branch' || personality.hasBranch;
  const known = Object.entries(areas)
    .filter(([name]) => isThere(name) || name === focus)
    .flatMap(([name, { weight, most, operations }]) => {
      const names = Object.keys(operations);
      const some = Array.from({ length: most }, () => dice.pick(names));
      return Array.from({ length: name === focus ? weight * 4 : weight }, () => some);
    });
  const { least, more, mostSettings, chosenPairs } = shapeOf(seed);
  const names = Array.from({ length: least + dice.below(more) }, () => dice.pick(dice.pick(known)));
  const all = namesOf(areas);
  const places = Array.from({ length: Math.floor(names.length / 2) }, (_, place) => place * 2);
  for (let i = 0; i < chosenPairs; i++) {
    const [at = 0] = places.splice(dice.below(places.length), 1);
    const turn = firstTurn(seed) + i;
    [names[at], names[at + 1]] = unmet.length > 0 ? (unmet[turn % unmet.length] as Pair) : pairOfTurn(turn, all);
  }
  // Whoever is asked for is there.
  const has = (area: string) => names.some((name) => areas[area]?.operations[name] !== undefined);
  personality.hasDesk ||= has('desk');
  personality.hasBranch ||= has('branch');
  const settings = Object.keys(areas.settings?.operations ?? {});
  const drawn =
    settings.length > 0 ? Array.from({ length: dice.below(mostSettings + 1) }, () => dice.pick(settings)) : [];
  const first = [...drawn, 'create a customer', 'create a customer', 'create several orders'];
  return { seed, personality, steps: [...first, ...names].map((name) => ({ name, seed: dice.seed() })) };
}

/** Tells a history: the same one has the same end on every machine. */
export async function tell(
  history: History,
  areas: Record<string, Area>,
  run: Run,
  folder: string,
  { onCommand = null, doctor }: { onCommand?: World['onCommand']; doctor?: (world: World) => void } = {},
): Promise<Told> {
  const operations: Operations = Object.assign({}, ...Object.values(areas).map((one) => one.operations));
  const world = new World(folder, history.personality, history.seed, run);
  world.onCommand = onCommand;
  const story: string[] = [];
  const note = (what: string) => story.push(`${stamp(world)} ${what.replaceAll(folder, '…')}`);
  const known = new Set<string>();
  const unknownOf = (seen: readonly string[]) => {
    const judged = setKnownAside(seen, world);
    for (const fault of judged.known) known.add(fault);
    return judged.unknown;
  };
  let steps = 0;
  try {
    watchEffects(world);
    if (history.personality.writesBack) await world.prepareWriteBack();
    for (const step of history.steps) {
      const operation = operations[step.name];
      if (!operation) throw new Error(`There is no operation "${step.name}".`);
      const dice = new Dice(step.seed);
      // Backups are taken all the time, of both sides.
      if (dice.chance(0.15) && copyStore(world)) note('a backup of the store is taken');
      if (dice.chance(0.15)) {
        world.erp.takeBackup();
        note('a backup of the ERP is taken');
      }
      const what = await operation(world, dice);
      steps++;
      if (what !== null) note(what);
      const pruned = world.daemon ? wrongHistory(world) : [];
      for (const seen of [world.wrong, world.service.wrong]) seen.splice(0, seen.length, ...unknownOf(seen));
      const wrong = [...world.wrong, ...world.service.wrong, ...wrongCommands(world), ...wrongKeys(world), ...pruned];
      if (wrong.length > 0) return { wrong, known, story, steps, arrivals: world.service.arrivals };
    }
    const wrong = await heal(world, new Dice(history.seed ^ 0xbea1), note, doctor);
    return {
      wrong: unknownOf([...new Set([...world.wrong, ...world.service.wrong, ...wrong])]),
      known,
      story,
      steps,
      arrivals: world.service.arrivals,
    };
  } finally {
    world.close();
    // The processes of a history end before the next one begins.
    await world.machine.run(0);
  }
}

function stamp({ machine }: World): string {
  const seconds = Math.floor(machine.elapsedMs / 1000);
  return `${String(Math.floor(seconds / 3600)).padStart(3)}:${String(Math.floor(seconds / 60) % 60).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The kind of a finding. */
export const kindOf = (wrong: string) => wrong.split(':')[0] as string;

/** The fewest steps that still end in a finding of the same kind: parts are left out, ever smaller ones. */
export async function shrink(
  history: History,
  kind: string,
  told: (history: History) => Promise<Told>,
  most = 60,
): Promise<History> {
  let best = history;
  let left = most;
  const fails = async (steps: Step[]) => {
    left--;
    const tried = { ...best, steps };
    const { wrong } = await told(tried);
    return wrong.some((one) => kindOf(one) === kind) ? tried : null;
  };
  for (
    let size = Math.ceil(best.steps.length / 2);
    size >= 1 && left > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < best.steps.length && left > 0; ) {
      const without = [...best.steps.slice(0, at), ...best.steps.slice(at + size)];
      const smaller = await fails(without);
      if (smaller) best = smaller;
      else at += size;
    }
  }
  return best;
}
