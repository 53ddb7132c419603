/** Ids from `from` on and below `below`. */
export interface IdRange {
  from: number;
  below: number;
}

export interface PageOf<Row> {
  rows: Row[];
  /** Below which id the next page begins; null: there is no more. */
  next: number | null;
}

/** So many ids are looked through at a time, and so many times for one page: the reader asks for more. */
const idsAtATime = 25_000;
const mostLooks = 4;

/**
 * The newest rows below an id. However few of a million rows match, a page looks through so many ids at most, and then says where to
 * go on: it may be short, or empty, and not be the last.
 * @param bounds the lowest and the highest id there is
 */
export async function newestFirst<Row extends { id: number }>(
  bounds: { first: number | null; last: number | null },
  before: number | null,
  limit: number,
  read: (range: IdRange, limit: number) => Promise<Row[]>,
): Promise<PageOf<Row>> {
  const { first, last } = bounds;
  const rows: Row[] = [];
  if (first === null || last === null) return { rows, next: null };
  let below = Math.min(before ?? Number.POSITIVE_INFINITY, last + 1);
  for (let look = 0; look < mostLooks && below > first; look++) {
    const from = Math.max(first, below - idsAtATime);
    rows.push(...(await read({ from, below }, limit - rows.length)));
    const oldest = rows.at(-1);
    if (rows.length >= limit && oldest) return { rows, next: oldest.id > first ? oldest.id : null };
    below = from;
  }
  return { rows, next: below > first ? below : null };
}
