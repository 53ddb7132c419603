import type { Personality } from './world/service.js';
import type { World } from './world/world.js';

/** A fault that is still open. It is set aside, so that the histories that meet it can find others. */
interface KnownFault {
  name: string;
  /** True if a finding of this world is this fault, and no other of its kind. */
  is: (wrong: string, world: World) => boolean;
  /** A history that ends in it. A test tells it, and fails when the fault is gone: then this entry goes as well. */
  steps: readonly (readonly [name: string, seed: number])[];
  personality: Partial<Personality>;
}

export const knownFaults: readonly KnownFault[] = [
  {
    name: 'A store that is lost takes along what it knew of the window of the limit: the next process sends at once.',
    is: (wrong, { service, replacements, personality: { limit } }) =>
      wrong.startsWith('limit:') &&
      service.limitBrokenAtMs.every((at) =>
        replacements.some((replaced) => at >= replaced && at - replaced < (limit?.perMs ?? 0)),
      ),
    steps: [
      ['create a customer', 1],
      ['create an order', 1],
      ['waybill sync, as by cron', 1],
      ['lose the store', 1],
      ['waybill pulls', 1],
    ],
    personality: { limit: { requests: 5, perMs: 1_000 } },
  },
];

/** @returns what is not known yet, and the known faults among the rest */
export function setKnownAside(seen: readonly string[], world: World): { unknown: string[]; known: string[] } {
  const known = new Set<string>();
  const unknown = seen.filter((wrong) => {
    const fault = knownFaults.find(({ is }) => is(wrong, world));
    if (fault) known.add(fault.name);
    return fault === undefined;
  });
  return { unknown, known: [...known] };
}
