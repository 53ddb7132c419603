import { setTimeout as sleep } from 'node:timers/promises';

/** As long as a busy machine may take for what takes a second or ten on others. */
export const patienceMs = 60_000;

/** Looks again and again. @returns whether it came true in time */
export async function until(ms: number, look: () => boolean | Promise<boolean>, everyMs: number): Promise<boolean> {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt) {
    if (await look()) return true;
    await sleep(everyMs);
  }
  return false;
}
