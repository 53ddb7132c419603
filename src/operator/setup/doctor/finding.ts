import type { Fact } from '../../../model/facts/fact.js';

/** error: it does not work. warning: it works, and will hurt. note: worth knowing. ok: looked at, and well. */
export type Severity = 'error' | 'warning' | 'note' | 'ok';

/** The section of a finding. */
export type Part = 'configuration' | 'erp' | 'mapping' | 'store' | 'service' | 'machine';

export interface Finding {
  part: Part;
  severity: Severity;
  /** Empty: `because` says it all. */
  what: string;
  /** The reason that somebody else gave, or the finding itself. */
  because?: Fact;
  /** Settings, statements or commands, one a line. */
  todo: string[];
}

/** Begins the findings of a part. */
export function findingsOf(part: Part) {
  return (severity: Severity, what: string, ...todo: string[]): Finding => ({ part, severity, what, todo });
}

/** A finding that is a fact; its remedy is what to do. */
export function findingOf(part: Part, severity: Severity, because: Fact): Finding {
  return { part, severity, what: '', because, todo: [] };
}

const longestList = 10;

/** A list for people, cut where it is long. */
export function listed(names: readonly string[]): string {
  const more = names.length - longestList;
  return `${names.slice(0, longestList).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

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
