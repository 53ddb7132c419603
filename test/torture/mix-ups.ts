import { setTimeout as sleep } from 'node:timers/promises';
import { swapCode, twinCustomers } from './mixed-customers.js';
import { respellKey, sendLongKeys, sendWideKeys } from './mixed-keys.js';
import { answerWithTakenId, forceAfterResolve, twinOrders } from './mixed-orders.js';
import type { MixUp, MixUpKind } from './plan.js';
import type { Stage } from './stage.js';

/** Mixes records up. @returns whether it came to what it is for; nothing is wrong where a fault came between */
type Play = (stage: Stage, mixUp: MixUp) => Promise<boolean>;

const plays: Record<MixUpKind, Play> = {
  'twin-orders': twinOrders,
  'twin-customers': twinCustomers,
  'swapped-code': swapCode,
  'resolve-then-force': forceAfterResolve,
  'respelled-key': respellKey,
  'long-key': sendLongKeys,
  'wide-key': sendWideKeys,
  'id-taken': answerWithTakenId,
};

export async function mixUp(stage: Stage): Promise<void> {
  const play = async (one: MixUp) => {
    await sleep(one.atMs);
    if (await plays[one.kind](stage, one)) stage.coverage.count(`mix-up:${one.kind}`);
  };
  await Promise.all(stage.plan.mixUps.map(play));
}
