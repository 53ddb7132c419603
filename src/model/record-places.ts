import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from './record.js';

type Fields = { readonly [name: string]: JsonValue };

/** One place of two records; undefined: that side lacks it. */
export interface Place {
  /** Such as `note` or `items.2.price`. */
  field: string;
  /** The same for all lines: `items[].price`. */
  pattern: string;
  ours: JsonValue | undefined;
  theirs: JsonValue | undefined;
}

/**
 * Compares two records place by place, ours in its order and then what only theirs has. Pure.
 * @param depth `top`: whole fields. `alike`: into parts that both sides have, and into lists of one length. `leaves`: into all
 */
export function compareRecords(ours: Fields, theirs: Fields, depth: 'top' | 'alike' | 'leaves'): Place[] {
  const places: Place[] = [];
  compareParts(ours, theirs, (name) => [name, name]);
  return places;

  function compareParts(
    ours: JsonValue | undefined,
    theirs: JsonValue | undefined,
    at: (name: string) => [field: string, pattern: string],
  ): void {
    const [here, there] = [partsOf(ours), partsOf(theirs)];
    for (const name of new Set([...here.keys(), ...there.keys()]))
      comparePlace(here.get(name), there.get(name), ...at(name));
  }

  function comparePlace(
    ours: JsonValue | undefined,
    theirs: JsonValue | undefined,
    field: string,
    pattern: string,
  ): void {
    const [here, there] = [isComposite(ours), isComposite(theirs)];
    const isInto =
      depth === 'leaves' ? here || there : depth === 'alike' && here && there && haveLikeParts(ours, theirs);
    if (!isInto || here !== there)
      places.push({
        field,
        pattern,
        ours: isInto && here ? undefined : ours,
        theirs: isInto && there ? undefined : theirs,
      });
    if (!isInto) return;
    const isList = Array.isArray(here ? ours : theirs);
    compareParts(ours, theirs, (name) => [`${field}.${name}`, isList ? `${pattern}[]` : `${pattern}.${name}`]);
  }
}

/** Both have the same value there. */
export function isSame({ ours, theirs }: Place): boolean {
  return isDeepStrictEqual(ours, theirs);
}

/** Own names only: a field called `constructor` or `__proto__` is a field like any other. Lines count from 1. */
function partsOf(value: JsonValue | undefined): Map<string, JsonValue> {
  if (!isComposite(value)) return new Map();
  return new Map(Array.isArray(value) ? value.map((one, at) => [`${at + 1}`, one]) : Object.entries(value as Fields));
}

function isComposite(value: JsonValue | undefined): boolean {
  return typeof value === 'object' && value !== null;
}

function haveLikeParts(ours: JsonValue | undefined, theirs: JsonValue | undefined): boolean {
  if (Array.isArray(ours) && Array.isArray(theirs)) return ours.length === theirs.length;
  return !Array.isArray(ours) && !Array.isArray(theirs);
}
