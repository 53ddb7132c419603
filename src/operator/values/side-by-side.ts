import type { JsonValue } from '../../model/record.js';

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
 * Every field of a record beside what the service acknowledged of it, those that differ first. Where one side is not known at all,
 * nothing differs. Pure.
 */
export function sideBySide(
  erp: Fields | null,
  acknowledged: Fields | null,
): { fields: FieldPair[]; differing: number; leftOut: number } {
  const [ours, theirs] = [leavesOf(erp), leavesOf(acknowledged)];
  const isComparable = erp !== null && acknowledged !== null;
  const fields = [...new Set([...ours.keys(), ...theirs.keys()])].map((field): FieldPair => {
    const [here, there] = [ours.get(field) ?? null, theirs.get(field) ?? null];
    return { field, erp: here, acknowledged: there, differs: isComparable && here !== there };
  });
  const differing = fields.filter(({ differs }) => differs);
  const all = [...differing, ...fields.filter(({ differs }) => !differs)];
  return {
    fields: all.slice(0, mostFields),
    differing: differing.length,
    leftOut: Math.max(0, all.length - mostFields),
  };
}

/** Place → value as text; what is null is not there. */
function leavesOf(record: Fields | null): Map<string, string> {
  const leaves = new Map<string, string>();
  const collect = (value: JsonValue, place: string): void => {
    if (value === null) return;
    if (typeof value !== 'object') leaves.set(place, String(value));
    else if (Array.isArray(value)) for (const [nth, one] of value.entries()) collect(one, `${place}.${nth + 1}`);
    else for (const [name, one] of Object.entries(value)) collect(one, place === '' ? name : `${place}.${name}`);
  };
  if (record !== null) collect(record as JsonValue, '');
  return leaves;
}
