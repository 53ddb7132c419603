import type { FieldMapping } from '../../config/sections/field-mapping.js';
import type { ErpColumn } from '../erp-database.js';
import type { FieldPlan, FieldType } from './map-field.js';

type Fault = (path: string, what: string) => void;

/** A field as it is configured, with the path of its setting, and the type that it has for certain. */
export interface FieldSetting {
  path: string;
  name: string;
  column?: string;
  constant?: string | number | boolean;
  type: FieldType;
  optional: boolean;
  maxLength?: number | undefined;
}

export function customerFields(fields: Record<string, FieldMapping>, fault: Fault): FieldSetting[] {
  const path = 'customers.fields';
  requireFields(path, fields, ['customer_code'], fault);
  return Object.entries(fields).flatMap(([name, mapping]) =>
    fieldSetting(`${path}.${name}`, name, mapping, name === 'customer_code' ? ['text'] : null, fault),
  );
}

export function orderFields(
  fields: Record<string, FieldMapping>,
  customersAreSent: boolean,
  fault: Fault,
): FieldSetting[] {
  const path = 'orders.fields';
  if (!customersAreSent) requireFields(path, fields, ['customer_code'], fault);
  if ('items' in fields) fault(`${path}.items`, 'is made from the lines; name its fields in orders.lines.fields');
  return Object.entries(fields).flatMap(([name, mapping]) =>
    fieldSetting(`${path}.${name}`, name, mapping, name === 'customer_code' ? ['text'] : null, fault),
  );
}

/** What the service's item is made of decides the type: a price may be decimal, or an integer in minor units already. */
const LINE_TYPES: Record<string, FieldType[]> = { sku: ['text'], qty: ['integer'], price: ['amount', 'integer'] };

export function lineFields(fields: Record<string, FieldMapping>, fault: Fault): FieldSetting[] {
  const path = 'orders.lines.fields';
  requireFields(path, fields, ['sku', 'qty', 'price'], fault);
  return Object.entries(fields).flatMap(([name, mapping]) =>
    fieldSetting(`${path}.${name}`, name, mapping, LINE_TYPES[name] ?? null, fault),
  );
}

function requireFields(
  path: string,
  fields: Record<string, FieldMapping>,
  names: readonly string[],
  fault: Fault,
): void {
  for (const name of names) {
    if (!(name in fields)) fault(`${path}.${name}`, 'is missing; name the column that holds it');
  }
}

function fieldSetting(
  path: string,
  name: string,
  mapping: FieldMapping,
  types: readonly FieldType[] | null,
  fault: Fault,
): FieldSetting[] {
  if (typeof mapping === 'string')
    return [{ path, name, column: mapping, type: types?.[0] ?? 'text', optional: false }];
  const { column, constant, type, optional, maxLength } = mapping;
  if ((column === undefined) === (constant === undefined)) {
    fault(path, 'needs either a column or a constant');
    return [];
  }
  if (constant !== undefined && types !== null && !fits(constant, types)) {
    fault(
      path,
      `the constant ${JSON.stringify(constant)} must be ${types.includes('text') ? 'a text' : 'a whole number'}`,
    );
    return [];
  }
  if (types !== null && optional) fault(path, 'can not be optional: the service needs it');
  // The settings give every field the type text when nothing is said.
  const certain = types === null || types.includes(type) ? type : (types[0] ?? type);
  const base = { path, name, type: certain, optional, maxLength };
  return [column === undefined ? { ...base, constant } : { ...base, column }] as FieldSetting[];
}

function fits(constant: string | number | boolean, types: readonly FieldType[]): boolean {
  return types.includes('text') ? typeof constant === 'string' && constant !== '' : Number.isSafeInteger(constant);
}

/** Finds the columns; a field whose column isn't there is left out, and the fault is on record. */
export function fieldPlans(
  settings: readonly FieldSetting[],
  find: (path: string, name: string) => ErpColumn | null,
): FieldPlan[] {
  return settings.flatMap((setting): FieldPlan[] => {
    const { name, type, optional, maxLength, column, constant } = setting;
    const field = { name, type, optional, maxLength };
    if (constant !== undefined) return [{ ...field, source: { constant } }];
    const found = column === undefined ? null : find(setting.path, column);
    return found === null ? [] : [{ ...field, source: { column: found.name, kind: found.kind } }];
  });
}
