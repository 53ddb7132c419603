import type { History } from './history.js';
import { livesOf } from './lives.js';

/** No pass lets go more updates or removals by itself than the settings say. What a person confirmed was parked before. */
export function brakesHold(history: History): string[] {
  const most = { update: history.maxUpdates, removal: history.removals.maxRemovals };
  return livesOf(history).flatMap(({ events }) => {
    const released = new Map<string, number>();
    for (const { what, at_ms: at, entity, text } of events) {
      if (what !== 'released') continue;
      const one = `${at} ${entity} ${text}`;
      released.set(one, (released.get(one) ?? 0) + 1);
    }
    return [...released].flatMap(([one, count]) => {
      const [at, entity, kind] = one.split(' ') as [string, string, 'update' | 'removal'];
      return count > most[kind]
        ? [`${count} ${kind}s of ${entity}s were let go at once at ${at}, and ${most[kind]} are allowed`]
        : [];
    });
  });
}
