import type { FieldMapping } from '../../config/sections/record-mapping.js';
import type { ErpColumn } from '../erp-database.js';
import type { FieldPlan, FieldType } from './map-field.js';

/** Collects faults and finds columns; a missing column is a fault, too. */
export interface FieldPlanner {
  fault(path: string, what: string): void;
  findColumn(path: string, name: string): ErpColumn | null;
}

/**
 * The types that the service accepts for the fields that it knows; the first is the default. A price may be decimal, or
 * an integer in minor units already.
 */
const KNOWN_TYPES = new Map<string, readonly FieldType[]>([
  ['customers.fields.customer_code', ['text']],
  ['orders.fields.customer_code', ['text']],
  ['orders.lines.fields.sku', ['text']],
  ['orders.lines.fields.qty', ['integer']],
  ['orders.lines.fields.price', ['amount', 'integer']],
]);

/** Plans every field of a section. A faulty field is left out, and its fault reported. */
export function planFields(
  path: string,
  fields: Record<string, FieldMapping>,
  required: readonly string[],
  planner: FieldPlanner,
): FieldPlan[] {
  for (const name of required) {
    if (!(name in fields)) planner.fault(`${path}.${name}`, 'is missing; name the column that holds it');
  }
  return Object.entries(fields).flatMap(([name, mapping]) => {
    const plan = planField(`${path}.${name}`, name, mapping, planner);
    return plan === null ? [] : [plan];
  });
}

function planField(path: string, name: string, mapping: FieldMapping, planner: FieldPlanner): FieldPlan | null {
  const given: Exclude<FieldMapping, string> =
    typeof mapping === 'string' ? { column: mapping, type: 'text', optional: false } : mapping;
  const { column, constant, optional, maxLength } = given;
  const known = KNOWN_TYPES.get(path);
  // The settings give every field the type text when nothing is said.
  const type = known === undefined || known.includes(given.type) ? given.type : (known[0] ?? given.type);
  if ((column === undefined) === (constant === undefined)) {
    planner.fault(path, 'needs either a column or a constant');
    return null;
  }
  if (constant !== undefined && known !== undefined && !fits(constant, type)) {
    const wanted = type === 'text' ? 'a text' : 'a whole number';
    planner.fault(path, `the constant ${JSON.stringify(constant)} must be ${wanted}`);
    return null;
  }
  if (known !== undefined && optional) planner.fault(path, 'can not be optional: the service needs it');
  const field = { name, type, optional, maxLength };
  if (constant !== undefined) return { ...field, source: { constant } };
  const found = planner.findColumn(path, column ?? '');
  return found && { ...field, source: { column: found.name, kind: found.kind } };
}

function fits(constant: string | number | boolean, type: FieldType): boolean {
  return type === 'text' ? typeof constant === 'string' && constant !== '' : Number.isSafeInteger(constant);
}
