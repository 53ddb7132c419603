import type { Entity } from '../../model/record.js';
import type { Operation } from '../outbox/message.js';

/** What the claim knows of a message and of the binding of its customer. */
export interface OrderForCustomer {
  entity: Entity;
  operation: Operation;
  customerKey: string | null;
  customerIdentity: string | null;
  customerAcknowledged: string | null;
  customerServiceId: string | null;
  /** An update of the customer is on its way, and may bring the code. */
  customerIsOpen: 0 | 1;
}

/**
 * Whether an order may go out with this body. Pure. The service files an order under the code in its body, so the code must be
 * the one that the customer's binding carries: the customer may have taken over a code that another one has at the service.
 * @returns a reason: a person has to look; `wait`: the customer's own update goes first
 */
export function checkCustomerCode(order: OrderForCustomer, body: string): 'send' | 'wait' | { reason: string } {
  if (order.entity !== 'order' || order.operation === 'delete' || order.customerKey === null) return 'send';
  const code = codeOf(body);
  // What says nothing of the customer leaves the order where it is.
  if (code === undefined) return 'send';
  // A customer that a person confirmed under a new code has no identity before a sweep learns it anew.
  const bound = codeOf(order.customerIdentity) ?? codeOf(order.customerAcknowledged) ?? order.customerServiceId;
  if (code === bound) return 'send';
  if (order.customerIsOpen) return 'wait';
  const customer = `its customer ${order.customerKey}`;
  return {
    reason: `It names the customer code ${code}, but the service knows ${customer} as ${bound}: it would go to another customer. If the ERP is right, run \`waybill explain\` for the customer, settle what it waits for, and then run \`waybill confirm orders\`; otherwise correct the customer's code in the ERP.`,
  };
}

function codeOf(json: string | null): unknown {
  return json ? (JSON.parse(json) as { customer_code?: unknown }).customer_code : undefined;
}
