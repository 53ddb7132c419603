import type { Entity, JsonValue } from '../../model/record.js';
import { compareRecords, isSame } from '../../model/record-places.js';

type Fields = { [name: string]: JsonValue };

/**
 * The body of an update: the fields that differ from what the service last acknowledged. A field
 * that is gone becomes null. A list such as `items` is sent whole, because a list has no names to
 * address its parts by.
 * @param acknowledged null when it is not known, as after the loss of a store: then every field is
 * sent
 * @param optional names of fields that a record may lack. If the service's content is not known, it may hold one of
 * them
 * @returns null when nothing differs
 */
export function composePatch(
  acknowledged: Fields | null,
  wanted: Fields,
  optional: readonly string[] = [],
): Fields | null {
  if (!acknowledged) return { ...Object.fromEntries(optional.map((name) => [name, null])), ...wanted };
  // A field that the service has as null is not there either way.
  const differing = compareRecords(wanted, acknowledged, 'top').filter(
    (place) => !isSame(place) && (place.ours !== undefined || place.theirs !== null),
  );
  if (differing.length === 0) return null;
  return Object.fromEntries(differing.map(({ field, ours = null }) => [field, ours]));
}

/** The form of an update: the method and the bytes, frozen together with the key. */
export interface ComposedUpdate {
  method: UpdateMethod;
  body: Fields;
}

export type UpdateMethod = 'PATCH' | 'PUT' | 'POST';

/**
 * An update in the way the service takes it. Pure. A PUT replaces the record, so it always carries
 * the whole of it: a field that a partial PUT leaves out would be cleared. Every other method
 * carries what changed.
 * @returns null when the service holds these values already
 */
export function composeUpdate(
  method: UpdateMethod,
  acknowledged: Fields | null,
  wanted: Fields,
  optional: readonly string[] = [],
): ComposedUpdate | null {
  const patch = composePatch(acknowledged, wanted, optional);
  if (patch === null) return null;
  return { method, body: method === 'PUT' ? wanted : patch };
}

/** Names of the fields in which a record differs from what the service acknowledged; all of them when that is not known. */
export function changedFields(acknowledged: string | null, record: string | null): string[] {
  if (record === null) return [];
  const wanted = JSON.parse(record) as Fields;
  return Object.keys(composePatch(acknowledged === null ? null : JSON.parse(acknowledged), wanted) ?? {}).sort();
}

/**
 * True if this is a whole record and may replace the one at the service. The mark of an order that was cancelled is
 * none where nothing but its id is known (docs/failures.md, "An order was cancelled or deleted").
 */
export function isWholeRecord(entity: Entity, record: { [name: string]: JsonValue }): boolean {
  return ['customer_code', ...(entity === 'order' ? ['items'] : [])].every((name) => Object.hasOwn(record, name));
}
