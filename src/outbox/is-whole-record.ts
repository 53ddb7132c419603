import type { Entity } from '../model/entity.js';
import type { JsonValue } from '../model/record.js';

/**
 * Whether this is a whole record and may replace the one at the service. The mark of an order that was cancelled is none where
 * nothing but its id is known (docs/failures.md, "An order was cancelled or deleted").
 */
export function isWholeRecord(entity: Entity, record: { [name: string]: JsonValue }): boolean {
  return ['customer_code', ...(entity === 'order' ? ['items'] : [])].every((name) => Object.hasOwn(record, name));
}
