import { z } from 'zod';
import type { Entity } from '../model/entity.js';
import type { OrderItem } from '../model/record.js';
import { parseJson } from './parse-json.js';

/** What the service acknowledged, or why its answer is no acknowledgement. */
export type Acknowledgement =
  | { valid: true; serviceId: string; total: number | null }
  | { valid: false; reason: string };

const text = z.string().min(1).max(255);
const orderAck = z.object({
  order_id: text,
  status: text,
  created_at: z.iso.datetime({ offset: true }),
  total: z.number().int().safe(),
});
const orderUpdateAck = z.object({ order_id: text.optional(), total: z.number().int().safe().optional() });
const customerAck = z.object({ customer_code: text.optional() });

export interface AcknowledgementRequest {
  entity: Entity;
  operation: 'create' | 'update' | 'delete';
  /** What the record is called: the customer code we sent, or the order id that the service gave. */
  expectedId: string | null;
}

/** Checks the body of a success answer. Unknown fields are welcome, missing or misshapen ones are not. */
export function readAcknowledgement(request: AcknowledgementRequest, body: string): Acknowledgement {
  // Of what is gone there is nothing more to say.
  const value = request.operation === 'delete' && body === '' ? {} : parseJson(body);
  if (value === undefined) return { valid: false, reason: 'the body is no JSON' };
  const schema =
    request.entity === 'customer' ? customerAck : request.operation === 'create' ? orderAck : orderUpdateAck;
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return { valid: false, reason: `${issue?.path.join('.') || 'the body'}: ${issue?.message}` };
  }
  const data: { order_id?: string; customer_code?: string; total?: number } = parsed.data;
  const given = data.order_id ?? data.customer_code;
  const serviceId = given ?? request.expectedId;
  if (!serviceId) return { valid: false, reason: 'the body names no id' };
  if (request.expectedId !== null && given !== undefined && given !== request.expectedId)
    return { valid: false, reason: `the answer is about ${given}, not ${request.expectedId}` };
  return { valid: true, serviceId, total: data.total ?? null };
}

/** Sum of qty × price in the service's unit of money. BigInt, because a sum of safe integers need not be one. */
export function orderTotal(items: readonly OrderItem[]): bigint {
  return items.reduce((sum, item) => sum + BigInt(item.qty) * BigInt(item.price), 0n);
}
