import type { CustomerRecord } from '../model/record.js';
import type { ErpRow } from './erp-database.js';
import type { MappedContent } from './erp-reader.js';
import type { FieldContext, FieldPlan } from './map-field.js';
import { mapFields } from './map-fields.js';

export interface MappedCustomer {
  content: MappedContent<CustomerRecord>;
  /** Known even where another field is wrong: orders of this customer can go on. */
  customerCode: string | null;
}

/** One customer row as a record, or the reasons why it can't be one. */
export function mapCustomer(
  sourceKey: string,
  row: ErpRow,
  fields: readonly FieldPlan[],
  context: FieldContext,
): MappedCustomer {
  const { values, problems } = mapFields(row, fields, context);
  const code = values.customer_code;
  const customerCode = typeof code === 'string' ? code : null;
  if (customerCode === null || problems.length > 0) {
    const reason = `customer ${sourceKey}: ${problems.join('. Also: ')}`;
    return { content: { mapped: false, reason, fingerprint: JSON.stringify(row) }, customerCode };
  }
  return { content: { mapped: true, record: { ...values, customer_code: customerCode } }, customerCode };
}
