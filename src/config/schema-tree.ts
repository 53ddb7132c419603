import { z } from 'zod';

/** What a setting says about itself; see value-types.ts. */
export interface SettingMeta {
  description?: string;
  allowed?: string;
  unit?: string;
  shape?: string;
  secret?: boolean;
}

export interface Unwrapped {
  /** The schema without optional, default and prefault around it. */
  schema: z.ZodType;
  meta: SettingMeta;
  required: boolean;
  /** The default, or undefined. */
  preset: unknown;
}

export type Kind =
  | { is: 'object'; shape: Record<string, z.ZodType> }
  | { is: 'variants'; by: string; variants: Variant[] }
  | { is: 'union'; options: z.ZodType[] }
  | { is: 'map'; value: z.ZodType }
  | { is: 'list'; element: z.ZodType }
  | { is: 'value' };

/** One member of a discriminated union: its name in the discriminator, and its settings. */
export interface Variant {
  name: string;
  shape: Record<string, z.ZodType>;
}

export function unwrap(outer: z.ZodType): Unwrapped {
  let schema = outer;
  let meta: SettingMeta = {};
  let required = true;
  let preset: unknown;
  for (;;) {
    meta = { ...schema.meta(), ...meta };
    if (schema instanceof z.ZodOptional) {
      required = false;
    } else if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
      required = false;
      preset ??= schema.def.defaultValue;
    } else {
      return { schema, meta, required, preset };
    }
    schema = schema.unwrap() as z.ZodType;
  }
}

/** The names that a literal or an enumeration allows. */
export function allowedNames(schema: z.ZodType): string[] {
  const inner = unwrap(schema).schema;
  if (inner instanceof z.ZodLiteral) return [...inner.values].map(String);
  return inner instanceof z.ZodEnum ? inner.options.map(String) : [];
}

/** What an unwrapped schema is made of. Text, numbers and the like are values, and so is whatever has no parts. */
export function kindOf(schema: z.ZodType): Kind {
  if (schema instanceof z.ZodPipe) return kindOf(schema.in as z.ZodType);
  if (schema instanceof z.ZodObject) return { is: 'object', shape: schema.shape as Record<string, z.ZodType> };
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const by = schema.def.discriminator;
    const variants = schema.options.map((option) => {
      const shape = (option as unknown as z.ZodObject).shape as Record<string, z.ZodType>;
      return { name: shape[by] === undefined ? '' : (allowedNames(shape[by])[0] ?? ''), shape };
    });
    return { is: 'variants', by, variants };
  }
  if (schema instanceof z.ZodUnion) return { is: 'union', options: schema.options as z.ZodType[] };
  if (schema instanceof z.ZodRecord) return { is: 'map', value: schema.valueType as z.ZodType };
  if (schema instanceof z.ZodArray) return { is: 'list', element: schema.element as z.ZodType };
  return { is: 'value' };
}

/** What the settings of a group are, whatever variant is chosen: each with the variants that have it. */
export function settingsOf(kind: Kind): { name: string; schema: z.ZodType; variants: string[] }[] {
  if (kind.is === 'object') {
    return Object.entries(kind.shape).map(([name, schema]) => ({ name, schema, variants: [] }));
  }
  if (kind.is !== 'variants') return [];
  const settings = new Map<string, { name: string; schema: z.ZodType; variants: string[] }>();
  for (const variant of kind.variants) {
    for (const [name, schema] of Object.entries(variant.shape)) {
      const known = settings.get(name);
      if (known === undefined) settings.set(name, { name, schema, variants: [variant.name] });
      else known.variants.push(variant.name);
    }
  }
  const everywhere = kind.variants.length;
  return [...settings.values()].map((setting) =>
    setting.variants.length === everywhere ? { ...setting, variants: [] } : setting,
  );
}

function numberInWords(schema: z.ZodType): string {
  const facts = z.toJSONSchema(schema, { io: 'input' });
  const bounds: string[] = [];
  const low = facts.minimum;
  const high = facts.maximum;
  const knownLow = low !== undefined && low > Number.MIN_SAFE_INTEGER;
  const knownHigh = high !== undefined && high < Number.MAX_SAFE_INTEGER;
  if (knownLow && knownHigh) bounds.push(`from ${low} to ${high}`);
  else {
    if (typeof facts.exclusiveMinimum === 'number') bounds.push(`above ${facts.exclusiveMinimum}`);
    if (knownLow) bounds.push(`from ${low}`);
    if (knownHigh) bounds.push(knownLow ? `to ${high}` : `up to ${high}`);
  }
  return [facts.type === 'integer' ? 'a whole number' : 'a number', ...bounds].join(' ');
}

const orList = (names: string[]) =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;

/** What a setting allows, in words that follow "is not". */
export function allowedInWords(outer: z.ZodType): string {
  const { schema, meta } = unwrap(outer);
  if (meta.allowed !== undefined) return meta.allowed;
  const names = allowedNames(schema);
  if (names.length > 0) return orList(names);
  const kind = kindOf(schema);
  if (kind.is === 'list') return `a list with, for each entry, ${allowedInWords(kind.element)}`;
  if (kind.is === 'map') return `a group with, for each name, ${allowedInWords(kind.value)}`;
  if (kind.is === 'object' || kind.is === 'variants') return 'a group of settings';
  if (kind.is === 'union') return orList(kind.options.map(allowedInWords));
  if (schema.def.type === 'number') return numberInWords(schema);
  if (schema.def.type === 'boolean') return 'true or false';
  return 'text (not empty)';
}
