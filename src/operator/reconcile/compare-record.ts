import type { JsonValue } from '../../model/record.js';
import { compareRecords, isSame } from '../../model/record-places.js';

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
 * Compares every mapped field of a record with what the service shows. Pure. Fields that the service has besides ours
 * are its own. A field that it shows of other records and not of this one is empty here; one that it never shows proves
 * nothing.
 * @param optional names of fields that a record may lack: the service must then hold nothing there
 * @param shownBefore names that the service has shown of any record, as `shownNames` gives them
 */
export function compareRecord(
  wanted: Fields,
  shown: Fields,
  optional: readonly string[],
  shownBefore: ReadonlySet<string>,
): Comparison {
  const lacking = Object.fromEntries(
    optional.filter((name) => !Object.hasOwn(wanted, name)).map((name) => [name, null]),
  );
  const shownHere = new Set(shownNames(shown));
  const isShown = (name: string) => shownBefore.has(name) || shownHere.has(name);
  const differing: FieldDifference[] = [];
  const unshown = new Set<string>();
  for (const place of compareRecords({ ...lacking, ...wanted }, shown, 'alike')) {
    const { field, pattern, ours, theirs = null } = place;
    if (ours === undefined || isSame(place) || (isNothing(ours) && isNothing(theirs))) continue;
    if (place.theirs === undefined && !isShown(pattern)) unshown.add(pattern);
    else differing.push({ field, erp: ours, service: theirs });
  }
  return { differing, unshown: [...unshown] };
}

/** Compares what an order amounts to on both sides, in minor units: its lines may be right, and its total wrong. Pure. */
export function compareTotals(erp: bigint | null, service: bigint | null): FieldDifference[] {
  if (erp === null || service === null || erp === service) return [];
  return [{ field: 'total', erp: `${erp}`, service: `${service}` }];
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
