import type { History, Life } from './history.js';
import { livesOf } from './lives.js';

/**
 * No pass lets go more updates or removals by itself than the settings say, and nothing goes out before its pass has
 * let it go. A held change goes when a person has confirmed it.
 */
export function holdsAreKept(history: History): string[] {
  const most = { update: history.maxUpdates, removal: history.removals.maxRemovals };
  return livesOf(history).flatMap((life) => [
    ...letGoAtOnce(life, most),
    ...sentBeforeLetGo(life),
    ...unheldByNobody(life),
  ]);
}

function letGoAtOnce({ events }: Life, most: { update: number; removal: number }): string[] {
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
}

/** Whoever claims what waits for the end of its pass goes round the hold. */
function sentBeforeLetGo({ events }: Life): string[] {
  return events.flatMap(({ what, entity, source_key: key, message_id: id, new_state: to, old_waits_for: waitsFor }) =>
    what === 'message-changed' && to === 'sending' && waitsFor === 'scan'
      ? [`${entity} ${key} (message ${id}) was claimed before the pass that wrote it had let it go`]
      : [],
  );
}

/** Each time that something held goes on, a line on record says who confirmed it. */
function unheldByNobody({ events, operated }: Life): string[] {
  const confirmed = new Map<number, number>();
  for (const { message_id: id, outcome } of operated)
    if (outcome === 'confirm_send') confirmed.set(id, (confirmed.get(id) ?? 0) + 1);
  return events.flatMap(({ what, entity, source_key: key, message_id: id, ...event }) => {
    const goesOn = ['pending', 'sending', 'in_doubt', 'delivered'].includes(event.new_state ?? '');
    const wasHeld = event.old_state === 'parked' && event.old_park_class === 'held';
    if (what !== 'message-changed' || id === null || !wasHeld || !goesOn) return [];
    const left = confirmed.get(id) ?? 0;
    confirmed.set(id, left - 1);
    return left > 0 ? [] : [`${entity} ${key} (message ${id}) was held, and went on with nobody having confirmed it`];
  });
}
