import type { Personality } from './world/service.js';
import type { World } from './world/world.js';

/** A fault that is still open. It is set aside, so that the histories that meet it can find others. */
interface KnownFault {
  name: string;
  /** Whether a finding of this world is this fault, and no other of its kind. */
  is: (wrong: string, world: World) => boolean;
  /** A history that ends in it. A test tells it, and fails when the fault is gone: then this entry goes as well. */
  steps: readonly string[];
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
    steps: ['create a customer', 'create an order', 'waybill sync, as by cron', 'lose the store', 'waybill pulls'],
    personality: { limit: { requests: 5, perMs: 1_000 } },
  },
];

/** Takes what is known out of what was seen. @returns the faults */
export function setKnownAside(world: World): string[] {
  const met = new Set<string>();
  for (const seen of [world.wrong, world.service.wrong]) {
    const unknown = seen.filter((wrong) => {
      const fault = knownFaults.find(({ is }) => is(wrong, world));
      if (fault) met.add(fault.name);
      return fault === undefined;
    });
    seen.splice(0, seen.length, ...unknown);
  }
  return [...met];
}
