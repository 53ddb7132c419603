import { closestMatch } from 'leven';
import { z } from 'zod';
import { settingsSchema } from './settings.js';

/** A setting or a group of them as JSON Schema describes it, with what `.meta()` adds; see sections/value-types.ts. */
export interface SettingNode {
  description?: string;
  allowed?: string;
  hint?: string;
  unit?: string;
  shape?: string;
  secret?: boolean;
  default?: unknown;
  type?: string;
  const?: string;
  enum?: string[];
  minLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  required?: string[];
  properties?: Record<string, SettingNode>;
  additionalProperties?: SettingNode | false;
  items?: SettingNode;
  /** The forms that a value may take. */
  anyOf?: SettingNode[];
  /** The variants of a group: erp has other settings for MySQL than for SQLite. */
  oneOf?: SettingNode[];
}

/** A setting of a group. */
interface Member {
  name: string;
  node: SettingNode;
  required: boolean;
  /** The variants that have it; empty when all do. */
  variants: string[];
}

/** The schema as plain data, as its input looks before defaults and conversions. */
export function describeSchema(schema: z.ZodType): SettingNode {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SettingNode;
}

export const isGroup = (node: SettingNode) => node.properties !== undefined || node.oneOf !== undefined;
export const isMap = (node: SettingNode) => typeof node.additionalProperties === 'object';

/** The name of the setting that chooses the variant, such as `type`. */
export function discriminatorOf({ oneOf }: SettingNode): string | undefined {
  return Object.entries(oneOf?.[0]?.properties ?? {}).find(([, node]) => node.const !== undefined)?.[0];
}

/** Every setting that a group may have, whichever variant is chosen. */
export function membersOf(group: SettingNode): Member[] {
  if (group.oneOf === undefined) {
    const { properties = {}, required = [] } = group;
    return Object.entries(properties).map(([name, node]) => {
      return { name, node, required: required.includes(name), variants: [] };
    });
  }
  const by = discriminatorOf(group) ?? '';
  const members = new Map<string, Member>();
  for (const variant of group.oneOf) {
    const chosenBy = variant.properties?.[by]?.const ?? '';
    for (const member of membersOf(variant)) {
      const known = members.get(member.name);
      if (known === undefined) members.set(member.name, { ...member, variants: [chosenBy] });
      else known.variants.push(chosenBy);
    }
  }
  const preset = (group.default as Record<string, unknown> | undefined)?.[by];
  return [...members.values()].map((member) => {
    if (member.variants.length < (group.oneOf?.length ?? 0)) return member;
    if (member.name !== by) return { ...member, variants: [] };
    const { const: _, ...node } = member.node;
    return { ...member, node: { ...node, enum: member.variants, default: preset }, required: !preset, variants: [] };
  });
}

/** The kind of a place within a setting: a setting of a group, an entry of a list or of a map. */
export function childOf(node: SettingNode, segment: string | number): SettingNode | undefined {
  for (const form of node.anyOf ?? [node]) {
    if (typeof segment === 'number' && form.items !== undefined) return form.items;
    const member = membersOf(form).find(({ name }) => name === segment);
    if (member !== undefined) return member.node;
    if (form.additionalProperties) return form.additionalProperties;
  }
  return undefined;
}

function numberInWords({ type, minimum, exclusiveMinimum, maximum }: SettingNode): string {
  const hasMinimum = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER;
  const hasMaximum = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  const bounds: string[] = [];
  if (exclusiveMinimum !== undefined) bounds.push(`above ${exclusiveMinimum}`);
  if (hasMinimum) bounds.push(`from ${minimum}`);
  if (hasMaximum) bounds.push(hasMinimum ? `to ${maximum}` : `up to ${maximum}`);
  return [type === 'integer' ? 'a whole number' : 'a number', ...bounds].join(' ');
}

const orList = (names: string[]) =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;

/** The values that a setting allows, in words that follow "is not". */
export function allowedInWords(node: SettingNode): string {
  if (node.allowed !== undefined) return node.allowed;
  if (node.const !== undefined) return node.const;
  if (node.enum !== undefined) return orList(node.enum);
  if (node.items !== undefined) return `a list where each entry is ${allowedInWords(node.items)}`;
  if (node.additionalProperties) return `a group where each value is ${allowedInWords(node.additionalProperties)}`;
  if (isGroup(node)) return 'a group of settings';
  if (node.anyOf !== undefined) return orList(node.anyOf.map(allowedInWords));
  if (node.type === 'number' || node.type === 'integer') return numberInWords(node);
  if (node.type === 'boolean') return 'true or false';
  return node.minLength === undefined ? 'text' : 'text (not empty)';
}

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
