import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is neither null, undefined nor false, and returns it. Fails with `what` after a bound far above the usual. */
export async function waitFor<T>(
  what: string,
  ask: () => T | Promise<T>,
  withinMs = 20_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) return answer as NonNullable<Exclude<T, false>>;
    if (performance.now() > giveUpAt) throw new Error(`Waited ${withinMs / 1000} s in vain: ${what}`);
    await sleep(10);
  }
}
