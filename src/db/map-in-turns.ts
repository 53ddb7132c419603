import { nextTurn } from '../v8.js';

/** Maps the rows of a large page, and lets timers, sockets and signals have their turn in between. */
export async function mapInTurns<Row, Made>(
  rows: readonly Row[],
  map: (row: Row, at: number) => Made,
): Promise<Made[]> {
  const made: Made[] = [];
  for (const [at, row] of rows.entries()) {
    if (at % 100 === 99) await nextTurn();
    made.push(map(row, at));
  }
  return made;
}
