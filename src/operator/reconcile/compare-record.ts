import type { JsonValue } from '../../model/record.js';

type Fields = { readonly [name: string]: JsonValue };

/** A value that the two sides do not share. `field` is its place, such as `note` or `items.2.price`. */
export interface FieldDifference {
  field: string;
  erp: JsonValue;
  service: JsonValue;
}

export interface Comparison {
  differing: FieldDifference[];
  /** Names that the service has shown of no record so far: what it holds there is not known. */
  unshown: string[];
}

/**
 * Compares every mapped field of a record with what the service shows. Pure. What the service has besides our fields is its
 * own. A field that it shows of other records and not of this one is empty here; one that it never shows proves nothing.
 * @param optional names of fields that a record may lack: the service must then hold nothing there
 * @param shownBefore names that the service has shown of any record, as `shownNames` gives them
 */
export function compareRecord(
  wanted: Fields,
  shown: Fields,
  optional: readonly string[],
  shownBefore: ReadonlySet<string>,
): Comparison {
  const differing: FieldDifference[] = [];
  const unshown = new Set<string>();
  const lacking = Object.fromEntries(optional.filter((name) => !own(wanted, name)).map((name) => [name, null]));
  const shownHere = new Set(shownNames(shown));
  const isShown = (name: string) => shownBefore.has(name) || shownHere.has(name);
  compareFields({ ...lacking, ...wanted }, shown, '', '');
  return { differing, unshown: [...unshown] };

  function compareFields(ours: Fields, theirs: Fields, place: string, pattern: string): void {
    for (const [name, value] of Object.entries(ours)) {
      if (own(theirs, name)) compareValues(value, theirs[name] as JsonValue, `${place}${name}`, `${pattern}${name}`);
      else if (isNothing(value)) continue;
      else if (isShown(`${pattern}${name}`)) differing.push({ field: `${place}${name}`, erp: value, service: null });
      else unshown.add(`${pattern}${name}`);
    }
  }

  function compareValues(ours: JsonValue, theirs: JsonValue, place: string, pattern: string): void {
    if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length)
      for (const [at, one] of ours.entries())
        compareValues(one, theirs[at] as JsonValue, `${place}.${at + 1}`, `${pattern}[]`);
    else if (isFields(ours) && isFields(theirs)) compareFields(ours, theirs, `${place}.`, `${pattern}.`);
    else if (ours !== theirs && !(isNothing(ours) && isNothing(theirs)))
      differing.push({ field: place, erp: ours, service: theirs });
  }
}

/** The names of all fields of a record, those of its lines among them: `note`, `items[].price`. Pure. */
export function shownNames(shown: Fields): string[] {
  const names = new Set<string>();
  const collect = (value: JsonValue, pattern: string): void => {
    if (Array.isArray(value)) for (const one of value) collect(one, `${pattern}[]`);
    else if (isFields(value))
      for (const [name, inner] of Object.entries(value)) {
        const full = pattern === '' ? name : `${pattern}.${name}`;
        names.add(full);
        collect(inner, full);
      }
  };
  collect(shown, '');
  return [...names];
}

/** A service may keep an empty text where we say nothing. */
function isNothing(value: JsonValue): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function isFields(value: JsonValue): value is { [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(fields: Fields, name: string): boolean {
  return Object.hasOwn(fields, name);
}
