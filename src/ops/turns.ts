import { setImmediate as afterPolling } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller gets. Where the store is a file, a step of work never waits by itself:
 * so timers, sockets and signals have their turn between two steps, and two that were ready at once don't add up.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => afterPolling());
  return last;
}
