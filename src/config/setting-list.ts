import type { z } from 'zod';
import { allowedInWords, kindOf, type SettingMeta, settingsOf, unwrap } from './schema-tree.js';
import { settingsSchema } from './settings.js';

/** One setting, as the environment and the reference page see it. */
export interface SettingEntry {
  /** Its place, such as `['erp', 'timeZone']`. */
  segments: string[];
  path: string;
  schema: z.ZodType;
  meta: SettingMeta;
  allowed: string;
  required: boolean;
  /** The default, or undefined. */
  preset: unknown;
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

const upperSnake = (name: string) => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();

/** `['erp', 'passwordFile']` → `WAYBILL_ERP_PASSWORD_FILE`. */
export function environmentName(segments: readonly string[]): string {
  return `WAYBILL_${segments.map(upperSnake).join('_')}`;
}

function collect(schema: z.ZodType, segments: string[], only: SettingEntry['only'], found: SettingGroup[]): void {
  const path = segments.join('.');
  const { meta: groupMeta, required: groupRequired, preset: groupPreset } = unwrap(schema);
  const always = groupRequired || groupPreset !== undefined;
  const group: SettingGroup = { path, meaning: groupMeta.description ?? '', always, settings: [] };
  found.push(group);
  const kind = kindOf(unwrap(schema).schema);
  for (const { name, schema: setting, variants } of settingsOf(kind)) {
    const { schema: inner, meta, required, preset } = unwrap(setting);
    const place = [...segments, name];
    const innerKind = kindOf(inner);
    const condition =
      variants.length > 0 && kind.is === 'variants' ? { path: `${path}.${kind.by}`, names: variants } : only;
    if (innerKind.is === 'object' || innerKind.is === 'variants') {
      collect(setting, place, condition, found);
      continue;
    }
    const isDiscriminator = kind.is === 'variants' && name === kind.by;
    const chosen = (unwrap(schema).preset as Record<string, unknown> | undefined)?.[name];
    group.settings.push({
      segments: place,
      path: place.join('.'),
      schema: setting,
      meta,
      allowed: isDiscriminator ? kind.variants.map((variant) => variant.name).join(' or ') : allowedInWords(setting),
      required: required && !(isDiscriminator && chosen !== undefined),
      preset: isDiscriminator ? chosen : preset,
      environmentName: environmentName(place),
      ...(condition === undefined ? {} : { only: condition }),
    });
  }
}

const groups: SettingGroup[] = [];
collect(settingsSchema, [], undefined, groups);
const settings = groups.flatMap((group) => group.settings);

/** Every group of settings in the order of the schema; the first holds the settings that stand alone. */
export function settingGroups(): readonly SettingGroup[] {
  return groups;
}

/** Every setting that has a name of its own. Parts of lists and field mappings have none. */
export function settingList(): readonly SettingEntry[] {
  return settings;
}
