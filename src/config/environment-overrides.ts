import type { ConfigurationProblem } from './configuration-error.js';
import { nearestName } from './nearest-name.js';
import { kindOf, unwrap } from './schema-tree.js';
import { type SettingEntry, settingList } from './setting-list.js';

/** Names that begin like a setting and are none. */
export const otherEnvironmentNames: Record<string, string> = {
  WAYBILL_CONFIG: 'The configuration folder, where --config is not given.',
};

/** One setting that the environment gives. */
export interface EnvironmentOverride {
  entry: SettingEntry;
  value: unknown;
}

const holdsNumber = (entry: SettingEntry) => unwrap(entry.schema).schema.def.type === 'number';
const holdsBoolean = (entry: SettingEntry) => unwrap(entry.schema).schema.def.type === 'boolean';

/** Lists and groups are written as JSON; a plain text stays what it is where one is allowed. */
function isJson(entry: SettingEntry, text: string): boolean {
  const kind = kindOf(unwrap(entry.schema).schema).is;
  return kind === 'map' || kind === 'list' || (kind === 'union' && /^\s*[[{]/.test(text));
}

/** The value that the text stands for. What can not be converted stays text, so that the schema refuses it by name. */
function convert(entry: SettingEntry, text: string): unknown {
  if (entry.meta.secret) return text.replace(/\r?\n$/, '');
  if (isJson(entry, text)) return JSON.parse(text);
  if (holdsNumber(entry) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (holdsBoolean(entry) && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

/** Reads every WAYBILL_… variable. An unknown one is an error, because a setting with a slip in its name does nothing. */
export function environmentOverrides(env: NodeJS.ProcessEnv): {
  overrides: EnvironmentOverride[];
  problems: ConfigurationProblem[];
} {
  const entries = new Map(settingList().map((entry) => [entry.environmentName, entry]));
  const overrides: EnvironmentOverride[] = [];
  const problems: ConfigurationProblem[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith('WAYBILL_') || name in otherEnvironmentNames || text === undefined) continue;
    const entry = entries.get(name);
    if (entry === undefined) {
      const nearest = nearestName(name, [...entries.keys(), ...Object.keys(otherEnvironmentNames)]);
      const hint =
        nearest === undefined ? 'docs/settings.md lists every name; unset this one' : `did you mean ${nearest}?`;
      problems.push({ path: name, message: 'no setting has this name', hint });
    } else if (text.trim() === '') {
      const hint = 'give it a value, or unset it';
      problems.push({ path: entry.path, message: 'empty', where: name, hint });
    } else {
      try {
        overrides.push({ entry, value: convert(entry, text) });
      } catch {
        const allowed = `JSON: ${entry.allowed}`;
        problems.push({ path: entry.path, message: 'is not valid JSON', where: name, allowed });
      }
    }
  }
  return { overrides, problems };
}
