import type { ConfigurationProblem } from './configuration-error.js';
import { allowedInWords, isMap, nearestName, type SettingEntry, settingList } from './setting-list.js';

/** Names that begin like a setting but are not one. */
export const otherEnvironmentNames: Record<string, string> = {
  WAYBILL_BOOT_ID:
    "Which start of the machine this is (systemd's %b), where /proc does not tell. By it a successor sees that a daemon was killed.",
  WAYBILL_CONFIG: 'The configuration folder, where --config is not given.',
};

/** One setting that the environment gives. */
interface EnvironmentOverride {
  entry: SettingEntry;
  value: unknown;
}

/** The value that the text stands for. A value that can not be converted stays text, so that the schema refuses it by name. */
function convert({ node }: SettingEntry, text: string): unknown {
  if (node.secret) return text.replace(/\r?\n$/, '');
  // Lists and groups are written as JSON. If a plain text is allowed as well, it stays one.
  const isJson = isMap(node) || node.items !== undefined || (node.anyOf !== undefined && /^\s*[[{]/.test(text));
  if (isJson) return JSON.parse(text);
  if ((node.type === 'number' || node.type === 'integer') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (node.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

/** Reads every WAYBILL_… variable. An unknown one is an error, because a misspelt setting would silently do nothing. */
export function environmentOverrides(env: NodeJS.ProcessEnv): {
  overrides: EnvironmentOverride[];
  problems: ConfigurationProblem[];
} {
  const entries = new Map(settingList.map((entry) => [entry.environmentName, entry]));
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
        const allowed = `JSON: ${allowedInWords(entry.node)}`;
        problems.push({ path: entry.path, message: 'is not valid JSON', where: name, allowed });
      }
    }
  }
  return { overrides, problems };
}
