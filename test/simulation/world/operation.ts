import type { Dice } from './dice.js';
import type { World } from './world.js';

/** One step of a history. The operation draws its details from its own seed and from the world as it finds it. */
export interface Step {
  name: string;
  seed: number;
}

/** @returns what happened, for the story; null: there was nothing to act on */
export type Operation = (world: World, dice: Dice) => Promise<string | null> | string | null;

export type Operations = Readonly<Record<string, Operation>>;
