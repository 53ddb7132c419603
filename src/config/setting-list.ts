import { closestMatch } from 'leven';
import { describeSchema, discriminatorOf, isGroup, membersOf, type SettingNode } from './setting-node.js';
import { settingsSchema } from './settings.js';

/** One setting, as the environment and the reference page see it. */
export interface SettingEntry {
  /** Its place, such as `['erp', 'timeZone']`. */
  segments: string[];
  path: string;
  node: SettingNode;
  required: boolean;
  environmentName: string;
  /** The variants that have it, when only some do: `erp.host` exists where erp.type is mysql. */
  only?: { path: string; names: string[] };
}

/** A group of settings, such as `erp`, with what it is for. */
export interface SettingGroup {
  path: string;
  meaning: string;
  /** False for a group that may be left out: what it requires is required only where it is given. */
  always: boolean;
  settings: SettingEntry[];
}

/** Every setting of the configuration, from the schema. */
export const settingsNode = describeSchema(settingsSchema);

const upperSnake = (name: string) => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();

/** `['erp', 'passwordFile']` → `WAYBILL_ERP_PASSWORD_FILE`. */
function environmentName(segments: readonly string[]): string {
  return `WAYBILL_${segments.map(upperSnake).join('_')}`;
}

function collect(node: SettingNode, segments: string[], always: boolean, only?: SettingEntry['only']): SettingGroup[] {
  const path = segments.join('.');
  const group: SettingGroup = { path, meaning: node.description ?? '', always, settings: [] };
  const within: SettingGroup[] = [];
  for (const { name, node: member, required, variants } of membersOf(node)) {
    const place = [...segments, name];
    const condition = variants.length > 0 ? { path: `${path}.${discriminatorOf(node)}`, names: variants } : only;
    if (isGroup(member)) {
      within.push(...collect(member, place, required || member.default !== undefined, condition));
      continue;
    }
    group.settings.push({
      segments: place,
      path: place.join('.'),
      node: member,
      required,
      environmentName: environmentName(place),
      ...(condition === undefined ? {} : { only: condition }),
    });
  }
  return [group, ...within];
}

/** Every group of settings in the order of the schema; the first holds the settings that stand alone. */
export const settingGroups: readonly SettingGroup[] = collect(settingsNode, [], true);

/** Every setting that has a name of its own. Parts of lists and field mappings have none. */
export const settingList: readonly SettingEntry[] = settingGroups.flatMap((group) => group.settings);

const plain = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '');

/** The known name that was most likely meant, or undefined when none is close. Case, `-` and `_` don't count. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  // Two letters that changed places count as two edits, which a short name has to be allowed as well.
  const maxDistance = name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 4));
  const nearest = closestMatch(plain(name), known.map(plain), { maxDistance });
  return known.find((candidate) => plain(candidate) === nearest);
}
