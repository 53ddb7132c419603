/** error: it does not work. warning: it works, and will hurt. note: worth knowing. ok: looked at, and well. */
export type Severity = 'error' | 'warning' | 'note' | 'ok';

/** Where a finding belongs. */
export type Part = 'configuration' | 'erp' | 'mapping' | 'store' | 'service' | 'machine';

export interface Finding {
  part: Part;
  severity: Severity;
  what: string;
  /** Settings, statements or commands, one a line. */
  todo: string[];
}

/** Begins the findings of a part. */
export function findingsOf(part: Part) {
  return (severity: Severity, what: string, ...todo: string[]): Finding => ({ part, severity, what, todo });
}

const longestList = 10;

/** A list for people, cut where it is long. */
export function listed(names: readonly string[]): string {
  const more = names.length - longestList;
  return `${names.slice(0, longestList).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
