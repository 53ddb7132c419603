import type { z } from 'zod';
import { Secret } from '../model/secret.js';
import type { ConfigurationProblem } from './configuration-error.js';
import { nearestName } from './nearest-name.js';
import {
  allowedInWords,
  type Kind,
  kindOf,
  type SettingMeta,
  settingsOf,
  type Unwrapped,
  unwrap,
} from './schema-tree.js';
import { environmentName, settingList } from './setting-list.js';
import { pathInWords } from './tree-path.js';

type Segments = readonly (string | number)[];
type Group = Record<string, unknown>;

/** Tells where a setting was found: a file and its line, or an environment variable. */
export type Locate = (segments: Segments) => string | undefined;

const isGroup = (value: unknown): value is Group =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);

const longest = 80;

/** A value as a person may see it: short, and without what looks like a credential. */
function inWords(value: unknown, segments: Segments, meta: SettingMeta): string {
  const name = String(segments.at(-1) ?? '');
  if (meta.secret || value instanceof Secret || /(password|token|secret|credential)$/i.test(name)) return '[secret]';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (isGroup(value)) return 'a group of settings';
  if (value === '') return 'empty text';
  const text = (typeof value === 'string' ? JSON.stringify(value) : String(value)).replace(
    /\/\/[^/@\s]*@/g,
    '//[secret]@',
  );
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/**
 * Checks settings part by part instead of as a whole, because a schema as a whole stops at the first broken group:
 * one wrong `type` would hide every other mistake. What is right is returned even where something else is wrong.
 */
class SchemaCheck {
  readonly problems: { segments: Segments; problem: ConfigurationProblem }[] = [];
  readonly #locate: Locate;

  constructor(locate: Locate) {
    this.#locate = locate;
  }

  report(segments: Segments, problem: Omit<ConfigurationProblem, 'path'>): void {
    const where = problem.found === undefined ? undefined : this.#locate(segments);
    const full = { path: pathInWords(segments), ...problem, ...(where === undefined ? {} : { where }) };
    this.problems.push({ segments, problem: full });
  }

  check(outer: z.ZodType, given: unknown, segments: Segments): unknown {
    const setting = unwrap(outer);
    const kind = kindOf(setting.schema);
    let value = given ?? setting.preset;
    if (value === undefined) {
      if (!setting.required) return undefined;
      // A missing group is checked as an empty one, so that everything it requires is listed.
      if (kind.is !== 'object' && kind.is !== 'variants') return this.#missing(outer, segments);
      value = {};
    }
    switch (kind.is) {
      case 'object':
        return this.#group(kind, kind.shape, value, segments, setting);
      case 'variants':
        return this.#variants(kind, value, segments, setting);
      case 'union': {
        const parts = kind.options.find((option) => kindOf(option).is === 'object');
        return parts !== undefined && isGroup(value)
          ? this.check(parts, value, segments)
          : this.#value(outer, value, segments, setting);
      }
      case 'map':
        return this.#map(outer, kind.value, value, segments, setting);
      case 'list':
        return this.#list(outer, kind.element, value, segments, setting);
      default:
        return this.#value(outer, value, segments, setting);
    }
  }

  #missing(schema: z.ZodType, segments: Segments, allowed = allowedInWords(schema)): undefined {
    const names = segments.filter((segment) => typeof segment === 'string');
    const variable = environmentName(names);
    const known = names.length === segments.length && settingList().some((entry) => entry.environmentName === variable);
    const hint = known ? { hint: `set it in local.yaml, or in ${variable}` } : {};
    this.report(segments, { message: 'required, but not set', allowed, ...hint });
  }

  #refuse(value: unknown, segments: Segments, setting: Unwrapped, allowed: string): undefined {
    this.report(segments, { message: `is not ${allowed}`, found: inWords(value, segments, setting.meta) });
  }

  #value(outer: z.ZodType, value: unknown, segments: Segments, setting: Unwrapped): unknown {
    const result = setting.schema.safeParse(value);
    if (result.success) return result.data;
    const own = result.error.issues.filter((issue) => issue.code === 'custom' && issue.message !== 'Invalid input');
    const allowed = allowedInWords(outer);
    if (own.length === 0) return this.#refuse(value, segments, setting, allowed);
    const message = own.map((issue) => issue.message).join('; ');
    this.report(segments, { message, found: inWords(value, segments, setting.meta), allowed });
    return undefined;
  }

  #group(
    kind: Kind,
    shape: Record<string, z.ZodType>,
    value: unknown,
    segments: Segments,
    setting: Unwrapped,
  ): Group | undefined {
    if (!isGroup(value)) return this.#refuse(value, segments, setting, 'a group of settings');
    const result: Group = {};
    for (const [name, schema] of Object.entries(shape)) {
      const part = this.check(schema, Object.hasOwn(value, name) ? value[name] : undefined, [...segments, name]);
      if (part !== undefined) result[name] = part;
    }
    this.#unknown(kind, shape, value, segments);
    return result;
  }

  #unknown(kind: Kind, shape: Record<string, z.ZodType>, value: Group, segments: Segments): void {
    for (const name of Object.keys(value)) {
      if (Object.hasOwn(shape, name)) continue;
      const where = this.#locate([...segments, name]);
      const path = pathInWords([...segments, name]);
      const problem = { path, message: 'no setting has this name', ...(where === undefined ? {} : { where }) };
      const hint = this.#meant(kind, shape, name, segments);
      this.problems.push({ segments: [...segments, name], problem: { ...problem, hint } });
    }
  }

  #meant(kind: Kind, shape: Record<string, z.ZodType>, name: string, segments: Segments): string {
    const other = settingsOf(kind).find((setting) => setting.name === name && setting.variants.length > 0);
    if (other !== undefined && kind.is === 'variants') {
      return `only where ${pathInWords([...segments, kind.by])} is ${other.variants.join(' or ')}`;
    }
    const nearest = nearestName(name, Object.keys(shape));
    if (nearest !== undefined) return `did you mean ${pathInWords([...segments, nearest])}?`;
    const elsewhere = settingList().filter((entry) => entry.segments.at(-1) === name);
    if (elsewhere.length === 1) return `did you mean ${elsewhere[0]?.path}?`;
    return `known here: ${Object.keys(shape).join(', ')}`;
  }

  #variants(kind: Kind & { is: 'variants' }, given: unknown, segments: Segments, setting: Unwrapped): unknown {
    if (!isGroup(given)) return this.#refuse(given, segments, setting, 'a group of settings');
    const preset = isGroup(setting.preset) ? setting.preset[kind.by] : undefined;
    const chosen = given[kind.by] ?? preset;
    const value = { ...given, [kind.by]: chosen };
    const variant = kind.variants.find((candidate) => candidate.name === chosen);
    if (variant !== undefined) return this.#group(kind, variant.shape, value, segments, setting);
    // Which variant is meant is not known, so only what all of them share can be checked.
    const names = kind.variants.map((candidate) => candidate.name).join(' or ');
    const place = [...segments, kind.by];
    const first = kind.variants[0]?.shape ?? {};
    if (chosen === undefined) this.#missing(first[kind.by] as z.ZodType, place, names);
    else this.#refuse(chosen, place, setting, names);
    const all = Object.fromEntries(settingsOf(kind).map((entry) => [entry.name, entry.schema]));
    this.#unknown(kind, all, given, segments);
    const result: Group = {};
    for (const { name, schema, variants } of settingsOf(kind)) {
      if (name === kind.by || variants.length > 0) continue;
      const part = this.check(schema, given[name], [...segments, name]);
      if (part !== undefined) result[name] = part;
    }
    return result;
  }

  #map(outer: z.ZodType, element: z.ZodType, value: unknown, segments: Segments, setting: Unwrapped): unknown {
    if (!isGroup(value)) return this.#refuse(value, segments, setting, allowedInWords(outer));
    const entries = Object.entries(value)
      // Nothing behind the colon takes a name out again that an earlier file put in.
      .filter(([, part]) => part !== null && part !== undefined)
      .map(([name, part]) => [name, this.check(element, part, [...segments, name])]);
    return Object.fromEntries(entries);
  }

  #list(outer: z.ZodType, element: z.ZodType, value: unknown, segments: Segments, setting: Unwrapped): unknown {
    if (!Array.isArray(value)) return this.#refuse(value, segments, setting, allowedInWords(outer));
    const before = this.problems.length;
    const parts = value.map((part, index) => this.check(element, part, [...segments, index]));
    return this.problems.length > before ? parts : this.#value(outer, value, segments, setting);
  }
}

/** Checks `given` and returns what is right of it, with every problem and the place it has. */
export function checkAgainstSchema(schema: z.ZodType, given: unknown, locate: Locate) {
  const check = new SchemaCheck(locate);
  const value = check.check(schema, given, []);
  return { value, problems: check.problems };
}
