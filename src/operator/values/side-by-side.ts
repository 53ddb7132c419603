import type { JsonValue } from '../../model/record.js';
import { compareRecords } from '../../model/record-places.js';

type Fields = { readonly [name: string]: JsonValue };

/** One field of a record, as both sides have it; null: that side lacks it. */
export interface FieldPair {
  /** Its place, such as `note` or `items.2.price`. */
  field: string;
  erp: string | null;
  acknowledged: string | null;
  differs: boolean;
}

/** An order of a thousand lines is not for a page. */
const mostFields = 300;

/**
 * Every field of a record beside what the service acknowledged of it, those that differ first. If one side is not known
 * at all, nothing differs. Pure.
 */
export function sideBySide(
  erp: Fields | null,
  acknowledged: Fields | null,
): { fields: FieldPair[]; differing: number; leftOut: number } {
  const isComparable = erp !== null && acknowledged !== null;
  const fields = compareRecords(erp ?? {}, acknowledged ?? {}, 'leaves')
    .map(({ field, ours, theirs }) => ({ field, erp: textOf(ours), acknowledged: textOf(theirs) }))
    .filter((one) => one.erp !== null || one.acknowledged !== null)
    .map((one): FieldPair => ({ ...one, differs: isComparable && one.erp !== one.acknowledged }));
  const differing = fields.filter(({ differs }) => differs);
  const all = [...differing, ...fields.filter(({ differs }) => !differs)];
  return {
    fields: all.slice(0, mostFields),
    differing: differing.length,
    leftOut: Math.max(0, all.length - mostFields),
  };
}

/** null: what is null is not there. */
function textOf(value: JsonValue | undefined): string | null {
  return value === undefined || value === null ? null : String(value);
}
