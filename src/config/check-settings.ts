import { checkAgainstSchema, type Locate } from './check-against-schema.js';
import type { ConfigurationProblem } from './configuration-error.js';
import { crossChecks } from './cross-checks.js';
import type { Partly } from './cross-problem.js';
import { type Settings, settingsSchema } from './settings.js';
import { pathInWords } from './tree-path.js';

type Segments = readonly (string | number)[];

const startsWith = (segments: Segments, start: Segments) => start.every((part, index) => segments[index] === part);

const groups = Object.keys(settingsSchema.shape);

/** Problems are told in the order of the settings, whichever check found them; unknown groups come last. */
const position = (segments: Segments) => {
  const place = groups.indexOf(String(segments[0]));
  return place < 0 ? groups.length : place;
};

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
  const all = [...problems];
  for (const { segments, ...more } of crossChecks(partly)) {
    const path = pathInWords(segments);
    // A part that was refused, as a whole or within, looks like one that is missing; only the first is worth saying.
    const related = (other: Segments) => startsWith(segments, other) || startsWith(other, segments);
    if (known.includes(path) || all.some((other) => related(other.segments))) continue;
    const where = more.found === undefined ? undefined : locate(segments);
    all.push({ segments, problem: { path, ...more, ...(where === undefined ? {} : { where }) } });
  }
  if (all.length > 0) {
    const inOrder = all.toSorted((a, b) => position(a.segments) - position(b.segments));
    return { settings: undefined, problems: inOrder.map(({ problem }) => problem) };
  }
  return { settings: settingsSchema.parse(value), problems: [] };
}
