import { wrongAtRest, wrongInTheEnd } from './promise.js';
import type { World } from './world.js';

const mostRounds = 12;
const hourSeconds = 3_700;

/** Everything works again, and nobody edits any more. @returns what is wrong when all have come to rest */
export async function heal(world: World): Promise<string[]> {
  world.service.fates = [];
  await world.wake();
  await world.goLive();
  for (const row of world.erp.orders.values()) Object.assign(row, { isHalf: false, touchedAtMs: world.time.nowMs });
  await untilQuiet(world, async () => world.desk.resume());
  const wrong = wrongAtRest(world);
  if (wrong.length > 0) return wrong;
  if (!needsPeople(world)) return wrongInTheEnd(world);
  await untilQuiet(world, async () => {
    await world.desk.resume();
    await world.desk.confirm();
    await world.desk.resolve();
    await world.desk.operate('retry');
  });
  return wrongInTheEnd(world);
}

function needsPeople({ kept }: World): boolean {
  const waits = kept.rows("SELECT 1 FROM outbox_message WHERE state IN ('parked','pending') LIMIT 1");
  return waits.length > 0 || kept.rows('SELECT 1 FROM capture_cursor WHERE brake_code IS NOT NULL').length > 0;
}

/** Round by round, until one has changed nothing. Two sweeps without a row are enough to count as deleted. */
async function untilQuiet(world: World, help: () => Promise<void>): Promise<void> {
  let before = '';
  for (let round = 0; round < mostRounds; round++) {
    await help();
    await world.time.advance(hourSeconds * 1000);
    await world.capture(false);
    await world.deliver(true, null, hourSeconds * 1000);
    await world.pull();
    const now = JSON.stringify([
      world.kept.rows('SELECT id, state, park_class FROM outbox_message ORDER BY id'),
      world.kept.rows('SELECT entity, source_key, missing_since_elapsed IS NULL FROM binding ORDER BY 1, 2'),
      [...world.service.orders],
      [...world.service.customers],
    ]);
    if (now === before) return;
    before = now;
  }
  throw new Error('There is no end to what happens.');
}
