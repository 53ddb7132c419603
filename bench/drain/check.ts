import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DrainResult, drain } from './drain.js';

/** The runs of `--check`, each with the recorded ratio that it has to reach. */
const shortForm = { orders: 6_000, rounds: 3, concurrency: 16, contenders: ['axios', 'waybill-sqlite'] };
const leastShare = 0.8;

/**
 * A short drain beside the stock axios loop. Its times depend on the machine and on what else runs there; how the CPU times of
 * the two compare, hardly. @returns what has become slower, a line for each; none: nothing has
 */
export async function checkRatios(): Promise<{ results: DrainResult[]; slower: string[] }> {
  const file = join(import.meta.dirname, '../../../bench/recorded-ratios.json');
  const results = await drain(shortForm);
  return { results, slower: slowerThan(JSON.parse(readFileSync(file, 'utf8')), results) };
}

/**
 * Pure. @param recorded by contender: how many orders it delivers with the CPU time that the stock axios loop needs for one
 */
export function slowerThan(recorded: Readonly<Record<string, number>>, results: readonly DrainResult[]): string[] {
  return Object.entries(recorded).flatMap(([name, before]) => {
    const ratio = 1 / (results.find(({ contender }) => contender === name)?.cpuRatio ?? Number.POSITIVE_INFINITY);
    if (ratio >= before * leastShare) return [];
    return `${name}: ${ratio.toFixed(2)} orders with the CPU time that the stock axios loop needs for one; recorded are ${before}.`;
  });
}
