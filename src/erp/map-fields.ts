import type { JsonValue } from '../model/record.js';
import type { ErpRow } from './erp-database.js';
import { type FieldContext, type FieldPlan, mapField } from './map-field.js';

/** The fields of one record or line, and everything that is wrong with it: who corrects it wants to hear it at once. */
export interface MappedFields {
  values: Record<string, JsonValue>;
  problems: string[];
}

export function mapFields(row: ErpRow, fields: readonly FieldPlan[], context: FieldContext): MappedFields {
  const values: Record<string, JsonValue> = {};
  const problems: string[] = [];
  for (const field of fields) {
    const outcome = mapField(row, field, context);
    if ('problem' in outcome) problems.push(outcome.problem);
    else if (outcome.value !== undefined) values[field.name] = outcome.value;
  }
  return { values, problems };
}
