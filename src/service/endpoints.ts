import type { AcknowledgementSettings } from '../config/sections/service-answers.js';

/** Whether the service knows customers by the code that we send; otherwise it gives each an id of its own. */
export function idIsCode({ customerId }: Pick<AcknowledgementSettings, 'customerId'>): boolean {
  return customerId === 'customer_code';
}

/** The endpoint by which each kind of record is made, changed and removed. */
export const endpointNames = {
  customer: { create: 'createCustomer', update: 'updateCustomer', delete: 'deleteCustomer' },
  order: { create: 'createOrder', update: 'updateOrder', delete: 'deleteOrder' },
} as const;
