/** One thing that is wrong with the configuration. No part of it ever holds a secret. */
export interface ConfigurationProblem {
  /** The setting, such as `erp.timeZone`, or the file or environment variable when no setting can be named. */
  path: string;
  /** The fault, as the rest of a sentence that begins with the path. */
  message: string;
  /** The value that was found, shortened; absent if there was none. */
  found?: string;
  /** The place where it was found: `config/local.yaml:12`, or the name of the environment variable. */
  where?: string;
  /** The allowed values, unless the message says so already. */
  allowed?: string;
  /** The remedy. */
  hint?: string;
}

function paragraph(problem: ConfigurationProblem): string[] {
  const lines = [`  ${problem.path}: ${problem.message}`];
  if (problem.found !== undefined) {
    lines.push(`      found: ${problem.found}${problem.where === undefined ? '' : ` (${problem.where})`}`);
  } else if (problem.where !== undefined) {
    lines.push(`      where: ${problem.where}`);
  }
  if (problem.allowed !== undefined) lines.push(`      allowed: ${problem.allowed}`);
  if (problem.hint !== undefined) lines.push(`      try: ${problem.hint}`);
  return lines;
}

/** Everything that is wrong with the configuration, at once. The command line prints the message and exits 2. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly problems: readonly ConfigurationProblem[];
  /** The lines of the message. A line break within one of them came with what was found. */
  readonly lines: readonly string[];

  constructor(place: string, problems: readonly ConfigurationProblem[]) {
    const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
    const lines = [`The configuration in ${place} has ${count}:`, '', ...problems.flatMap(paragraph), ''];
    super(lines.join('\n'));
    this.problems = problems;
    this.lines = lines;
  }
}

/** Settings of which any part may be missing, because it was refused on its own. */
export type Partly<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: Partly<T[K]> | undefined }
    : T;

/** Takes the path of the setting (`orders.lines.fields.sku`, `service.limits.0`) and what is wrong with it. */
export type Report = (
  path: string,
  message: string,
  more?: Pick<ConfigurationProblem, 'found' | 'allowed' | 'hint'>,
) => void;

/** Reports a setting that is required only because of another one. */
export function requireSetting(value: unknown, path: string, allowed: string, report: Report): void {
  if (value === undefined) report(path, 'required, but not set', { allowed });
}
