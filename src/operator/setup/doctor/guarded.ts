import { type Finding, findingsOf, type Part, type Severity } from './finding.js';

/**
 * The findings of one part; where it can't be asked, that is the finding, and the other parts go on.
 * @param severity what it means that this can't be asked
 */
export async function guarded(
  part: Part,
  work: () => Promise<Finding[]> | Finding[],
  severity: Severity = 'error',
): Promise<Finding[]> {
  try {
    return await work();
  } catch (error) {
    const { message, lines } = error as Error & { lines?: readonly string[] };
    const [first = 'It failed without a word.', ...more] = lines ?? [message];
    return [findingsOf(part)(severity, first, ...more.map((line) => line.trim()))];
  }
}
