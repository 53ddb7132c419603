import { setImmediate as afterPolling } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

// The V8 settings that all parts of a process share: V8's memory, and its one thread.

/** The garbage, in percent of the live heap, that may pile up before all of it is collected. */
const garbagePercent = { usually: 30, inDrain: 70 };
const mayPileUp = (percent: number) => setFlagsFromString(`--heap-growing-percent=${percent}`);
let isKeptSmall = false;

/** Tells V8 that a daemon beside an ERP should stay small. To be called before anything else is loaded. */
export function keepSmall(): void {
  isKeptSmall = true;
  // On a server with much memory V8 lets garbage pile up before it collects: 159 MiB instead of 273 over 10,000 orders.
  mayPileUp(garbagePercent.usually);
  // V8 moves new objects on when a little room is full, instead of growing rooms of 16 MiB each: 124 to 128 MiB for 100,000
  // invoices instead of 139 to 148, at the same speed.
  setFlagsFromString('--semi-space-growth-factor=1');
  // The parser of undici is WebAssembly. When the first request goes out, V8 would compile it a second time, for speed: 33 MiB for
  // a moment. Without that it takes 8 µs more for an answer, and garbage that may take this room in a drain saves three times as much.
  setFlagsFromString('--liftoff-only');
}

/** Both rooms together. With 8 MiB a drain takes a tenth more CPU time; more than this saves nothing that can be measured. */
const mostBytes = 16 * 2 ** 20;
let wasDrain = false;
let isGrowing = false;

/**
 * True if V8 may take more memory, because thousands of orders are delivered in a row. Most of what they need dies
 * young, and collections in the little rooms of `keepSmall` take a quarter more CPU time; collections of everything,
 * three times as often as in a drain, a tenth. A process that is idle, or pulls a long list, stays small. To be called
 * again and again in a drain. Does nothing where `keepSmall` was not called, as in tests.
 */
export function makeRoom(isDrain: boolean): void {
  if (!isKeptSmall) return;
  if (isDrain !== wasDrain) mayPileUp(isDrain ? garbagePercent.inDrain : garbagePercent.usually);
  wasDrain = isDrain;
  const grows = isDrain && bytesOfRooms() < mostBytes;
  if (grows === isGrowing) return;
  isGrowing = grows;
  setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`);
}

function bytesOfRooms(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}

let longWorks = 0;

/**
 * Runs work that takes long and has time, and has V8 collect garbage more often meanwhile. Measured over 100,000 invoices: 139
 * MiB instead of 168, partly by a smaller cache of the store and a smaller start. Not for delivery, whose CPU time it raises by
 * a tenth.
 */
async function withLittleMemory<T>(work: () => Promise<T>): Promise<T> {
  if (longWorks++ === 0) setFlagsFromString('--optimize-for-size');
  try {
    return await work();
  } finally {
    if (--longWorks === 0) setFlagsFromString('--no-optimize-for-size');
  }
}

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller gets. With a store in a file, a step of work never waits by
 * itself: timers, sockets and signals have their turn between two steps, and two that were ready at once don't add up.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => afterPolling());
  return last;
}

/** The part of all this that jobs get, in their context. */
export const sharedThread = { turn: nextTurn, inDrain: makeRoom, unhurried: withLittleMemory };
