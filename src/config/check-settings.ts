import { checkAgainstSchema, type Locate } from './check-against-schema.js';
import type { ConfigurationProblem } from './configuration-error.js';
import { crossChecks, type Partly } from './cross-checks.js';
import { type Settings, settingsSchema } from './settings.js';
import { pathInWords } from './tree-path.js';

type Segments = readonly (string | number)[];

const startsWith = (segments: Segments, start: Segments) => start.every((part, index) => segments[index] === part);

/** `settings` are complete when there are no problems. */
export interface CheckedSettings {
  settings: Settings | undefined;
  problems: ConfigurationProblem[];
}

/**
 * Checks settings against the schema and against each other, and lists every problem at once.
 * `known` are paths that have a problem already, so that it isn't told twice.
 */
export function checkSettings(given: unknown, locate: Locate, known: readonly string[] = []): CheckedSettings {
  const { value, problems } = checkAgainstSchema(settingsSchema, given, locate);
  const partly = (value ?? {}) as Partly<Settings>;
  const all = problems.map(({ problem }) => problem);
  for (const { segments, ...more } of crossChecks(partly)) {
    const path = pathInWords(segments);
    // A part that was refused looks like one that is missing; only the first is worth saying.
    if (known.includes(path) || problems.some((other) => startsWith(segments, other.segments))) continue;
    const where = more.found === undefined ? undefined : locate(segments);
    all.push({ path, ...more, ...(where === undefined ? {} : { where }) });
  }
  if (all.length > 0) return { settings: undefined, problems: all };
  return { settings: settingsSchema.parse(value), problems: [] };
}
