import { defaultSource, sourceNames } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';

/** A source among those whose messages go in turns. */
export interface SourceTurn {
  name: string;
  /** A source of priority 2 has two turns for each one of a source of priority 1. */
  priority: number;
}

export const defaultAlone: readonly SourceTurn[] = [{ name: defaultSource, priority: 1 }];

/** Delivery's queues, in turns over all sources of the settings. */
export function inTurns<Scope extends object>(
  { settings, random }: Pick<JobContext, 'settings' | 'random'>,
  scope: Scope,
) {
  const sources = sourceNames(settings).map((name): SourceTurn => {
    return { name, priority: settings.sources[name]?.priority ?? 1 };
  });
  return { ...scope, sources, random };
}

/**
 * The next of several queues, each in its own order, in turns by their priority. Pure. The beginning of each is drawn
 * anew every time, so that a claim of a few messages, which has no turn for each queue, prefers none.
 */
export function takeTurns<T>(
  queues: readonly { priority: number; waiting: readonly T[] }[],
  limit: number,
  random: () => number,
): T[] {
  const left = queues.flatMap(({ priority, waiting }) =>
    waiting.length === 0 ? [] : [{ priority, waiting, taken: 0, next: 0 }],
  );
  if (left.length === 1) return (left[0]?.waiting ?? []).slice(0, limit);
  for (const queue of left) queue.next = random() / queue.priority;
  const order: T[] = [];
  while (order.length < limit && left.length > 0) {
    const queue = left.reduce((first, other) => (other.next < first.next ? other : first));
    order.push(queue.waiting[queue.taken++] as T);
    queue.next += 1 / queue.priority;
    if (queue.taken === queue.waiting.length) left.splice(left.indexOf(queue), 1);
  }
  return order;
}
