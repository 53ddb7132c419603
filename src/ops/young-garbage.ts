import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Both rooms together. With 8 MiB a drain takes a tenth more CPU time; more than this saves nothing that can be measured. */
const mostBytes = 16 * 2 ** 20;
let isGrowing = false;

/**
 * Whether V8 may take larger rooms for new objects. In a drain of thousands of orders most die young, and collections in the
 * little rooms of main.ts take a quarter more CPU time. What is idle, or pulls a long list, stays small. To be called again and
 * again while they may grow.
 */
export function growRoomsForNewObjects(mayGrow: boolean): void {
  const grows = mayGrow && bytesOfRooms() < mostBytes;
  if (grows === isGrowing) return;
  isGrowing = grows;
  setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`);
}

function bytesOfRooms(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}
