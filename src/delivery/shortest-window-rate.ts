/**
 * Requests a second that the limit with the shortest window allows: how fast requests follow each other. What a longer window
 * allows on average (10,000 a day are 0.12/s) says nothing of that; its slots are counted. Null: no limit is known.
 */
export function shortestWindowRate(limits: readonly { requests: number; perSeconds: number }[]): number | null {
  if (limits.length === 0) return null;
  const shortest = Math.min(...limits.map(({ perSeconds }) => perSeconds));
  const rates = limits.filter(({ perSeconds }) => perSeconds === shortest).map(({ requests }) => requests / shortest);
  return Math.min(...rates);
}
